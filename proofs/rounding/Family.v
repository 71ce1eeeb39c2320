(** The theorem: what a correct kernel returns is in the family, so that it is never accused. *)
From Rounding Require Export Components.

Section Family.

Variables (u w om : R) (d : nat).
Hypothesis u_pos : 0 <= u.
Hypothesis w_pos : 0 <= w.
Hypothesis d_pos : (1 <= d)%nat.
Hypothesis w_small : w <= u * om.
Hypothesis om_pos : 0 <= om.
Hypothesis guard : INR d * guard_terms * u + guard_rest * u < / 2.

(** ε and where it stands; half a unit in the last place of an output; the row, gain, bias and output. *)
Variables (pl : placement) (eps : R) (half : R -> R) (x g b y : nat -> R).
Hypothesis eps_pos : 0 <= eps.

(** The kernel's own last rounding is to the nearest number of the output's format. *)
Definition returns (out : nat -> R -> Prop) := forall i, (i < d)%nat -> exists z, out i z /\ Rabs (y i - z) <= half (y i).

(** ** The family *)

Section Center.

(** What is subtracted exactly, the mean or 0; the bound of its error. *)
Variables mu A : R.

Definition deviation i := x i - mu.
Definition variance := mean d (fun i => deviation i ^ 2).
Definition square_error :=
  u * T d (fun i => (Rabs (deviation i) + A) ^ 2) * (1 + gamma d u) / INR d + 4 * om.
Definition low := Rmax 0 (variance * (1 - square * u) - square_error).
Definition high := (variance + A ^ 2) * (1 + square * u) + square_error.

(** What the roundings of one component may add up to at the scale p; more where the input is multiplied first. *)
Definition subtracted_slack p i :=
  component * u * (Rabs (g i) * p * (Rabs (deviation i) + A)) + u * Rabs (b i) + tiny om (x i) (Rabs mu + A) (g i) p.
Definition slack p i :=
  component * u * (Rabs (g i) * p * (Rabs (deviation i) + A))
  + u * (Rabs (g i) * p * (first_input * Rabs (x i) + first_mean * Rabs mu))
  + (folded_bias + u) * u * Rabs (b i) + tiny om (x i) (Rabs mu + A) (g i) p.

Definition in_family (lo hi : R) (E : R -> nat -> R) := exists p q,
  (1 - scale * u) / D pl hi eps <= p <= (1 + scale * u) / D pl lo eps /\ Rabs q <= p * A /\
  forall i, (i < d)%nat ->
    Rabs (y i - (g i * (p * deviation i - q) + b i)) <= E ((1 + scale * u) / D pl lo eps) i + half (y i).

Lemma u_small : u <= / 20.
Proof. unfold guard_terms, guard_rest in guard. apply le_INR in d_pos; simpl in d_pos. nra. Qed.

Lemma D_le v v' : v <= v' -> D pl v eps <= D pl v' eps.
Proof. intros; destruct pl; simpl; [apply sqrt_le_1_alt; lra|]. generalize (sqrt_le_1_alt v v' H); lra. Qed.

Lemma tiny_mono m p q a i : Rabs m <= a -> p <= q -> tiny om (x i) m (g i) p <= tiny om (x i) a (g i) q.
Proof. intros M P. unfold tiny. apply Rmult_le_compat_l; auto. generalize (Rle_abs a); lra. Qed.

Lemma slack_mono p q a k i : 0 <= p <= q -> 0 <= a -> 0 <= k -> k * u * (Rabs (g i) * p * a) <= k * u * (Rabs (g i) * q * a).
Proof.
intros. apply Rmult_le_compat_l; [apply Rmult_le_pos; auto|]. apply Rmult_le_compat_r; auto.
apply Rmult_le_compat_l; [apply Rabs_pos|lra].
Qed.

(** Bounds of the mean, of the mean square and of each component make a member of the family. *)
Theorem family_member lo hi E m v r : 0 <= A -> Rabs (m - mu) <= A -> 0 <= lo -> lo <= v <= hi -> 0 < D pl lo eps ->
  reciprocal u pl v eps r ->
  (0 <= r <= (1 + scale * u) / D pl lo eps -> returns (fun i z =>
    Rabs (z - (g i * (r * (x i - m)) + b i)) <= E ((1 + scale * u) / D pl lo eps) i)) ->
  in_family lo hi E.
Proof.
intros A0 M L V P R O. assert (u20 := u_small).
assert (B := scale_bound u u_pos u20 pl v eps r lo hi eps_pos L V P R).
assert (r0 : 0 <= r).
{ apply Rle_trans with (2 := proj1 B). unfold scale. apply Rmult_le_pos; [lra|].
  apply Rlt_le, Rinv_0_lt_compat. apply Rlt_le_trans with (1 := P). apply D_le; lra. }
exists r, (r * (m - mu)). repeat split; try apply B.
- rewrite Rabs_mult, Rabs_pos_eq by auto. apply Rmult_le_compat_l; auto.
- intros i I. destruct (O (conj r0 (proj2 B)) i I) as (z & Z & H).
  replace (y i - _) with (y i - z + (z - (g i * (r * (x i - m)) + b i))) by (unfold deviation; ring).
  eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma deviation_le m i : Rabs (m - mu) <= A -> Rabs (x i - m) <= Rabs (deviation i) + A.
Proof.
intros M. replace (x i - m) with (deviation i - (m - mu)) by (unfold deviation; ring). size.
Qed.

Lemma center_le m : Rabs (m - mu) <= A -> Rabs m <= Rabs mu + A.
Proof. intros M. replace m with (mu + (m - mu)) by ring. eapply Rle_trans; [apply Rabs_triang|]; lra. Qed.

(** Outputs in every form obey the slack. *)
Lemma returns_slack m r p : 0 <= A -> Rabs (m - mu) <= A -> 0 <= r <= p ->
  returns (fun i z => output u w (x i) m r (g i) (b i) z) ->
  returns (fun i z => Rabs (z - (g i * (r * (x i - m)) + b i)) <= slack p i).
Proof.
intros A0 M [R0 P] O i I. destruct (O i I) as (z & Z & H). exists z; split; auto.
assert (C := deviation_le m i M). assert (C0 := Rle_trans _ _ _ (Rabs_pos _) C).
eapply Rle_trans; [apply (output_error u w om) with (C := Rabs (deviation i) + A) (mu := mu) (al := A); auto|].
- apply u_small.
- apply center_le; auto.
- generalize (Rabs_pos (deviation i)); lra.
- unfold slack. assert (0 <= first_input * Rabs (x i) + first_mean * Rabs mu).
  { unfold first_input, first_mean. generalize (Rabs_pos (x i)) (Rabs_pos mu); lra. }
  generalize (slack_mono r p _ component i (conj R0 P) C0 ltac:(unfold component; lra)).
  generalize (slack_mono r p _ 1 i (conj R0 P) H0 ltac:(lra)).
  generalize (tiny_mono m r p _ i (center_le m M) P). lra.
Qed.

(** Outputs that subtract first obey the smaller one. *)
Lemma returns_subtracted m r p : 0 <= A -> Rabs (m - mu) <= A -> 0 <= r <= p ->
  returns (fun i z => exists c t, near u 0 (x i - m) c /\ product3 u w c (g i) r t /\ near u 0 (t + b i) z) ->
  returns (fun i z => Rabs (z - (g i * (r * (x i - m)) + b i)) <= subtracted_slack p i).
Proof.
intros A0 M [R0 P] O i I. destruct (O i I) as (z & (c & t & Hc & Ht & Hz) & H). exists z; split; auto.
assert (C := deviation_le m i M). assert (C0 := Rle_trans _ _ _ (Rabs_pos _) C).
eapply Rle_trans; [apply (subtracted_error u w om) with (c := c) (t := t); auto|]; [apply u_small|].
unfold subtracted_slack.
assert (component * u * (Rabs (g i) * r * Rabs (x i - m)) <= component * u * (Rabs (g i) * r * (Rabs (deviation i) + A))).
{ apply Rmult_le_compat_l; [unfold component; lra|]. apply Rmult_le_compat_l; auto. apply Rmult_le_pos; auto. apply Rabs_pos. }
generalize (slack_mono r p _ component i (conj R0 P) C0 ltac:(unfold component; lra)).
generalize (tiny_mono m r p _ i (center_le m M) P). lra.
Qed.

Lemma low_high v m : 0 <= v -> Rabs (m - mu) <= A -> mean_square u w d x m v ->
  mean d (fun i => (x i - m) ^ 2) = variance + (m - mu) ^ 2 -> low <= v <= high.
Proof.
intros V M Q S. assert (B := mean_square_error u w om d u_pos w_pos d_pos w_small om_pos guard x m v Q).
cbv zeta in B. rewrite S in B.
assert (V0 : 0 <= variance) by (apply mean_pos; intros; apply pow2_ge_0).
assert (TT : u * T d (fun i => (x i - m) ^ 2) * (1 + gamma d u) / INR d + 4 * om <= square_error).
{ unfold square_error. apply Rplus_le_compat_r. apply Rmult_le_compat_r.
  { apply Rlt_le, Rinv_0_lt_compat, lt_0_INR; lia. }
  destruct (gamma_guard u d u_pos guard d ltac:(lia)) as [K _].
  apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; auto. apply any_order_le. intros i; split; [apply pow2_ge_0|].
  rewrite <- Rsqr_pow2, Rsqr_abs, Rsqr_pow2. apply pow_incr; split; [apply Rabs_pos|]. apply deviation_le; auto. }
assert (m2 : 0 <= (m - mu) ^ 2 <= A ^ 2).
{ split; [apply pow2_ge_0|]. rewrite <- Rsqr_pow2, Rsqr_abs, Rsqr_pow2. apply pow_incr; split; auto; apply Rabs_pos. }
assert (u20 := u_small). set (v' := variance + (m - mu) ^ 2) in *.
assert (Rabs (v - v') <= square_error + square * u * v') by lra.
assert (variance * (1 - square * u) <= v' * (1 - square * u)).
{ apply Rmult_le_compat_r; [unfold square; lra|unfold v'; lra]. }
assert (v' * (1 + square * u) <= (variance + A ^ 2) * (1 + square * u)).
{ apply Rmult_le_compat_r; [unfold square; lra|unfold v'; lra]. }
assert (v - v' <= Rabs (v - v') /\ v' - v <= Rabs (v - v')) by (unfold Rabs; destruct Rcase_abs; lra).
unfold low, high; split; [apply Rmax_lub; auto|]; lra.
Qed.

End Center.

(** ** Kernels *)

Section Kernels.

(** How the center and the mean square are computed, and bounds of them: for the mean [Means.mean_error] for sums in any
    order, [Means.divided_mean_error] for sums that are divided, [Merging.merged_mean] for merged means; for the mean
    square [two_passes_bound], or [Variances.merged_variance_error]. RMSNorm has the center 0. *)
Variables (mu al lo hi : R) (means squares : R -> Prop).
Hypothesis means_near : forall m, means m -> Rabs (m - mu) <= al.
Hypothesis squares_near : forall v, squares v -> 0 <= v -> lo <= v <= hi.
Hypothesis lo_pos : 0 <= lo.

(** A correct kernel: the mean square and the output may use two differently computed means. *)
Definition kernel (out : R -> R -> nat -> R -> Prop) := exists m v r,
  means m /\ squares v /\ 0 <= v /\ reciprocal u pl v eps r /\ returns (out m r).

Definition anyhow m r i z := output u w (x i) m r (g i) (b i) z.
Definition subtracting m r i z :=
  exists c t, near u 0 (x i - m) c /\ product3 u w c (g i) r t /\ near u 0 (t + b i) z.

Let member out E : (forall m r, 0 <= al -> Rabs (m - mu) <= al -> 0 <= r <= (1 + scale * u) / D pl lo eps ->
    returns (out m r) -> returns (fun i z =>
      Rabs (z - (g i * (r * (x i - m)) + b i)) <= E ((1 + scale * u) / D pl lo eps) i)) ->
  0 < D pl lo eps -> kernel out -> in_family mu al lo hi E.
Proof.
intros H P (m & v & r & Hm & Q & V & R & O). apply means_near in Hm.
assert (A0 : 0 <= al) by (apply Rle_trans with (2 := Hm), Rabs_pos).
apply family_member with (m := m) (v := v) (r := r); auto.
Qed.

Theorem never_accused : 0 < D pl lo eps -> kernel anyhow -> in_family mu al lo hi (slack mu al).
Proof. apply member. intros. apply returns_slack; auto. Qed.

Theorem subtracting_never_accused : 0 < D pl lo eps -> kernel subtracting -> in_family mu al lo hi (subtracted_slack mu al).
Proof. apply member. intros. apply returns_subtracted; auto. Qed.

End Kernels.

(** ** LayerNorm *)

Lemma shifted m : mean d (fun i => (x i - m) ^ 2) = variance (mean d x) + (m - mean d x) ^ 2.
Proof.
assert (D0 : 0 < INR d) by (apply lt_0_INR; lia). unfold variance, deviation. set (mu := mean d x).
assert (X : all d x = INR d * mu) by (unfold mu, mean; field; lra).
assert (E : all d (fun i => (x i - m) ^ 2) = all d (fun i => (x i - mu) ^ 2) + INR d * (m - mu) ^ 2).
{ rewrite <- (all_const d). unfold all.
  rewrite <- sum_plus.
  transitivity (sum (map (fun i => ((x i - mu) ^ 2 + (m - mu) ^ 2) + (2 * (mu - m) * x i + - (2 * (mu - m) * mu))) (seq 0 d))).
  - f_equal; apply map_ext; intros; ring.
  - rewrite (sum_plus _ (fun i => (x i - mu) ^ 2 + (m - mu) ^ 2)), (sum_plus _ (fun i => 2 * (mu - m) * x i)).
    rewrite sum_scale, (sum_const _ (- (2 * (mu - m) * mu))), seq_length. fold (all d x). rewrite X. ring. }
unfold mean at 1 2; rewrite E; field; lra.
Qed.

(** The second pass, about any of the means. *)
Definition two_passes (means : R -> Prop) v := exists m, means m /\ mean_square u w d x m v.

Theorem two_passes_bound (means : R -> Prop) al : let mu := mean d x in (forall m, means m -> Rabs (m - mu) <= al) ->
  forall v, two_passes means v -> 0 <= v -> low mu al <= v <= high mu al.
Proof. intros mu M v (m & Hm & Q) V. apply low_high with (m := m); auto. apply shifted. Qed.

Definition in_layer_norm_family al := let mu := mean d x in in_family mu al (low mu al) (high mu al).

Theorem layer_norm_never_accused (means : R -> Prop) al : (forall m, means m -> Rabs (m - mean d x) <= al) ->
  0 < D pl (low (mean d x) al) eps -> kernel means (two_passes means) anyhow ->
  in_layer_norm_family al (slack (mean d x) al).
Proof. intros M. apply never_accused; auto; [apply two_passes_bound; auto|apply Rmax_l]. Qed.

(** ** RMSNorm: nothing is subtracted *)

Definition rms_norm := kernel (eq 0) (mean_square u w d x 0) (subtracting).
Definition in_rms_norm_family := in_family 0 0 (low 0 0) (high 0 0) (subtracted_slack 0 0).

Theorem rms_norm_bound v : mean_square u w d x 0 v -> 0 <= v -> low 0 0 <= v <= high 0 0.
Proof.
intros Q V. apply low_high with (m := 0); auto; [rewrite Rminus_0_r, Rabs_R0; lra|]. unfold variance, deviation. ring.
Qed.

Theorem rms_norm_never_accused : 0 < D pl (low 0 0) eps -> rms_norm -> in_rms_norm_family.
Proof.
apply subtracting_never_accused; [|apply rms_norm_bound|apply Rmax_l].
intros m <-. rewrite Rminus_0_r, Rabs_R0; lra.
Qed.

End Family.
