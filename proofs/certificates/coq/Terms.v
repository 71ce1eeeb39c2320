(** Terms of the calculus, their values, and a normal form that keeps the value.

    A term denotes a function from 'I_n.+1 to R, for any real closed field R and
    any dimension n + 1.  Everything that is computed with is data (positive, Z,
    Q and lists); R appears in the values alone.  Functions are total as
    everywhere in mathcomp: the inverse of 0 is 0, and so is the square root of
    a negative number. *)

From LnGeom Require Export Base.

(** * Terms as data *)

Inductive expr :=
  | Vec of positive
  | Sca of positive
  | Dim
  | Rat of Q
  | Add of expr & expr
  | Mul of expr & expr
  | Sum of expr
  | Inv of expr
  | Sqrt of expr.

(** A monomial is a power of the dimension times a product of atoms: vectors,
    scalars, sums, inverses and roots.  A polynomial has rational coefficients. *)
Definition mono : Type := Z * seq expr.
Definition poly : Type := seq (mono * Q).

Definition qadd (a b : Q) : Q := Qred (Qplus a b).
Definition qmul (a b : Q) : Q := Qred (Qmult a b).
Definition qinv (a : Q) : Q := Qred (Qinv a).
Definition qzero (a : Q) : bool := if Qnum a is Z0 then true else false.
Definition qpos (a : Q) : bool := if Qnum a is Zpos _ then true else false.
Definition qone : Q := Qmake (Zpos xH) xH.
Definition qminus : Q := Qmake (Zneg xH) xH.

(** * An order on atoms, of which soundness needs only that equal means equal *)

Definition rank (a : expr) : nat :=
  match a with
  | Vec _ => 0 | Sca _ => 1 | Dim => 2 | Rat _ => 3 | Add _ _ => 4
  | Mul _ _ => 5 | Sum _ => 6 | Inv _ => 7 | Sqrt _ => 8
  end%N.

Definition qcmp (p q : Q) : comparison :=
  match Z.compare (Qnum p) (Qnum q) with
  | Eq => Pos.compare (Qden p) (Qden q)
  | c => c
  end.

Fixpoint ecmp (a b : expr) {struct a} : comparison :=
  match a, b with
  | Vec x, Vec y | Sca x, Sca y => Pos.compare x y
  | Dim, Dim => Eq
  | Rat p, Rat q => qcmp p q
  | Add a1 a2, Add b1 b2 | Mul a1 a2, Mul b1 b2 =>
      match ecmp a1 b1 with Eq => ecmp a2 b2 | c => c end
  | Sum a, Sum b | Inv a, Inv b | Sqrt a, Sqrt b => ecmp a b
  | _, _ => if (rank a < rank b)%N then Lt else Gt
  end.

Fixpoint lcmp (l k : seq expr) : comparison :=
  match l, k with
  | [::], [::] => Eq
  | [::], _ => Lt
  | _, [::] => Gt
  | a :: l, b :: k => match ecmp a b with Eq => lcmp l k | c => c end
  end.

Definition mcmp (m n : mono) : comparison :=
  match lcmp m.2 n.2 with Eq => Z.compare m.1 n.1 | c => c end.

(** * Arithmetic of polynomials *)

Fixpoint lins (a : expr) (l : seq expr) : seq expr :=
  match l with
  | [::] => [:: a]
  | b :: k => if ecmp a b is Gt then b :: lins a k else a :: l
  end.

Definition mmul (m n : mono) : mono := (Z.add m.1 n.1, foldr lins n.2 m.2).

Fixpoint pins (m : mono) (c : Q) (p : poly) : poly :=
  match p with
  | [::] => if qzero c then [::] else [:: (m, c)]
  | t :: q =>
      match mcmp m t.1 with
      | Eq => let s := qadd c t.2 in if qzero s then q else (t.1, s) :: q
      | Lt => if qzero c then p else (m, c) :: p
      | Gt => t :: pins m c q
      end
  end.

Definition padd (p q : poly) : poly := foldr (fun t r => pins t.1 t.2 r) q p.
Definition pscale (c : Q) (p : poly) : poly := [seq (t.1, qmul c t.2) | t <- p].
Definition psub (p q : poly) : poly := padd p (pscale qminus q).
Definition pmul (p q : poly) : poly :=
  foldr (fun t r => foldr (fun u r => pins (mmul t.1 u.1) (qmul t.2 u.2) r) r q) [::] p.

Definition pconst (c : Q) : poly := pins (Z0, [::]) (Qred c) [::].
Definition pone : poly := [:: ((Z0, [::]), qone)].
Definition pdim : poly := [:: ((Zpos xH, [::]), qone)].
Definition invdim : poly := [:: ((Zneg xH, [::]), qone)].
Definition patom (a : expr) : poly := [:: ((Z0, [:: a]), qone)].

(** Whether a term may differ from component to component. *)
Fixpoint isvec (a : expr) : bool :=
  match a with
  | Vec _ => true
  | Add a b | Mul a b => isvec a || isvec b
  | Inv a | Sqrt a => isvec a
  | _ => false
  end.

Definition punif (p : poly) : bool := all (fun t => all (predC isvec) t.1.2) p.

(** Products and polynomials as terms again, to stand inside sums, inverses and roots. *)
Fixpoint product (l : seq expr) : expr :=
  match l with
  | [::] => Rat qone
  | [:: a] => a
  | a :: k => Mul a (product k)
  end.

Definition power_of_dim (k : Z) : expr :=
  match k with
  | Z0 => Rat qone
  | Zpos p => iter (Pos.to_nat p) (Mul Dim) (Rat qone)
  | Zneg p => iter (Pos.to_nat p) (Mul (Inv Dim)) (Rat qone)
  end.

Definition emb (p : poly) : expr :=
  foldr (fun t r => Add (Mul (Rat t.2) (Mul (power_of_dim t.1.1) (product t.1.2))) r) (Rat (Qmake Z0 xH)) p.

Fixpoint unemb (a : expr) : poly :=
  match a with
  | Dim => pdim
  | Inv Dim => invdim
  | Rat q => pconst q
  | Add a b => padd (unemb a) (unemb b)
  | Mul a b => pmul (unemb a) (unemb b)
  | _ => patom a
  end.

(** The sum over all components: uniform factors come out. *)
Definition psum (p : poly) : poly :=
  foldr (fun t r =>
    let w := filter isvec t.1.2 in
    let u := filter (predC isvec) t.1.2 in
    if w is [::] then pins (Z.add t.1.1 (Zpos xH), u) t.2 r
    else pins (t.1.1, lins (Sum (product w)) u) t.2 r) [::] p.

(** The inverse: a rational factor, powers of the dimension and, of a single
    monomial, every atom are taken apart. *)
Definition ainv (a : expr) : poly :=
  if a is Inv b then unemb b else patom (Inv (emb (patom a))).

Definition least_power (p : poly) (k : Z) : Z := foldr (fun t r => Z.min t.1.1 r) k p.

Definition pinv (p : poly) : poly :=
  match p with
  | [::] => [::]
  | t :: q =>
      if qzero t.2 then patom (Inv (emb p)) else
      let k := least_power q t.1.1 in
      let factor := [:: ((Z.opp k, [::]), qinv t.2)] in
      if q is [::] then pmul factor (foldr (fun a r => pmul (ainv a) r) pone t.1.2) else
      let u := [seq ((Z.sub s.1.1 k, s.1.2), qmul (qinv t.2) s.2) | s <- p] in
      pmul factor (patom (Inv (emb u)))
  end.

(** The root: the square part of the first coefficient comes out.  That the
    number found is the largest is nothing that soundness needs. *)
Fixpoint square_part (fuel : nat) (i m z : Z) : Z :=
  if fuel is S fuel' then
    if Z.ltb z (Z.mul i i) then m
    else if Z.eqb (Z.modulo z (Z.mul i i)) Z0
         then square_part fuel' i (Z.mul m i) (Z.div z (Z.mul i i))
         else square_part fuel' (Z.succ i) m z
  else m.

Definition qroot (c : Q) : Q :=
  let z := Z.abs (Z.mul (Qnum c) (Zpos (Qden c))) in
  let s := Z.sqrt z in
  let m := if Z.eqb (Z.mul s s) z then s else square_part 200 (Zpos 2) (Zpos 1) z in
  Qred (Qmake m (Qden c)).

Definition times_root (r : Q) (u : poly) : poly :=
  let root := pscale r (patom (Sqrt (emb u))) in
  if u is [:: ((Z0, [::]), c)] then
    if qzero (qadd c qminus) then pconst r else if qpos (qmul qminus c) then [::] else root
  else root.

Definition psqrt (p : poly) : poly :=
  match p with
  | [::] => [::]
  | t :: _ =>
      let r := qroot t.2 in
      if qpos r then times_root r (pscale (qinv (qmul r r)) p) else patom (Sqrt (emb p))
  end.

(** The normal form, with polynomials put in for vectors and scalars. *)
Fixpoint norm (V S : positive -> poly) (a : expr) : poly :=
  match a with
  | Vec x => V x
  | Sca x => S x
  | Dim => pdim
  | Rat q => pconst q
  | Add a b => padd (norm V S a) (norm V S b)
  | Mul a b => pmul (norm V S a) (norm V S b)
  | Sum a => psum (norm V S a)
  | Inv a => pinv (norm V S a)
  | Sqrt a => psqrt (norm V S a)
  end.

(** * Equality of data *)

Lemma pcmp_eq x y : Pos.compare x y = Eq -> x = y.
Proof. exact: Pos.compare_eq. Qed.

Lemma zcmp_eq x y : Z.compare x y = Eq -> x = y.
Proof. exact: Z.compare_eq. Qed.

Lemma qcmp_eq p q : qcmp p q = Eq -> p = q.
Proof.
case: p q => [a b] [c e]; rewrite /qcmp /=.
by case E: (Z.compare a c) => // /pcmp_eq ->; rewrite (zcmp_eq E).
Qed.

Lemma ecmp_eq a : forall b, ecmp a b = Eq -> a = b.
Proof.
elim: a => [x|x||q|a1 IH1 a2 IH2|a1 IH1 a2 IH2|a IH|a IH|a IH];
  case=> [y|y||r|b1 b2|b1 b2|b|b|b] //=; try by case: ifP.
all: try by [move/pcmp_eq->|move/qcmp_eq->|move/IH->].
all: by case E: (ecmp a1 b1) => // /IH2 ->; rewrite (IH1 _ E).
Qed.

Lemma lcmp_eq l : forall k, lcmp l k = Eq -> l = k.
Proof.
elim: l => [|a l IH] [|b k] //=.
by case E: (ecmp a b) => // /IH ->; rewrite (ecmp_eq E).
Qed.

Lemma mcmp_eq m n : mcmp m n = Eq -> m = n.
Proof.
case: m n => [k l] [k' l']; rewrite /mcmp /=.
by case E: (lcmp l l') => // /zcmp_eq ->; rewrite (lcmp_eq E).
Qed.

Fixpoint peq (p q : poly) : bool :=
  match p, q with
  | [::], [::] => true
  | t :: p, u :: q =>
      if mcmp t.1 u.1 is Eq then if qcmp t.2 u.2 is Eq then peq p q else false else false
  | _, _ => false
  end.

Lemma peq_eq p : forall q, peq p q -> p = q.
Proof.
elim: p => [|[m c] p IH] [|[n e] q] //=.
case E: (mcmp m n) => //; case F: (qcmp c e) => // /IH ->.
by rewrite (mcmp_eq E) (qcmp_eq F).
Qed.

(** * Numbers *)

Definition zi (z : Z) : int :=
  match z with
  | Z0 => 0
  | Zpos p => Posz (Pos.to_nat p)
  | Zneg p => - Posz (Pos.to_nat p)
  end.

Lemma zi_nat m : zi (Z.of_nat m) = m.
Proof. by case: m => //= m; rewrite SuccNat2Pos.id_succ. Qed.

Lemma ziN z : zi (Z.opp z) = - zi z.
Proof. by case: z => [|p|p] //=; rewrite ?oppr0 ?opprK. Qed.

Lemma zi_sub a b : zi (Z.sub (Z.of_nat a) (Z.of_nat b)) = a%:Z - b%:Z.
Proof.
case: (leqP b a) => le.
  rewrite -Nat2Z.inj_sub; last exact/ssrnat.leP.
  by rewrite zi_nat subzn.
have -> : Z.sub (Z.of_nat a) (Z.of_nat b) = Z.opp (Z.of_nat (b - a)).
  rewrite Nat2Z.inj_sub; last exact/ssrnat.leP/ltnW.
  by rewrite Z.opp_sub_distr Z.add_comm.
by rewrite ziN zi_nat -subzn ?opprB // ltnW.
Qed.

Lemma z_as_sub z : exists a b, z = Z.sub (Z.of_nat a) (Z.of_nat b).
Proof.
case: z => [|p|p]; first by exists 0%N, 0%N.
- by exists (Pos.to_nat p), 0%N; rewrite positive_nat_Z.
- by exists 0%N, (Pos.to_nat p); rewrite positive_nat_Z.
Qed.

Lemma ziD x y : zi (Z.add x y) = zi x + zi y.
Proof.
have [a [b ->]] := z_as_sub x; have [c [e ->]] := z_as_sub y.
have -> : Z.add (Z.sub (Z.of_nat a) (Z.of_nat b)) (Z.sub (Z.of_nat c) (Z.of_nat e))
          = Z.sub (Z.of_nat (a + c)) (Z.of_nat (b + e)).
  by rewrite !Nat2Z.inj_add; ring.
by rewrite !zi_sub !PoszD opprD addrACA.
Qed.

Lemma ziM x y : zi (Z.mul x y) = zi x * zi y.
Proof.
case: x y => [|p|p] [|q|q] //=; rewrite ?mul0r ?mulr0 ?Pos2Nat.inj_mul ?PoszM //.
- by rewrite mulrN.
- by rewrite mulNr.
- by rewrite mulrNN.
Qed.

Lemma zi_pos p : 0 < zi (Zpos p).
Proof. by rewrite /= ltz_nat; apply/ssrnat.ltP/Pos2Nat.is_pos. Qed.

Arguments zi : simpl never.
