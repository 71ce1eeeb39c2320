(** Statements as the library computes them, and their normal form.

    This language has the operations that array code calls, also those that the
    calculus takes apart: differences, quotients, means, absolute values, and
    the trace of a linear operator.  [seval] is what a reader has to believe. *)

From LnGeom Require Export Values.

Inductive source :=
  | SVec of positive
  | SSca of positive
  | SDim
  | SNat of nat
  | SAdd of source & source
  | SSub of source & source
  | SOpp of source
  | SMul of source & source
  | SDiv of source & source
  | SPow of source & nat
  | SSum of source
  | SMean of source
  | SInv of source
  | SSqrt of source
  | SAbs of source
  | STrace of positive & source.

(** ** Normal form *)

Fixpoint mentions (x : positive) (a : expr) : bool :=
  match a with
  | Vec y => Pos.eqb y x
  | Add a b | Mul a b => mentions x a || mentions x b
  | Sum a | Inv a | Sqrt a => mentions x a
  | _ => false
  end.

(** A monomial that is linear in the vector x, x a factor of it or under one sum. *)
Definition trace_mono (x : positive) (t : mono * Q) : option poly :=
  let: (k, l, c) := t in
  let u := filter (predC (mentions x)) l in
  match filter (mentions x) l with
  | [:: Vec _] => Some (psum [:: ((k, u), c)])
  | [:: Sum a] =>
      match unemb a with
      | [:: ((k', l'), c')] =>
          if filter (mentions x) l' is [:: Vec _]
          then Some (psum [:: (mmul (k, u) (k', filter (predC (mentions x)) l'), qmul c c')])
          else None
      | _ => None
      end
  | _ => None
  end.

Fixpoint ptrace (x : positive) (p : poly) : option poly :=
  match p with
  | [::] => Some [::]
  | t :: q =>
      match trace_mono x t, ptrace x q with
      | Some r, Some r' => Some (padd r r')
      | _, _ => None
      end
  end.

Fixpoint ppow (p : poly) (k : nat) : poly := if k is S k' then pmul p (ppow p k') else pone.

Definition qnat (k : nat) : Q := Qmake (Z.of_nat k) xH.

Fixpoint snorm (a : source) : option poly :=
  let one f a := if snorm a is Some p then Some (f p) else None in
  let two f a b :=
    match snorm a, snorm b with Some p, Some q => Some (f p q) | _, _ => None end in
  match a with
  | SVec x => Some (patom (Vec x))
  | SSca x => Some (patom (Sca x))
  | SDim => Some pdim
  | SNat k => Some (pconst (qnat k))
  | SAdd a b => two padd a b
  | SSub a b => two psub a b
  | SOpp a => one (pscale qminus) a
  | SMul a b => two pmul a b
  | SDiv a b => two (fun p q => pmul p (pinv q)) a b
  | SPow a k => one (ppow^~ k) a
  | SSum a => one psum a
  | SMean a => one (fun p => pmul (psum p) invdim) a
  | SInv a => one pinv a
  | SSqrt a => one psqrt a
  | SAbs a => one (fun p => psqrt (pmul p p)) a
  | STrace x a => if snorm a is Some p then ptrace x p else None
  end.

(** ** Values *)

Section Values.

Variables (R : rcfType) (n : nat).
Implicit Types (v : vectors R n) (s : scalars R) (i j : 'I_n.+1).

Definition basis j : 'I_n.+1 -> R := fun i => (i == j)%:R.

Definition update v (x : positive) (w : 'I_n.+1 -> R) : vectors R n :=
  fun y => if Pos.eqb y x then w else v y.

Fixpoint seval v s (a : source) i {struct a} : R :=
  match a with
  | SVec x => v x i
  | SSca x => s x
  | SDim => n.+1%:R
  | SNat k => k%:R
  | SAdd a b => seval v s a i + seval v s b i
  | SSub a b => seval v s a i - seval v s b i
  | SOpp a => - seval v s a i
  | SMul a b => seval v s a i * seval v s b i
  | SDiv a b => seval v s a i / seval v s b i
  | SPow a k => seval v s a i ^+ k
  | SSum a => \sum_j seval v s a j
  | SMean a => (\sum_j seval v s a j) / n.+1%:R
  | SInv a => (seval v s a i)^-1
  | SSqrt a => Num.sqrt (seval v s a i)
  | SAbs a => `|seval v s a i|
  | STrace x a => \sum_j seval (update v x (basis j)) s a j
  end.

Lemma not_mentioned v s x w a i :
  ~~ mentions x a -> eval (update v x w) s a i = eval v s a i.
Proof.
elim: a i => [y|y||q|a IHa b IHb|a IHa b IHb|a IH|a IH|a IH] i //=;
  try by [move/IH->|rewrite negb_or => /andP[/IHa -> /IHb ->]].
  by rewrite /update; case: (Pos.eqb y x).
by move=> no; apply: eq_bigr => j _; rewrite IH.
Qed.

Lemma leval_mentioned v s x w l i :
  leval (update v x w) s l i
  = leval (update v x w) s (filter (mentions x) l) i * leval v s (filter (predC (mentions x)) l) i.
Proof.
elim: l => [|a l IH]; first by rewrite /leval /= mulr1.
rewrite leval_cons IH /=; case E: (mentions x a); rewrite /= leval_cons; first by rewrite mulrA.
by rewrite (not_mentioned _ _ _ _ (negbT E)) [RHS]mulrCA.
Qed.

Lemma sum_basis (f : 'I_n.+1 -> R) j : \sum_i basis j i * f i = f j.
Proof.
rewrite (bigD1 j) //= /basis eqxx mul1r big1 ?addr0 // => i /negPf ->.
by rewrite mul0r.
Qed.

Lemma single v s t i : peval v s [:: t] i = Qr R t.2 * meval v s t.1 i.
Proof. by rewrite peval_cons /peval /= addr0. Qed.

Lemma leval1 v s a i : leval v s [:: a] i = eval v s a i.
Proof. by rewrite /leval /= mulr1. Qed.

Lemma only x y l (p := filter (mentions x) l) : p = [:: Vec y] -> y = x.
Proof.
move=> E; have : all (mentions x) p by exact: filter_all.
by rewrite E /= andbT => /Pos.eqb_eq.
Qed.

Lemma trace_monoE v s x t r i : trace_mono x t = Some r ->
  peval v s r i = \sum_j Qr R t.2 * meval (update v x (basis j)) s t.1 j.
Proof.
case: t => [[k l] c]; rewrite /trace_mono; set u := filter (predC _) l.
have split j : meval (update v x (basis j)) s (k, l) j
    = dpow R n k * (leval (update v x (basis j)) s (filter (mentions x) l) j * leval v s u j).
  by rewrite /meval /= leval_mentioned.
under eq_bigr do rewrite split.
case E: (filter (mentions x) l) => [|[y|?||?|? ?|? ?|a|?|?] [|? ?]] //.
  move=> /Some_inj <-; rewrite psumE; apply: eq_bigr => j _; rewrite single /meval /=.
  by rewrite (only E) leval1 /= /update Pos.eqb_refl /basis eqxx !mul1r.
case F: (unemb a) => [|[[k' l'] c'] [|? ?]] //.
case G: (filter (mentions x) l') => [|[y|?||?|? ?|? ?|?|?|?] [|? ?]] // /Some_inj <-.
rewrite psumE; apply: eq_bigr => j _; rewrite single mmulE QrM /meval /=.
set u' := filter (predC _) l'.
have -> : leval (update v x (basis j)) s [:: Sum a] j = Qr R c' * (dpow R n k' * leval v s u' j).
  rewrite leval1 [LHS]/= -(sum_basis (fun i => Qr R c' * (dpow R n k' * leval v s u' i))).
  apply: eq_bigr => m _; rewrite -unembE F single /meval /= leval_mentioned -/u' G (only G).
  rewrite leval1 /= /update Pos.eqb_refl [RHS]mulrCA; congr (_ * _).
  by rewrite mulrCA.
move: (Qr R c) (Qr R c') (dpow R n k) (dpow R n k') (leval v s u j) (leval v s u' j) => A B C D X Y.
rewrite -!mulrA; congr (_ * _); rewrite mulrCA; congr (_ * _); congr (_ * _).
by rewrite mulrCA; congr (_ * _); rewrite mulrC.
Qed.

Lemma ptraceE v s x p r i : ptrace x p = Some r ->
  peval v s r i = \sum_j peval (update v x (basis j)) s p j.
Proof.
elim: p r => [|t p IH] r /=.
  by move=> [<-]; rewrite big1 // => j _; rewrite /peval.
case E: (trace_mono x t) => [r1|] //; case F: (ptrace x p) => [r2|] // [<-].
under eq_bigr do rewrite peval_cons; rewrite big_split paddE (IH _ F).
by rewrite (trace_monoE _ _ _ E).
Qed.

Lemma ppowE v s p k i : peval v s (ppow p k) i = peval v s p i ^+ k.
Proof. by elim: k => [|k IH]; rewrite /= ?poneE // pmulE IH exprS. Qed.

Lemma qnatE k : Qr R (qnat k) = k%:R.
Proof. by rewrite /Qr /= zi_nat divr1. Qed.

Lemma snormE v s a p i : snorm a = Some p -> peval v s p i = seval v s a i.
Proof.
elim: a v s p i => [x|x||k|a IH b IHb|a IH b IHb|a IH|a IH b IHb|a IH b IHb|a IH k|a IH|a IH|a IH|a IH|a IH|x a IH] v s p i /=;
  try (case E: (snorm a) => [q|] //; have {}IH := fun v s i => IH v s q i E);
  try (case F: (snorm b) => [r|] //; have {}IHb := fun v s i => IHb v s r i F);
  try move=> /Some_inj <-;
  rewrite ?(patomE, pdimE, pconstE, qnatE, paddE, psubE, pmulE, pinvE, ppowE, psqrtE, psumE, invdimE) //;
  try by [rewrite IH IHb|rewrite IH].
- by rewrite pscaleE QrN1 mulN1r IH.
- by under eq_bigr do rewrite IH.
- by under eq_bigr do rewrite IH.
- by rewrite IH -expr2 sqrtr_sqr.
- by move=> /ptraceE ->; under eq_bigr do rewrite IH.
Qed.

End Values.
