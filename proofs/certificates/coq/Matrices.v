(** Last steps about matrices: the only invariant projector, the Moore-Penrose
    inverse, and the secular equation. *)

From LnGeom Require Export LastSteps.
From mathcomp Require Import all_fingroup.

Section Matrices.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (v w g : V) (lam : R) (A X Y P : 'M[R]_n.+1) (i j k : 'I_n.+1).

(** ** Projectors that treat all coordinates alike *)

Lemma invariant_entries P i j (s : 'S_n.+1) :
  (forall s : 'S_n.+1, perm_mx s *m P = P *m perm_mx s) -> P (s i) (s j) = P i j.
Proof.
move=> /(_ s)/matrixP/(_ i (s j)).
have -> : P *m perm_mx s = col_perm s^-1 P by rewrite col_permE invgK.
by rewrite -row_permE !mxE permK.
Qed.

Lemma invariant_form P : (forall s : 'S_n.+1, perm_mx s *m P = P *m perm_mx s) ->
  exists a c, forall i j, P i j = a *+ (i == j) + c.
Proof.
move=> inv; have E := invariant_entries _ _ _ inv.
have moved i j k : j != i -> j != k -> P i j = P k j.
  by move=> ji jk; rewrite -(E i j (tperm i k)) tpermL tpermD // eq_sym.
have moved' i j k : i != j -> i != k -> P i j = P i k.
  by move=> ij ik; rewrite -(E i j (tperm j k)) tpermL tpermD // eq_sym.
have swapped i j : P i j = P j i by rewrite -(E i j (tperm i j)) tpermL tpermR.
have off i j k l : i != j -> k != l -> P i j = P k l.
  move=> ij kl; case: (eqVneq j k) => [E'|jk].
    have ji : j != i by rewrite eq_sym.
    by subst k; rewrite swapped (moved' j i l ji kl).
  have ji : j != i by rewrite eq_sym.
  have kj : k != j by rewrite eq_sym.
  by rewrite (moved i j k ji jk) (moved' k j l kj kl).
have on i j : P i i = P j j by rewrite -(E i i (tperm i j)) tpermL.
case: (pickP (fun j => j != ord0)) => [m m0|none].
  exists (P ord0 ord0 - P m ord0), (P m ord0) => i j; case: (eqVneq i j) => [->|ij].
    by rewrite mulr1n subrK.
  by rewrite mulr0n add0r; apply: off.
exists (P ord0 ord0), 0 => i j; rewrite addr0.
by have /eqP -> := negbFE (none i); have /eqP -> := negbFE (none j); rewrite mulr1n.
Qed.

(** projection.only_invariant_projector: For d ≥ 3 a matrix P with P² = P and rank d − 1 that commutes with every
    permutation of the coordinates is Π. *)
Theorem projection__only_invariant_projector__last_step P : (1 < n)%N ->
  (forall s : 'S_n.+1, perm_mx s *m P = P *m perm_mx s) -> P *m P = P -> \rank P = n -> P = Pi R n.
Proof.
move=> n1 /invariant_form[a [c F]] idem rank.
have entry i j : Pi R n i j = 1 *+ (i == j) - n.+1%:R^-1.
  rewrite !mxE big_ord1 !mxE mulr1; case: eqVneq; by rewrite ?mulr1.
pose d : R := n.+1%:R.
have square i j : (P *m P) i j = a ^+ 2 *+ (i == j) + (a * c *+ 2 + c ^+ 2 * d).
  rewrite !mxE; under eq_bigr do rewrite !F mulrDl !mulrDr.
  rewrite !big_split /= sumr_const card_ord.
  have -> : \sum_k a *+ (i == k) * (a *+ (k == j)) = a ^+ 2 *+ (i == j).
    rewrite (bigD1 i) //= eqxx mulr1n big1 ?addr0; first by rewrite mulrnAr expr2.
    by move=> k /negPf ki; rewrite eq_sym ki mul0r.
  have -> : \sum_k a *+ (i == k) * c = a * c.
    by rewrite (bigD1 i) //= eqxx big1 ?addr0 // => k /negPf ki; rewrite eq_sym ki mul0r.
  have -> : \sum_k c * (a *+ (k == j)) = a * c.
    by rewrite (bigD1 j) //= eqxx big1 ?addr0 1?mulrC // => k /negPf ->; rewrite mulr0.
  have -> : c * c *+ n.+1 = c ^+ 2 * d by rewrite expr2 mulr_natr.
  by rewrite mulr2n !addrA.
have zero_one : (ord0 == inord 1 :> 'I_n.+1) = false by rewrite -val_eqE /= inordK // ltnW.
have off : a * c *+ 2 + c ^+ 2 * d = c.
  by have := square ord0 (inord 1); rewrite idem F zero_one !mulr0n !add0r.
have on : a ^+ 2 = a.
  by have := square ord0 ord0; rewrite idem F off eqxx !mulr1n => /addIr.
have d0 : d != 0 by rewrite pnatr_eq0.
have : a = 0 \/ a = 1.
  by have /eqP := on; rewrite expr2 -subr_eq0 -{3}[a]mulr1 -mulrBr mulf_eq0 subr_eq0 => /orP[]/eqP; [left|right].
case=> a01.
  suff : (\rank P <= 1)%N by rewrite rank leqNgt n1.
  have -> : P = (const_mx c : 'M_(n.+1, 1)) *m (const_mx 1 : 'M_(1, n.+1)).
    by apply/matrixP => i j; rewrite F a01 mul0rn add0r mxE big_ord1 !mxE mulr1.
  by apply: leq_trans (mxrankM_maxl _ _) (rank_leq_col _).
have : c * (1 + c * d) = 0.
  move: off; rewrite a01 mul1r mulr2n expr2 => /eqP; rewrite -addrA -subr_eq0 addrAC subrr add0r => /eqP <-.
  by rewrite mulrDr mulr1 mulrA.
move=> /eqP; rewrite mulf_eq0 => /orP[/eqP c0|/eqP cd].
  suff P1 : P = 1%:M by move: rank; rewrite P1 mxrank1 => /eqP; rewrite eqn_leq ltnn.
  by apply/matrixP => i j; rewrite F a01 c0 addr0 !mxE.
have cE : c = - n.+1%:R^-1.
  by apply/(mulIf d0); rewrite mulNr mulVf //; apply/eqP; rewrite -addr_eq0 addrC cd.
by apply/matrixP => i j; rewrite F entry a01 cE.
Qed.

(** ** The Moore-Penrose inverse *)

Definition penrose A X : Prop :=
  [/\ A *m X *m A = A, X *m A *m X = X, (A *m X)^T = A *m X & (X *m A)^T = X *m A].

Lemma penrose_unique A X Y : penrose A X -> penrose A Y -> X = Y.
Proof.
move=> [AXA XAX sAX sXA] [AYA YAY sAY sYA].
have EX : A *m X = A *m Y.
  by rewrite -{1}AYA -mulmxA -sAX -sAY -trmx_mul mulmxA AXA.
have EY : X *m A = Y *m A.
  by rewrite -{1}AYA !mulmxA -[X *m A *m Y *m A]mulmxA -sXA -sYA -trmx_mul -mulmxA [A *m (X *m A)]mulmxA AXA sYA.
by rewrite -XAX -mulmxA EX mulmxA EY YAY.
Qed.

Definition act A v : V := fun i => (A *m \col_j v j) i 0.

Lemma actE A v i : act A v i = \sum_j A i j * v j.
Proof. by rewrite /act mxE; apply: eq_bigr => j _; rewrite mxE. Qed.

Lemma act_mul A X v : act (A *m X) v =1 act A (act X v).
Proof.
move=> i; rewrite /act -mulmxA; congr ((A *m _) i 0).
by apply/colP => j; rewrite [RHS]mxE.
Qed.

Lemma eq_act A v w : v =1 w -> act A v =1 act A w.
Proof. by move=> E i; rewrite !actE; apply: eq_bigr => j _; rewrite E. Qed.

Lemma act_basis A i j : act A (basis R j) i = A i j.
Proof.
rewrite actE -[RHS](sum_basis (fun k => A i k)); apply: eq_bigr => k _.
by rewrite mulrC.
Qed.

Lemma act_inj A X : (forall v, act A v =1 act X v) -> A = X.
Proof. by move=> E; apply/matrixP => i j; rewrite -!act_basis E. Qed.

Lemma act_symmetric A :
  (forall v w, \sum_i w i * act A v i = \sum_i v i * act A w i) -> A^T = A.
Proof.
move=> E; apply/matrixP => i j; rewrite mxE -!act_basis.
by have := E (basis R i) (basis R j); rewrite !sum_basis.
Qed.

Variable g : V.

Definition G : 'M[R]_n.+1 := diag_mx (\row_i g i).
Definition alpha : V := fun i => 1 / g i.
Definition Pi2 : 'M[R]_n.+1 :=
  \matrix_(i, j) ((i == j)%:R - alpha j / (\sum_k alpha k * alpha k) / g i).
Definition GPiG : 'M[R]_n.+1 := G *m Pi R n *m G.
Definition formula_inverse : 'M[R]_n.+1 := Pi2 *m diag_mx (\row_i (g i * g i)^-1) *m Pi2.

Lemma act_diag v w : act (diag_mx (\row_i v i)) w =1 fun i => v i * w i.
Proof.
move=> i; rewrite actE (bigD1 i) //= !mxE eqxx mulr1n big1 ?addr0 // => j /negPf ji.
by rewrite !mxE eq_sym ji mul0r.
Qed.

Lemma act_Pi v : act (Pi R n) v =1 centre v.
Proof. exact: PiE. Qed.

Definition centre2 v : V := fun i => v i - (\sum_j alpha j * v j) / (\sum_k alpha k * alpha k) / g i.

Lemma act_Pi2 v : act Pi2 v =1 centre2 v.
Proof.
move=> i; rewrite actE /centre2; under eq_bigr do rewrite mxE mulrBl.
rewrite sumrB; congr (_ - _).
  by rewrite -[RHS](sum_basis v i); apply: eq_bigr => j _; rewrite /basis eq_sym.
rewrite !mulr_suml; apply: eq_bigr => j _.
by rewrite mulrAC [alpha j / _ * _]mulrAC.
Qed.

Definition gpig v : V := fun i => g i * centre (fun j => g j * v j) i.
Definition inverse v : V := centre2 (fun j => centre2 v j / (g j * g j)).

Lemma act_GPiG v : act GPiG v =1 gpig v.
Proof.
move=> i; rewrite !act_mul act_diag /gpig; congr (_ * _); rewrite act_Pi.
by apply: eq_centre => j; rewrite act_diag.
Qed.

Lemma eq_centre2 v w : v =1 w -> centre2 v =1 centre2 w.
Proof. by move=> E i; rewrite /centre2 E; congr (_ - _ / _ / _); apply: eq_bigr => j _; rewrite E. Qed.

Lemma act_inverse v : act formula_inverse v =1 inverse v.
Proof.
move=> i; rewrite !act_mul act_Pi2; apply: eq_centre2 => j.
by rewrite act_diag mulrC act_Pi2.
Qed.

Lemma eq_gpig v w : v =1 w -> gpig v =1 gpig w.
Proof. by move=> E i; congr (_ * _); apply: eq_centre => j; rewrite E. Qed.

Lemma eq_inverse v w : v =1 w -> inverse v =1 inverse w.
Proof. by move=> E; apply: eq_centre2 => j; rewrite (eq_centre2 E). Qed.

Hypothesis g0 : forall i, g i != 0.

Lemma formula_is_inverse : penrose GPiG formula_inverse.
Proof.
split.
- apply: act_inj => v i; rewrite -mulmxA act_mul act_GPiG [RHS]act_GPiG.
  rewrite (@eq_gpig _ (inverse (gpig v))); first exact: (ellipsoid__penrose_1 _ v).
  by move=> j; rewrite act_mul act_inverse; apply: eq_inverse => m; rewrite act_GPiG.
- apply: act_inj => v i; rewrite -mulmxA act_mul act_inverse [RHS]act_inverse.
  rewrite (@eq_inverse _ (gpig (inverse v))); first exact: (ellipsoid__penrose_2 _ v).
  by move=> j; rewrite act_mul act_GPiG; apply: eq_gpig => m; rewrite act_inverse.
- apply: act_symmetric => v w.
  have E u : act (GPiG *m formula_inverse) u =1 gpig (inverse u).
    by move=> i; rewrite act_mul act_GPiG; apply: eq_gpig => j; rewrite act_inverse.
  under eq_bigr do rewrite E; under [RHS]eq_bigr do rewrite E.
  exact: ellipsoid__penrose_3.
- apply: act_symmetric => v w.
  have E u : act (formula_inverse *m GPiG) u =1 inverse (gpig u).
    by move=> i; rewrite act_mul act_inverse; apply: eq_inverse => j; rewrite act_GPiG.
  under eq_bigr do rewrite E; under [RHS]eq_bigr do rewrite E.
  exact: ellipsoid__penrose.
Qed.

(** The four equations have one solution, and it is the formula. *)
(** ellipsoid.penrose: A matrix satisfies the four equations for GΠG if and only if it is Π₂G⁻²Π₂. *)
Theorem ellipsoid__penrose__last_step Y : penrose GPiG Y <-> Y = formula_inverse.
Proof.
split=> [PY|->]; last exact: formula_is_inverse.
exact: penrose_unique PY formula_is_inverse.
Qed.

End Matrices.

(** ** The secular equation *)

Section Secular.

Variables (R : rcfType) (n : nat) (g : 'I_n.+1 -> R) (lam : R).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (v : V) (i j k : 'I_n.+1).

Definition eigenvector v : Prop := (exists i, v i != 0) /\ gpig g v =1 fun i => lam * v i.

Hypothesis lam0 : lam != 0.

(** An eigenvalue that is a squared gain is the square of two gains. *)
(** ellipsoid.secular_converse: An eigenvalue λ ≠ 0 that is a squared gain is the square of two gains at least. *)
Theorem ellipsoid__secular_converse__last_step v k :
  eigenvector v -> g k * g k = lam -> exists2 j, j != k & g j * g j = lam.
Proof.
move=> [[i vi] E] gk.
case: (pickP (fun j => (j != k) && (g j * g j == lam))) => [j /andP[jk /eqP gj]|none]; first by exists j.
have gk0 : g k != 0 by apply: contraNneq lam0 => z; rewrite -gk z mul0r.
have mean0 : mean (fun j => g j * v j) = 0.
  have /eqP := E k; rewrite /gpig /centre mulrBr mulrA gk -subr_eq0 addrAC subrr sub0r oppr_eq0.
  by rewrite mulf_eq0 (negPf gk0) => /eqP.
have zero j : j != k -> v j = 0.
  move=> jk; have /eqP := E j; rewrite /gpig /centre mean0 subr0 mulrA -subr_eq0 -mulrBl mulf_eq0.
  by rewrite subr_eq0 => /orP[gj|/eqP //]; have := none j; rewrite jk gj.
have vk : v k = 0.
  have /eqP := mean0; rewrite /mean (bigD1 k) //= big1 => [|j jk]; last by rewrite zero ?mulr0.
  by rewrite addr0 !mulf_eq0 invr_eq0 pnatr_eq0 orbF (negPf gk0) => /eqP.
by case: (eqVneq i k) vi => [->|ik]; rewrite ?vk ?zero ?eqxx.
Qed.

End Secular.
