(** The geometry of LayerNorm, for every dimension n and over every real closed
    field F (the real numbers among them).

    A second opinion, independent of the project's own kernel: the definitions
    below spell out the components, and Coq checks every step.  A vector is a
    column 'cV[F]_n and x i 0 is its entry i.  As everywhere in mathcomp
    a / 0 = 0, so LN 0 x = 0 where x is constant.

    Written for Coq 8.16 with mathcomp 1.15.  No axiom is used: what runs this
    file appends "Print Assumptions" of every Theorem, and reads the answers. *)

From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section LayerNorm.

Variables (F : rcfType) (n : nat).
Implicit Types (x : 'cV[F]_n) (eps a c : F) (i : 'I_n).

(** * Definitions *)

Definition mean x : F := (\sum_i x i 0) / n%:R.
Definition variance x : F := (\sum_i (x i 0 - mean x) ^+ 2) / n%:R.
Definition LN eps x : 'cV[F]_n :=
  \col_i ((x i 0 - mean x) / Num.sqrt (variance x + eps)).

Definition square_norm x : F := \sum_i x i 0 ^+ 2.
Definition norm x : F := Num.sqrt (square_norm x).
Definition constant x : Prop := forall i j, x i 0 = x j 0.

Definition uniform : 'cV[F]_n := const_mx 1.
Definition Pi : 'M[F]_n := 1%:M - n%:R^-1 *: (uniform *m uniform^T).

(** * The projector *)

(** An entry exists only in a positive dimension. *)
Lemma dim_neq0 i : n%:R != 0 :> F.
Proof. by rewrite pnatr_eq0 -lt0n (leq_ltn_trans _ (ltn_ord i)). Qed.

Lemma PiE x i : (Pi *m x) i 0 = x i 0 - mean x.
Proof.
rewrite mulmxBl mul1mx -scalemxAl -mulmxA !mxE big_ord1 !mxE mul1r mulrC.
by congr (_ - _ / _); apply: eq_bigr => j _; rewrite !mxE mul1r.
Qed.

Lemma mean_uniform i : mean uniform = 1.
Proof.
rewrite /mean (eq_bigr (fun=> 1)) => [|j _]; last by rewrite mxE.
by rewrite sumr_const card_ord divff ?(dim_neq0 i).
Qed.

Theorem Pi_uniform : Pi *m uniform = 0.
Proof. by apply/colP => i; rewrite PiE (mean_uniform i) !mxE subrr. Qed.

Theorem Pi_symmetric : Pi^T = Pi.
Proof. by rewrite /Pi linearB linearZ /= trmx1 trmx_mul trmxK. Qed.

Theorem Pi_idempotent : Pi *m Pi = Pi.
Proof.
rewrite {2}/Pi mulmxBr mulmx1 -scalemxAr mulmxA Pi_uniform.
by rewrite mul0mx scaler0 subr0.
Qed.

(** * The output *)

Lemma square_norm_ge0 x : 0 <= square_norm x.
Proof. by apply: sumr_ge0 => i _; rewrite sqr_ge0. Qed.

Lemma varianceE x : variance x = square_norm (Pi *m x) / n%:R.
Proof. by congr (_ / _); apply: eq_bigr => i _; rewrite PiE. Qed.

Lemma variance_ge0 x : 0 <= variance x.
Proof. by rewrite varianceE divr_ge0 ?square_norm_ge0 ?ler0n. Qed.

Lemma variance_gt0 x : ~ constant x -> 0 < variance x.
Proof.
move=> vary; rewrite lt_neqAle variance_ge0 andbT eq_sym; apply/eqP => zero.
apply: vary => i j; suff at_mean k : x k 0 = mean x by rewrite !at_mean.
have /eqP := zero; rewrite mulf_eq0 invr_eq0 (negPf (dim_neq0 k)) orbF.
rewrite psumr_eq0 => [/allP/(_ k)|l _]; last exact: sqr_ge0.
by rewrite mem_index_enum sqrf_eq0 subr_eq0 => /(_ isT)/eqP.
Qed.

Theorem LN_centered eps x : \sum_i LN eps x i 0 = 0.
Proof.
case: (pickP (@predT 'I_n)) => [i _|none]; last by rewrite big_pred0.
under eq_bigr do rewrite mxE; rewrite -mulr_suml sumrB sumr_const card_ord.
by rewrite -mulr_natr divfK ?(dim_neq0 i) // subrr mul0r.
Qed.

Theorem LN_length x : ~ constant x -> square_norm (LN 0 x) = n%:R.
Proof.
move=> /variance_gt0 positive; rewrite /square_norm.
under eq_bigr do rewrite mxE addr0 exprMn exprVn sqr_sqrtr ?variance_ge0 //.
rewrite -mulr_suml; move: positive; rewrite /variance; set total := \sum_i _.
case: (eqVneq total 0) => [->|total0 _]; first by rewrite mul0r ltxx.
by rewrite invf_div mulrCA divff ?mulr1.
Qed.

Theorem LN_projected x : LN 0 x = (Num.sqrt n%:R / norm (Pi *m x)) *: (Pi *m x).
Proof.
apply/colP => i; rewrite mxE [RHS]mxE PiE addr0 varianceE mulrC.
by rewrite sqrtrM ?square_norm_ge0 // sqrtrV ?ler0n // invfM invrK [_^-1 * _]mulrC.
Qed.

(** * What the output does not tell *)

Lemma mean_affine a c x i : mean (a *: x + c *: uniform) = a * mean x + c.
Proof.
rewrite /mean; under eq_bigr do rewrite !mxE mulr1.
rewrite big_split /= -mulr_sumr sumr_const card_ord mulrDl -mulrA.
by rewrite -[c *+ n]mulr_natr mulfK ?(dim_neq0 i).
Qed.

Lemma deviation_affine a c x i :
  (a *: x + c *: uniform) i 0 - mean (a *: x + c *: uniform)
  = a * (x i 0 - mean x).
Proof. by rewrite (mean_affine _ _ _ i) !mxE mulr1 opprD addrACA subrr addr0 mulrBr. Qed.

Lemma variance_affine a c x :
  variance (a *: x + c *: uniform) = a ^+ 2 * variance x.
Proof.
rewrite /variance; under eq_bigr do rewrite deviation_affine exprMn.
by rewrite -mulr_sumr mulrA.
Qed.

Theorem LN_invariant a c x : 0 < a -> LN 0 (a *: x + c *: uniform) = LN 0 x.
Proof.
move=> positive; apply/colP => i; rewrite mxE [RHS]mxE deviation_affine.
rewrite !addr0 variance_affine sqrtrM ?sqr_ge0 // sqrtr_sqr gtr0_norm //.
by rewrite -mulf_div divff ?mul1r // gt_eqF.
Qed.

Theorem LN_shift eps c x : LN eps (x + c *: uniform) = LN eps x.
Proof.
rewrite -[x in x + _]scale1r; apply/colP => i; rewrite mxE [RHS]mxE.
by rewrite deviation_affine variance_affine expr1n !mul1r.
Qed.

(** Equal outputs, by LN_shift, of two vectors that are not equal. *)
Lemma shift_moves x i : x + 0 *: uniform <> x + 1 *: uniform.
Proof.
move/colP/(_ i)/eqP.
by rewrite !mxE (inj_eq (addrI _)) mul0r mulr1 eq_sym oner_eq0.
Qed.

(** No function of the output, affine or not, gives back every vector that is
    not constant, whatever eps is.  In dimension 1 all vectors are constant, so
    the statement begins at 2. *)
Theorem no_left_inverse eps : (1 < n)%N ->
  ~ exists f : 'cV[F]_n -> 'cV[F]_n, forall x, ~ constant x -> f (LN eps x) = x.
Proof.
move=> two [f inverse]; pose first := Ordinal (ltnW two).
pose x : 'cV[F]_n := delta_mx first 0.
have vary c : ~ constant (x + c *: uniform).
  move=> /(_ first (Ordinal two)) /eqP.
  by rewrite !mxE !eqxx /= (inj_eq (addIr _)) oner_eq0.
apply: (@shift_moves x first).
by rewrite -[LHS]inverse // -[RHS]inverse // !LN_shift.
Qed.

(** With the constant vectors, on which LN eps is 0, from dimension 1 on. *)
Theorem no_left_inverse_of_all eps : (0 < n)%N ->
  ~ exists f : 'cV[F]_n -> 'cV[F]_n, forall x, f (LN eps x) = x.
Proof.
move=> one [f inverse]; apply: (@shift_moves 0 (Ordinal one)).
by rewrite -[LHS]inverse -[RHS]inverse !LN_shift.
Qed.

End LayerNorm.
