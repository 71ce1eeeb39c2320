(** The rules, a Boolean checker of certificates, and its soundness.

    [accepts steps hypotheses goal] computes on data only.  [check_sound] says
    that whatever it accepts is true in every dimension of every real closed
    field. *)

From LnGeom Require Export Source.

(** * Sequents and steps *)

Inductive rel := REq | RNe | RGt | RGe.

Definition rel_eq (r s : rel) : bool :=
  match r, s with REq, REq | RNe, RNe | RGt, RGt | RGe, RGe => true | _, _ => false end.

Definition formula : Type := poly * rel.
Definition sequent : Type := seq formula * formula.

Definition feq (f g : formula) : bool := peq f.1 g.1 && rel_eq f.2 g.2.

(** A premise is named by how many steps back it stands, from 0. *)
Inductive step :=
  | Assume of poly & rel
  | Constant of Q & rel
  | Dimension
  | Combine of poly & seq (nat * poly * option poly)
  | Cancel of poly & nat & nat
  | Inverse of nat
  | InverseTotal of poly
  | InverseSign of nat
  | SquareOfRoot of nat
  | RootNonnegative of poly
  | RootPositive of nat
  | RootOfSquare of poly & nat & nat
  | CongruenceInv of poly & poly & nat
  | CongruenceSqrt of poly & poly & nat
  | Square of poly
  | Others of poly & poly
  | AddSigns of nat & nat
  | MultiplySigns of nat & nat
  | Weaken of rel & nat
  | Strengthen of nat & nat
  | Total of nat
  | Definite of poly & nat
  | Transport of poly & nat & nat
  | Cut of nat & nat
  | CasesZero of poly & nat & nat
  | CasesSign of poly & nat & nat
  | Instantiate of seq (positive * poly) & seq (positive * poly) & nat.

Definition union (h k : seq formula) : seq formula :=
  foldr (fun f r => if has (feq f) r then r else f :: r) k h.

Definition positive_rel (r : rel) : bool := if r is RGt then true else false.
Definition sign (r : rel) : bool := match r with RGt | RGe => true | _ => false end.
Definition nonzero (r : rel) : bool := match r with RGt | RNe => true | _ => false end.

Definition constant_holds (c : Q) (r : rel) : bool :=
  match r with
  | REq => qzero c
  | RNe => ~~ qzero c
  | RGt => qpos c
  | RGe => ~~ qpos (qmul qminus c)
  end.

Definition product_rel (r s : rel) : option rel :=
  match r, s with
  | RGt, RGt => Some RGt
  | RGt, RGe | RGe, RGt | RGe, RGe => Some RGe
  | RGt, RNe | RNe, RGt | RNe, RNe => Some RNe
  | _, _ => None
  end.

Definition weaker (r s : rel) : bool :=
  match r, s with RGt, RGe | RGt, RNe | REq, RGe => true | _, _ => false end.

Definition lookup (default : positive -> poly) (l : seq (positive * poly)) (x : positive) : poly :=
  foldr (fun t r => if Pos.eqb t.1 x then t.2 else r) (default x) l.

Definition subst (V S : seq (positive * poly)) (p : poly) : poly :=
  norm (lookup (patom \o Vec) V) (lookup (patom \o Sca) S) (emb p).

Definition is_zero (p : poly) : bool := if p is [::] then true else false.

Section Step.

Variable S : seq sequent.

Definition trivial_sequent : sequent := ([::], ([::], REq)).
Definition hyps (k : nat) : seq formula := (nth trivial_sequent S k).1.
Definition lhs (k : nat) : poly := (nth trivial_sequent S k).2.1.
Definition relation (k : nat) : rel := (nth trivial_sequent S k).2.2.

Definition combination (parts : seq (nat * poly * option poly)) : poly :=
  foldr (fun t r =>
    let: (k, a, b) := t in
    padd (pmul a (if b is Some b then psum (pmul b (lhs k)) else lhs k)) r) [::] parts.

Definition guard (b : bool) (h : seq formula) (p : poly) (r : rel) : option sequent :=
  if b then Some (h, (p, r)) else None.

(** In component i the squares of p_j - m_i over all j but i. *)
Definition others (p m : poly) : poly :=
  psub (padd (psub (psum (pmul p p)) (pmul (pmul (padd pone pone) m) (psum p))) (pmul pdim (pmul m m)))
    (pmul (psub p m) (psub p m)).

Definition cases (p : poly) (f g : formula) (i j : nat) : option sequent :=
  let rest f k := filter (fun h => ~~ feq h f) (hyps k) in
  guard (punif p && feq (lhs i, relation i) (lhs j, relation j))
    (union (rest f i) (rest g j)) (lhs i) (relation i).

Definition conclude (s : step) : option sequent :=
  match s with
  | Assume p r => guard true [:: (p, r)] p r
  | Constant c r => guard (constant_holds c r) [::] (pconst c) r
  | Dimension => guard true [::] (psub pdim pone) RGe
  | Combine g parts =>
      guard (all (fun t => rel_eq (relation t.1.1) REq) parts && is_zero (psub g (combination parts)))
        (foldr (fun t r => union (hyps t.1.1) r) [::] parts) g REq
  | Cancel p i j =>
      guard (rel_eq (relation i) REq && nonzero (relation j) && is_zero (psub (lhs i) (pmul p (lhs j))))
        (union (hyps i) (hyps j)) p REq
  | Inverse i =>
      guard (nonzero (relation i)) (hyps i) (psub (pmul (lhs i) (pinv (lhs i))) pone) REq
  | InverseTotal p => guard true [::] (psub (pmul (pmul p p) (pinv p)) p) REq
  | InverseSign i => guard true (hyps i) (pinv (lhs i)) (relation i)
  | SquareOfRoot i =>
      guard (sign (relation i)) (hyps i) (psub (pmul (psqrt (lhs i)) (psqrt (lhs i))) (lhs i)) REq
  | RootNonnegative p => guard true [::] (psqrt p) RGe
  | RootPositive i => guard (positive_rel (relation i)) (hyps i) (psqrt (lhs i)) RGt
  | RootOfSquare p i j =>
      guard (sign (relation i) && rel_eq (relation j) REq
             && is_zero (psub (lhs j) (psub (pmul (lhs i) (lhs i)) p)))
        (union (hyps i) (hyps j)) (psub (psqrt p) (lhs i)) REq
  | CongruenceInv a b i =>
      guard (rel_eq (relation i) REq && is_zero (psub (lhs i) (psub a b)))
        (hyps i) (psub (pinv a) (pinv b)) REq
  | CongruenceSqrt a b i =>
      guard (rel_eq (relation i) REq && is_zero (psub (lhs i) (psub a b)))
        (hyps i) (psub (psqrt a) (psqrt b)) REq
  | Square p => guard true [::] (pmul p p) RGe
  | Others p m => guard true [::] (others p m) RGe
  | AddSigns i j =>
      guard (sign (relation i) && sign (relation j)) (union (hyps i) (hyps j)) (padd (lhs i) (lhs j))
        (if positive_rel (relation i) || positive_rel (relation j) then RGt else RGe)
  | MultiplySigns i j =>
      if product_rel (relation i) (relation j) is Some r
      then guard true (union (hyps i) (hyps j)) (pmul (lhs i) (lhs j)) r else None
  | Weaken r i => guard (weaker (relation i) r) (hyps i) (lhs i) r
  | Strengthen i j =>
      guard (rel_eq (relation i) RGe && rel_eq (relation j) RNe && is_zero (psub (lhs i) (lhs j)))
        (union (hyps i) (hyps j)) (lhs i) RGt
  | Total i => guard (sign (relation i)) (hyps i) (psum (lhs i)) (relation i)
  | Definite p i =>
      guard (rel_eq (relation i) REq && is_zero (psub (lhs i) (psum (pmul p p)))) (hyps i) p REq
  | Transport p i j =>
      guard (rel_eq (relation i) REq && is_zero (psub (lhs i) (psub p (lhs j))))
        (union (hyps i) (hyps j)) p (relation j)
  | Cut i j =>
      guard true
        (union (hyps i) (filter (fun f => ~~ feq f (lhs i, relation i)) (hyps j))) (lhs j) (relation j)
  | CasesZero p i j => cases p (p, REq) (p, RNe) i j
  | CasesSign p i j => cases p (p, RGe) (psub [::] p, RGt) i j
  | Instantiate V T i =>
      guard (all (fun t => punif t.2) T) [seq (subst V T f.1, f.2) | f <- hyps i]
        (subst V T (lhs i)) (relation i)
  end.

End Step.

(** A certificate also states the sequent of each step, which has to be the one computed here. *)
Definition subset (h k : seq formula) : bool := all (fun f => has (feq f) k) h.

Definition same (s t : sequent) : bool := [&& subset s.1 t.1, subset t.1 s.1 & feq s.2 t.2].

Fixpoint run (steps : seq (step * sequent)) (S : seq sequent) : option (seq sequent) :=
  match steps with
  | [::] => Some S
  | (s, said) :: rest =>
      if conclude S s is Some t then if same t said then run rest (t :: S) else None else None
  end.

Definition statement : Type := source * rel.

Definition normal (f : statement) : option formula :=
  if snorm f.1 is Some p then Some (p, f.2) else None.

Fixpoint normals (h : seq statement) : option (seq formula) :=
  match h with
  | [::] => Some [::]
  | f :: k => match normal f, normals k with Some g, Some r => Some (g :: r) | _, _ => None end
  end.

Definition accepts (steps : seq (step * sequent)) (h : seq statement) (g : statement) : bool :=
  match run steps [::], normals h, normal g with
  | Some ((h', g') :: _), Some k, Some f => [&& subset h' k, subset k h' & feq g' f]
  | _, _, _ => false
  end.

(** * Soundness *)

Fixpoint All T (P : T -> Prop) (l : seq T) : Prop := if l is a :: k then P a /\ All P k else True.

Lemma feqP f g : feq f g -> f = g.
Proof. by case: f g => [p r] [q s] /andP[/peq_eq /= ->]; case: r; case: s. Qed.

Lemma rel_eqP r s : rel_eq r s -> r = s.
Proof. by case: r; case: s. Qed.

Lemma has_feq f h : has (feq f) h -> exists2 g, f = g & forall P : formula -> Prop, All P h -> P g.
Proof.
elim: h => //= g h IH /orP[/feqP ->|/IH[g' -> all]]; first by exists g => // P [].
by exists g' => // P [_ /all].
Qed.

Lemma All_has (P : formula -> Prop) f h : has (feq f) h -> All P h -> P f.
Proof. by move=> /has_feq[g -> all] /all. Qed.

Lemma All_subset (P : formula -> Prop) h k : subset h k -> All P k -> All P h.
Proof. by move=> + Pk; elim: h => //= f h IH /andP[/All_has/(_ Pk) Pf /IH]. Qed.

Lemma All_union (P : formula -> Prop) h k : All P (union h k) -> All P h /\ All P k.
Proof.
elim: h => //= f h IH; case: ifP => [E U|_ [Pf /IH[]]] //.
by have [Ph Pk] := IH U; split=> //; split=> //; apply: All_has E U.
Qed.

Lemma All_cut (P : formula -> Prop) a h : P a -> All P (filter (fun f => ~~ feq f a) h) -> All P h.
Proof.
move=> Pa; elim: h => //= f h IH; case E: (feq f a) => /=; last by case=> Pf /IH.
by move=> /IH; rewrite (feqP E).
Qed.

Section Soundness.

Variables (R : rcfType) (n : nat).
Implicit Types (v : vectors R n) (s : scalars R).

Definition holds (r : rel) (x : R) : Prop :=
  match r with REq => x = 0 | RNe => x != 0 | RGt => 0 < x | RGe => 0 <= x end.

Definition true_at v s (f : formula) : Prop := forall i, holds f.2 (peval v s f.1 i).

Definition valid (t : sequent) : Prop := forall v s, All (true_at v s) t.1 -> true_at v s t.2.

Lemma is_zeroE v s p i : is_zero p -> peval v s p i = 0.
Proof. by case: p. Qed.

Lemma is_zero_sub v s p q i : is_zero (psub p q) -> peval v s p i = peval v s q i.
Proof. by move=> /(is_zeroE v s i)/eqP; rewrite psubE subr_eq0 => /eqP. Qed.

Lemma constant_sound c r : constant_holds c r -> holds r (Qr R c).
Proof.
case: r => /=; rewrite ?(Qr_zero R) ?(Qr_pos R) //; first by move/eqP.
by rewrite QrM QrN1 mulN1r oppr_gt0 -leNgt.
Qed.

Lemma product_sound r t u x y : product_rel r t = Some u -> holds r x -> holds t y -> holds u (x * y).
Proof.
case: r; case: t => //= /Some_inj <- /=.
- exact: mulf_neq0.
- by move=> x0 y0; rewrite mulf_neq0 // gt_eqF.
- by move=> x0 y0; rewrite mulf_neq0 // gt_eqF.
- exact: mulr_gt0.
- by move=> x0 y0; rewrite mulr_ge0 // ltW.
- by move=> x0 y0; rewrite mulr_ge0 // ltW.
- exact: mulr_ge0.
Qed.

Lemma nonzero_sound r x : nonzero r -> holds r x -> x != 0.
Proof. by case: r => //= _ /gt_eqF ->. Qed.

Lemma sign_sound r x : sign r -> holds r x -> 0 <= x.
Proof. by case: r => //= _ /ltW. Qed.

Lemma subst_sound v s V T p i : all (fun t => punif t.2) T ->
  let w x j := peval v s (lookup (patom \o Vec) V x) j in
  let t x := peval v s (lookup (patom \o Sca) T x) ord0 in
  peval v s (subst V T p) i = peval w t p i.
Proof.
move=> u w t; rewrite /subst normE ?embE // => x _.
by elim: T u {t} => //= [[y q]] T IH /= /andP[uq /IH uT]; case: ifP.
Qed.

Section Step.

Variables (S : seq sequent) (good : All valid S).

Lemma nth_valid k : valid (nth trivial_sequent S k).
Proof.
elim: S good k => [|t l IH] /= good' k; last by case: good' => vt vl; case: k => //= k; apply: IH.
by rewrite nth_nil => v s _ i; rewrite /= /peval.
Qed.

Lemma premise k v s i : All (true_at v s) (hyps S k) -> holds (relation S k) (peval v s (lhs S k) i).
Proof. by move=> /(@nth_valid k v s)/(_ i). Qed.

Lemma equation k v s i :
  rel_eq (relation S k) REq -> All (true_at v s) (hyps S k) -> peval v s (lhs S k) i = 0.
Proof. by move=> /rel_eqP E /(premise i); rewrite E. Qed.

Lemma combination_sound v s parts i :
  all (fun t => rel_eq (relation S t.1.1) REq) parts ->
  All (true_at v s) (foldr (fun t r => union (hyps S t.1.1) r) [::] parts) ->
  peval v s (combination S parts) i = 0.
Proof.
elim: parts => [|[[k a] b] parts IH] //= /andP[E /IH{}IH] /All_union[h /IH{}IH].
rewrite paddE IH addr0 pmulE; case: b => [b|]; last by rewrite (equation i E h) mulr0.
by rewrite psumE big1 ?mulr0 // => j _; rewrite pmulE (equation j E h) mulr0.
Qed.

Lemma cases_sound p f g k l t :
  (punif p -> forall v s, true_at v s f \/ true_at v s g) -> cases S p f g k l = Some t -> valid t.
Proof.
move=> either; rewrite /cases /guard; case: ifP => // /andP[u E] /Some_inj <- v s /All_union[h h'] i.
case: (either u v s) => [F|G]; first exact: premise i (All_cut F h).
by have := premise i (All_cut G h'); case: (feqP E) => -> ->.
Qed.

Lemma othersE v s p m i :
  peval v s (others p m) i = \sum_(j | j != i) (peval v s p j - peval v s m i) ^+ 2.
Proof.
apply/(addIr ((peval v s p i - peval v s m i) ^+ 2)); rewrite [RHS]addrC.
have := bigD1 i (isT : xpredT i) (F := fun j => (peval v s p j - peval v s m i) ^+ 2) => /= <-.
rewrite /others !(psubE, paddE, pmulE, psumE, pdimE, poneE) -!expr2 subrK.
under [RHS]eq_bigr do rewrite sqrrB.
rewrite big_split /= sumrB sumr_const card_ord mulr_natl.
under eq_bigr do rewrite pmulE -expr2.
congr (_ - _ + _); rewrite -mulrA !mulr_sumr; apply: eq_bigr => j _.
by rewrite [_ * peval v s p j]mulrC mulrDl mul1r mulr2n.
Qed.

Lemma conclude_sound st t : conclude S st = Some t -> valid t.
Proof.
case: st => [p r|c r||g parts|p k l|k|p|k|k|p|k|p k l|a b k|a b k|p|p m|k l|k l|r k|k l|k|p k|p k l|k l|p k l|p k l|V T k];
  rewrite /conclude /guard.
- by move=> /Some_inj <- v s [].
- by case: ifP => // c0 /Some_inj <- v s _ i; rewrite /= pconstE; apply: constant_sound.
- move=> /Some_inj <- v s _ i; change (0 <= peval v s (psub pdim pone) i).
  by rewrite psubE pdimE poneE subr_ge0 ler1n.
- case: ifP => // /andP[E z] /Some_inj <- v s h i /=.
  by rewrite (is_zero_sub v s i z) combination_sound.
- case: ifP => // /andP[/andP[E N] z] /Some_inj <- v s /All_union[h h'] i /=.
  have := is_zero_sub v s i z; rewrite (equation i E h) pmulE => /esym/eqP.
  by rewrite mulf_eq0 (negPf (nonzero_sound N (premise i h'))) orbF => /eqP.
- case: ifP => // N /Some_inj <- v s h i /=.
  by rewrite psubE pmulE pinvE poneE divff ?subrr // (nonzero_sound N (premise i h)).
- move=> /Some_inj <- v s _ i /=; rewrite psubE !pmulE pinvE.
  by have [->|x0] := eqVneq (peval v s p i) 0; rewrite ?mul0r ?subrr // mulfK ?subrr.
- move=> /Some_inj <- v s h i /=; rewrite pinvE; have := premise i h.
  by case: (relation S k) => /=; rewrite ?invr_eq0 ?invr_gt0 ?invr_ge0 // => ->; rewrite invr0.
- case: ifP => // G /Some_inj <- v s h i /=.
  by rewrite psubE pmulE psqrtE -expr2 sqr_sqrtr ?subrr // (sign_sound G (premise i h)).
- by move=> /Some_inj <- v s _ i /=; rewrite psqrtE sqrtr_ge0.
- case: ifP => // G /Some_inj <- v s h i /=; have := premise i h.
  by case: (relation S k) G => //= _ x0; rewrite psqrtE sqrtr_gt0.
- case: ifP => // /andP[/andP[G E] z] /Some_inj <- v s /All_union[h h'] i /=.
  have := is_zero_sub v s i z; rewrite (equation i E h') psubE pmulE => /esym/eqP.
  rewrite subr_eq0 psubE psqrtE => /eqP <-; rewrite -expr2 sqrtr_sqr.
  by rewrite ger0_norm ?subrr // (sign_sound G (premise i h)).
- case: ifP => // /andP[E z] /Some_inj <- v s h i /=; have := is_zero_sub v s i z.
  by rewrite (equation i E h) !psubE !pinvE => /esym/eqP; rewrite subr_eq0 => /eqP ->; rewrite subrr.
- case: ifP => // /andP[E z] /Some_inj <- v s h i /=; have := is_zero_sub v s i z.
  by rewrite (equation i E h) !psubE !psqrtE => /esym/eqP; rewrite subr_eq0 => /eqP ->; rewrite subrr.
- by move=> /Some_inj <- v s _ i /=; rewrite pmulE -expr2 sqr_ge0.
- by move=> /Some_inj <- v s _ i; rewrite /= othersE sumr_ge0 // => j _; apply: sqr_ge0.
- case: ifP => // /andP[G G'] /Some_inj <- v s /All_union[h h'] i /=; rewrite paddE.
  have := premise i h; have := premise i h'.
  case: (relation S k) G; case: (relation S l) G' => //= _ _ y0 x0.
  + exact: addr_gt0.
  + exact: ltr_paddr.
  + exact: ltr_paddl.
  + exact: addr_ge0.
- case E: (product_rel _ _) => [r|] // /Some_inj <- v s /All_union[h h'] i /=.
  by rewrite pmulE; apply: product_sound E (premise i h) (premise i h').
- case: ifP => // W /Some_inj <- v s h i /=; have := premise i h.
  by case: (relation S k) W => W; case: r W {h} => //= _; [move->|move/gt_eqF->|move/ltW].
- case: ifP => // /andP[/andP[/rel_eqP E /rel_eqP F] z] /Some_inj <- v s /All_union[h h'] i /=.
  have := premise i h; have := premise i h'; rewrite E F /= -(is_zero_sub v s i z) => x0.
  by rewrite le_eqVlt eq_sym (negPf x0).
- case: ifP => // G /Some_inj <- v s h i /=; rewrite psumE.
  have P j := premise j h; case: (relation S k) G P => //= _ P.
    rewrite big_ord_recl ltr_paddr ?P // sumr_ge0 // => j _; exact/ltW/P.
  by rewrite sumr_ge0 // => j _; apply: P.
- case: ifP => // /andP[E z] /Some_inj <- v s h i /=.
  have := is_zero_sub v s i z; rewrite (equation i E h) psumE => /esym.
  under eq_bigr do rewrite pmulE -expr2.
  move/psumr_eq0P => /(_ (fun j _ => sqr_ge0 _))/(_ i isT)/eqP.
  by rewrite sqrf_eq0 => /eqP.
- case: ifP => // /andP[E z] /Some_inj <- v s /All_union[h h'] i /=.
  have := is_zero_sub v s i z; rewrite (equation i E h) psubE => /esym/eqP.
  by rewrite subr_eq0 => /eqP ->; apply: premise.
- move=> /Some_inj <- v s /All_union[h h'] i /=; apply: premise.
  by apply: All_cut h' => j; apply: premise.
- apply: cases_sound => u v s.
  have [z|z] := eqVneq (peval v s p ord0) 0; [left|right] => i.
  + by change (peval v s p i = 0); rewrite (punifE v s i ord0 u).
  + by change (peval v s p i != 0); rewrite (punifE v s i ord0 u).
- apply: cases_sound => u v s.
  have [z|z] := leP 0 (peval v s p ord0); [left|right] => i.
  + by change (0 <= peval v s p i); rewrite (punifE v s i ord0 u).
  + by change (0 < peval v s (psub [::] p) i); rewrite psubE (punifE v s i ord0 u) sub0r oppr_gt0.
- case: ifP => // u /Some_inj <- v s h i /=; rewrite subst_sound //.
  apply: premise; elim: (hyps S k) h => //= f fs IH [f0 /IH fs0]; split=> // j.
  by have := f0 j; rewrite /= subst_sound.
Qed.

End Step.

Lemma run_sound steps S T : All valid S -> run steps S = Some T -> All valid T.
Proof.
elim: steps S => [|[st said] steps IH] S good /=; first by move=> /Some_inj <-.
by case E: (conclude S st) => [t|] //; case: ifP => // _; apply: IH; split=> //; apply: conclude_sound E.
Qed.

Definition says v s (f : statement) : Prop := forall i, holds f.2 (seval v s f.1 i).

Lemma normal_sound v s f g : normal f = Some g -> true_at v s g <-> says v s f.
Proof.
case: f => [a r]; rewrite /normal; case E: (snorm a) => [p|] // /Some_inj <-.
by split=> H i; have := H i; rewrite /= (snormE v s i E).
Qed.

Theorem check_sound steps h g :
  accepts steps h g -> forall v s, All (says v s) h -> says v s g.
Proof.
rewrite /accepts; case E: (run steps [::]) => [[|[h' g'] S]|] //.
case F: (normals h) => [k|] //; case G: (normal g) => [f|] // /and3P[sub _ /feqP eq] v s H.
have [valid_last _] := @run_sound _ [::] _ I E.
apply/(normal_sound v s G); rewrite -eq; apply: valid_last; apply: All_subset sub _.
elim: h H k F => [|a h IH] /= H k; first by move=> /Some_inj <-.
case A: (normal a) => [b|] //; case B: (normals h) => [r|] // /Some_inj <-.
by case: H => Ha Hh; split; [apply/(normal_sound v s A)|apply: IH].
Qed.

End Soundness.
