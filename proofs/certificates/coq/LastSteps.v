(** What the calculus cannot say, proved on top of the theorems that were
    replayed: quantifiers, sets, ranks, determinants, limits, inductions.

    [LN], [RMS] and [centre] are, by computation, what the library's functions
    do; the proofs below use the replayed theorems about them. *)

From LnGeom Require Export Readable Replay.

Section Vectors.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (x y z g b h : V) (eps a c s t : R) (i j : 'I_n.+1).

Definition total x : R := \sum_j x j.
Definition square_norm x : R := \sum_j x j * x j.
Definition centre x : V := fun i => x i - mean x.
Definition variance x : R := mean (fun j => centre x j * centre x j).
Definition LN eps x : V := fun i => centre x i / Num.sqrt (variance x + eps).
Definition RMS eps x : V := fun i => x i / Num.sqrt (mean (fun j => x j * x j) + eps).

Lemma total1 x : \sum_j 1 * x j = total x.
Proof. by apply: eq_bigr => j _; rewrite mul1r. Qed.

Lemma total_ones : \sum_(j < n.+1) (1 : R) = n.+1%:R.
Proof. by rewrite sumr_const card_ord. Qed.

Lemma eq_mean x y : x =1 y -> mean x = mean y.
Proof. by move=> E; rewrite /mean (eq_bigr y). Qed.

Lemma eq_total x y : x =1 y -> total x = total y.
Proof. by move=> E; apply: eq_bigr. Qed.

Lemma eq_centre x y : x =1 y -> centre x =1 centre y.
Proof. by move=> E i; rewrite /centre E (eq_mean E). Qed.

Lemma eq_variance x y : x =1 y -> variance x = variance y.
Proof. by move=> E; apply: eq_mean => j; rewrite !(eq_centre E). Qed.

Lemma eq_LN eps x y : x =1 y -> LN eps x =1 LN eps y.
Proof. by move=> E i; rewrite /LN (eq_centre E) (eq_variance E). Qed.

Lemma eq_RMS eps x y : x =1 y -> RMS eps x =1 RMS eps y.
Proof. by move=> E i; rewrite /RMS E; congr (_ / Num.sqrt (_ + _)); apply: eq_mean => j; rewrite !E. Qed.

Lemma square_norm_ge0 x : 0 <= square_norm x.
Proof. by apply: sumr_ge0 => j _; rewrite -expr2 sqr_ge0. Qed.

Lemma dim_gt0 : 0 < n.+1%:R :> R.
Proof. by rewrite ltr0n. Qed.

Lemma variance_ge0 x : 0 <= variance x.
Proof. by rewrite divr_ge0 ?square_norm_ge0 ?ler0n. Qed.

Lemma centred x : total (centre x) = 0.
Proof. by rewrite -total1 -[RHS](projection__mean_zero x x). Qed.

Lemma LN_centred eps x : total (LN eps x) = 0.
Proof. by rewrite /total -mulr_suml [X in X * _]centred mul0r. Qed.

Lemma balanced x : total x = 0 -> centre x =1 x.
Proof. by move=> zero i; apply: projection__fixes_hyperplane; rewrite total1. Qed.

Lemma LN_shift eps x c : LN eps (fun i => x i + c) =1 LN eps x.
Proof.
move=> i; have E : LN eps (fun j => x j + c * 1) i = LN eps x i by exact: irreversibility__shift.
by rewrite -E; apply: eq_LN => j; rewrite mulr1.
Qed.

(** ** The projector *)

(** projection.fixes_hyperplane: With 1·Πx = 0: the range of Π is exactly the hyperplane 1^⊥. *)
Theorem projection__fixes_hyperplane__last_step y :
  (exists x, y =1 centre x) <-> total y = 0.
Proof.
split=> [[x /eq_total ->]|zero]; first exact: centred.
by exists y => i; rewrite balanced.
Qed.

Definition Pi : 'M[R]_n.+1 := 1%:M - n.+1%:R^-1 *: (const_mx 1 : 'M_(n.+1, 1)) *m (const_mx 1 : 'M_(1, n.+1)).

Lemma PiE x i : (Pi *m \col_j x j) i 0 = centre x i.
Proof.
rewrite mulmxBl mul1mx -mulmxA -scalemxAl !mxE big_ord1 !mxE mul1r mulrC.
by congr (_ - _ / _); apply: eq_bigr => j _; rewrite !mxE mul1r.
Qed.

(** projection.trace: The rank of Π is d − 1. *)
Theorem projection__trace__last_step : (forall x i, (Pi *m \col_j x j) i 0 = centre x i) /\ \rank Pi = n.
Proof.
split; first exact: PiE.
apply/eqP; rewrite eqn_leq; apply/andP; split.
  have zero : Pi *m (const_mx 1 : 'M[R]_(n.+1, 1)) = 0.
    apply/colP => i; have -> : const_mx 1 = \col_j (fun=> 1 : R) j :> 'M[R]_(n.+1, 1) by apply/colP => j; rewrite !mxE.
    by rewrite PiE mxE /centre /mean total_ones divff ?subrr // gt_eqF ?dim_gt0.
  have rank1 : \rank (const_mx 1 : 'M[R]_(n.+1, 1)) = 1%N.
    apply/eqP; rewrite eqn_leq rank_leq_col lt0n mxrank_eq0; apply/eqP => /colP /(_ 0).
    by rewrite !mxE => /eqP; rewrite oner_eq0.
  by have := mulmx0_rank_max zero; rewrite rank1 addn1.
pose B : 'M[R]_n.+1 := n.+1%:R^-1 *: (const_mx 1 : 'M_(n.+1, 1)) *m (const_mx 1 : 'M_(1, n.+1)).
have B1 : (\rank B <= 1)%N by apply: leq_trans (mxrankM_maxl _ _) (rank_leq_col _).
have := mxrank_add Pi B; rewrite subrK mxrank1 => le.
by rewrite -ltnS; apply: leq_trans le _; rewrite -[X in (_ <= X)%N]addn1 leq_add2l.
Qed.

Lemma LN_length x : 0 < variance x -> square_norm (LN 0 x) = n.+1%:R.
Proof.
move=> pos; have := @standardization__norm R n x x pos; rewrite total_ones => /(congr1 (fun u => u ^+ 2)).
by rewrite !sqr_sqrtr ?ler0n //; apply: square_norm_ge0.
Qed.

(** ** What the output does not tell *)

Lemma basis_varies i : (0 < n)%N -> 0 < variance (basis R i).
Proof.
move=> n1; rewrite lt_neqAle variance_ge0 andbT eq_sym; apply/eqP => zero.
have flat k : basis R i k = mean (basis R i) * 1 by apply: projection__variance_zero zero k.
have [j ji] : exists j, j != i.
  case: (eqVneq i ord0) => [->|i0]; last by exists ord0; rewrite eq_sym.
  by exists (inord 1); rewrite -val_eqE /= inordK.
have : basis R i i = basis R i j by rewrite (flat i) (flat j).
by rewrite /basis eqxx (negPf ji) => /eqP; rewrite oner_eq0.
Qed.

Lemma variance_shift x c : variance (fun i => x i + c) = variance x.
Proof.
have same : centre (fun i => x i + c) =1 centre x.
  move=> i; rewrite /centre /mean big_split /= sumr_const card_ord mulrDl -[c *+ _]mulr_natr.
  by rewrite mulfK ?gt_eqF ?dim_gt0 // opprD addrACA subrr addr0.
by apply: eq_mean => j; rewrite !same.
Qed.

(** Vectors are rows here, so that equal components make equal vectors. *)
Definition LN_row eps (x : 'rV[R]_n.+1) : 'rV[R]_n.+1 := \row_i LN eps (fun j => x 0 j) i.

(** irreversibility.no_left_inverse: For d ≥ 2 and every ε no function f has f(LN_ε(x)) = x for all x that are not
    constant: by irreversibility.shift the outputs of x and x + c1 are equal. *)
Theorem irreversibility__no_left_inverse__last_step eps : (0 < n)%N ->
  ~ exists f : 'rV[R]_n.+1 -> 'rV[R]_n.+1,
      forall x : 'rV[R]_n.+1, 0 < variance (fun j => x 0 j) -> f (LN_row eps x) = x.
Proof.
move=> n1 [f inverse]; pose x c : 'rV[R]_n.+1 := \row_j (basis R ord0 j + c).
have row c : (fun j => x c 0 j) =1 (fun j => basis R ord0 j + c) by move=> j; rewrite mxE.
have pos c : 0 < variance (fun j => x c 0 j).
  by rewrite (eq_variance (row c)) variance_shift basis_varies.
have same : LN_row eps (x 0) = LN_row eps (x 1).
  by apply/rowP => i; rewrite !mxE !(eq_LN _ (row _)) !LN_shift.
have /rowP/(_ ord0) : x 0 = x 1 by rewrite -[LHS]inverse // same inverse.
by rewrite !mxE addr0 => /eqP; rewrite -subr_eq0 opprD addrA subrr sub0r oppr_eq0 oner_eq0.
Qed.

(** irreversibility.no_affine_recovery: For d ≥ 2 and every ε no g and b have LN_ε(x; g, b) = x for all x that are not
    constant: the two errors differ by c1, so that for c = 1 they cannot both be zero. *)
Theorem irreversibility__no_affine_recovery__last_step eps : (0 < n)%N ->
  ~ exists g b, forall x, 0 < variance x -> (fun i => LN eps x i * g i + b i) =1 x.
Proof.
move=> n1 [g [b recovers]].
have pos : 0 < variance (fun i => basis R ord0 i + 1 * 1) by rewrite variance_shift basis_varies.
have := irreversibility__no_affine_recovery (basis R ord0) g b 1 eps ord0.
rewrite [X in X - _ = _](recovers _ pos) subrr.
rewrite [X in _ = X - _ - _](recovers _ (basis_varies ord0 n1)) subrr sub0r mulr1.
by move/eqP; rewrite eq_sym oppr_eq0 oner_eq0.
Qed.

Lemma LN_varies x y : 0 < variance x -> LN 0 y =1 LN 0 x -> 0 < variance y.
Proof.
move=> px E; rewrite lt_neqAle variance_ge0 andbT eq_sym; apply/eqP => zero.
have flat i : centre y i = 0 by rewrite /centre (projection__variance_zero zero) mulr1 subrr.
have := LN_length px; rewrite /square_norm big1 => [/eqP|j _]; first by rewrite eq_sym gt_eqF ?dim_gt0.
by rewrite -!E /LN flat !mul0r.
Qed.

(** irreversibility.half_planes: With irreversibility.invariance: the fiber of an x that is not constant is exactly
    the open half-plane {sΠx + t1 : s > 0}. *)
Theorem irreversibility__half_planes__last_step x y : 0 < variance x ->
  LN 0 y =1 LN 0 x <-> exists2 s, 0 < s & exists t, y =1 fun i => s * centre x i + t.
Proof.
move=> px; split=> [E|[s s0 [t E]] i].
  have py := LN_varies px E.
  exists (Num.sqrt (variance y) / Num.sqrt (variance x)); first by rewrite divr_gt0 ?sqrtr_gt0.
  exists (mean y) => i; rewrite (irreversibility__half_planes py E) mulr1 /centre mulrBr.
  by rewrite addrA addrAC.
have := irreversibility__invariance x (t - s * mean x) 0 s0 i; rewrite -[RHS]/(LN 0 x i) => <-.
by apply: eq_LN => j; rewrite E mulr1 /centre mulrBr addrAC addrA.
Qed.

(** irreversibility.lines: With irreversibility.shift: the fiber of x is exactly the line x + R1. *)
Theorem irreversibility__lines__last_step eps x y : 0 < eps ->
  LN eps y =1 LN eps x <-> exists t, y =1 fun i => x i + t.
Proof.
move=> e0; split=> [E|[t E] i]; last by rewrite (eq_LN _ E) LN_shift.
by exists (mean y - mean x) => i; rewrite (irreversibility__lines e0 E) mulr1.
Qed.

Lemma LN_interior eps x : 0 < eps -> square_norm (LN eps x) < n.+1%:R.
Proof. by move=> e0; rewrite -total_ones; apply: epsilon__interior. Qed.

(** ** The placement of epsilon *)

(** epsilon.no_conversion: No ε′ ≥ 0 has σ + ε = √(σ² + ε′) for two vectors of unequal σ, if ε ≠ 0. *)
Theorem epsilon__no_conversion__last_step x y eps : eps != 0 ->
  Num.sqrt (variance x) != Num.sqrt (variance y) ->
  ~ exists2 c, 0 <= c & Num.sqrt (variance x) + eps = Num.sqrt (variance x + c)
                        /\ Num.sqrt (variance y) + eps = Num.sqrt (variance y + c).
Proof.
move=> e0 d0 [c c0 [E F]]; have := epsilon__no_conversion e0 c0 d0.
rewrite -[Num.sqrt (variance x + c)]E -[Num.sqrt (variance y + c)]F.
by rewrite !subrr eqxx.
Qed.

(** ** The ellipsoid *)

(** ellipsoid.image: With ellipsoid.hyperplane and ellipsoid.interior: the image is the set of all z with α·(z − b) =
    0 and Σ (z_i − b_i)²/g_i² < d. *)
Theorem ellipsoid__image__last_step g b z eps : (forall i, g i != 0) -> 0 < eps ->
  (exists x, (fun i => LN eps x i * g i + b i) =1 z)
  <-> total (fun i => (z i - b i) / g i) = 0
      /\ square_norm (fun i => (z i - b i) / g i) < n.+1%:R.
Proof.
move=> g0 e0; split=> [[x E]|[zero small]].
  have inside i : (z i - b i) / g i = LN eps x i by rewrite -E addrK mulfK.
  rewrite (eq_total inside) LN_centred; split=> //.
  rewrite /square_norm (eq_bigr (fun i => LN eps x i * LN eps x i)); last by move=> i _; rewrite inside.
  exact: LN_interior.
have small' : square_norm (fun i => (z i - b i) / g i) < \sum_(j < n.+1) 1 by rewrite total_ones.
by eexists; exact: (ellipsoid__image g0 e0 zero small').
Qed.

(** ** Networks *)

(** The state after any number of blocks, each an attention and a feed-forward part. *)
(** residual.sum: By induction for any number l of blocks: hˡ = h⁰ + Σ_{i=1}^{l} (aⁱ + mⁱ). *)
Theorem residual__sum__last_step (state attention forward : nat -> V) (l : nat) :
  (forall k : nat, state k.+1 =1 fun i => state k i + attention k i + forward k i) ->
  state l =1 fun i => state 0%N i + \sum_(k < l) (attention k i + forward k i).
Proof.
move=> step; elim: l => [|l IH] i; first by rewrite big_ord0 addr0.
by rewrite step IH big_ord_recr /= !addrA.
Qed.

(** A branch is any function of what a LayerNorm returns at all p positions; gains, biases and branches that run side
    by side are part of the function.  Each position may be shifted by a number of its own. *)
(** residual.shift_forgotten: For any number of branches, each any function of what a LayerNorm returns at all
    positions, all with one ε and with gain and bias in the branches, and a shift of its own at each position: the two
    streams differ by the shifts to the end, and the final norm returns the same. *)
Theorem residual__shift_forgotten__last_step (p : nat) eps (c : 'I_p -> R)
    (branch : nat -> 'M[R]_(p, n.+1) -> 'I_p -> V) (x y : nat -> 'I_p -> V) (l : nat) :
  let read (u : 'I_p -> V) := \matrix_(t, i) LN eps (u t) i in
  (forall (k : nat) (t : 'I_p), x k.+1 t =1 fun i => x k t i + branch k (read (x k)) t i) ->
  (forall (k : nat) (t : 'I_p), y k.+1 t =1 fun i => y k t i + branch k (read (y k)) t i) ->
  (forall t : 'I_p, y 0%N t =1 fun i => x 0%N t i + c t) ->
  forall t : 'I_p, y l t =1 (fun i => x l t i + c t) /\ LN eps (y l t) =1 LN eps (x l t).
Proof.
move=> read step_x step_y start.
have shifted : forall (k : nat) (t : 'I_p), y k t =1 (fun i => x k t i + c t).
  elim=> [//|k IH] t i; rewrite step_y step_x addrAC IH; congr (_ + _); congr (branch k _ t i).
  by apply/matrixP => u j; rewrite !mxE (eq_LN _ (IH u)) LN_shift.
by move=> t; split=> // i; rewrite (eq_LN _ (shifted l t)) LN_shift.
Qed.

Lemma centre_add x y : centre (fun i => x i + y i) =1 fun i => centre x i + centre y i.
Proof. by move=> i; rewrite /centre /mean big_split mulrDl opprD addrACA. Qed.

Lemma RMS_centre eps x : RMS eps (centre x) =1 LN eps x.
Proof. by []. Qed.

(** The whole network of LayerNorms, and the network of RMSNorms whose writers are centred. *)
(** rmsnorm.decomposition: For any number of branches that are any functions of what a LayerNorm returns at all
    positions, all with one ε and with gain and bias in the branches: if each branch writes its centred output
    instead, to a stream that was centred at first, the stream is the centred stream throughout, and every RMSNorm
    returns what the LayerNorm returned. *)
Theorem rmsnorm__decomposition__last_step (p : nat) eps
    (branch : nat -> 'M[R]_(p, n.+1) -> 'I_p -> V) (x y : nat -> 'I_p -> V) (l : nat) :
  let read norm (u : 'I_p -> V) := \matrix_(t, i) norm (u t) i : 'M[R]_(p, n.+1) in
  (forall (k : nat) (t : 'I_p), x k.+1 t =1 fun i => x k t i + branch k (read (LN eps) (x k)) t i) ->
  (forall (k : nat) (t : 'I_p), y k.+1 t =1 fun i => y k t i + centre (branch k (read (RMS eps) (y k)) t) i) ->
  (forall t : 'I_p, y 0%N t =1 centre (x 0%N t)) ->
  forall t : 'I_p, y l t =1 centre (x l t) /\ RMS eps (y l t) =1 LN eps (x l t).
Proof.
move=> read step_x step_y start.
have folded : forall (k : nat) (t : 'I_p), y k t =1 centre (x k t).
  elim=> [//|k IH] t i; rewrite step_y (eq_centre (step_x k t)) centre_add IH; congr (_ + _).
  congr (centre (branch k _ t) i); apply/matrixP => u j; rewrite !mxE.
  by rewrite (eq_RMS _ (IH u)) RMS_centre.
by move=> t; split=> // i; rewrite (eq_RMS _ (folded l t)) RMS_centre.
Qed.

(** A writer with any number of columns. *)
(** rmsnorm.fold_write: The same for a writer of any number of columns. *)
Theorem rmsnorm__fold_write__last_step h b (l : nat) (column : 'I_l -> V) (u : 'I_l -> R) :
  centre (fun i => h i + \sum_k u k * column k i + b i)
  =1 fun i => centre h i + \sum_k u k * centre (column k) i + centre b i.
Proof.
move=> i; rewrite !centre_add; congr (_ + _ + _).
elim: l column u => [|l IH] column u.
  rewrite big_ord0 /centre big_ord0 (_ : mean _ = 0) ?subrr //.
  by rewrite /mean big1 ?mul0r // => j _; rewrite big_ord0.
rewrite big_ord_recl -IH -[RHS]/(_ + _).
have split : (fun j => \sum_k u k * column k j)
    =1 (fun j => u ord0 * column ord0 j + \sum_k u (lift ord0 k) * column (lift ord0 k) j).
  by move=> j; rewrite big_ord_recl.
rewrite (eq_centre split) centre_add; congr (_ + _).
by rewrite /centre /mean -mulr_sumr -mulrA mulrBr.
Qed.

End Vectors.
