(** Kernels in binary floating point, gradual underflow included, are instances of the relations: by Flocq. *)
From Flocq Require Import Core Plus_error Relative.
From Rounding Require Export Family.

Section Floats.

(** The format that is computed with: smallest exponent and bits of significand; below, that of the output. *)
Variables emin prec emin' prec' : Z.
Context (prec_pos : Prec_gt_0 prec) (prec_pos' : Prec_gt_0 prec').
Hypothesis range : (2 <= prec /\ emin + 2 * prec <= 2)%Z.

Notation pow2 := (bpow radix2).
Definition format x := generic_format radix2 (FLT_exp emin prec) x.
Definition fl x := round radix2 (FLT_exp emin prec) ZnearestE x.
Definition u := / 2 * pow2 (- prec + 1).
Definition w := / 2 * pow2 emin.
Definition om := pow2 (emin + prec - 1).

Lemma u_pos : 0 <= u.
Proof. apply Rmult_le_pos; [lra|apply bpow_ge_0]. Qed.

Lemma w_pos : 0 <= w.
Proof. apply Rmult_le_pos; [lra|apply bpow_ge_0]. Qed.

Lemma om_pos : 0 <= om.
Proof. apply bpow_ge_0. Qed.

Lemma w_small : w <= u * om.
Proof. unfold w, u, om. rewrite Rmult_assoc, <- bpow_plus. right; do 2 f_equal; ring. Qed.

Lemma format_fl x : format (fl x).
Proof. apply generic_format_round; [apply FLT_exp_valid; auto|apply valid_rnd_N]. Qed.

Lemma near_fl z : near u w z (fl z).
Proof.
destruct (error_N_FLT radix2 emin prec prec_pos (fun n => negb (Z.even n)) z) as (d & e & D & E & _ & H). now exists d, e.
Qed.

Lemma near_refl z : near u 0 z z.
Proof. exists 0, 0. rewrite Rabs_R0. generalize u_pos; repeat split; try lra. Qed.

Lemma near_plus x y : format x -> format y -> near u 0 (x + y) (fl (x + y)).
Proof.
intros X Y. destruct (FLT_plus_error_N_ex radix2 emin prec (fun n => negb (Z.even n)) x y X Y) as (d & D & H).
exists d, 0. rewrite Rabs_R0. repeat split; [|lra|unfold fl; rewrite H; ring].
apply Rle_trans with (1 := D). apply u_rod1pu_ro_le_u_ro.
Qed.

Lemma format_opp x : format x -> format (- x).
Proof. apply generic_format_opp. Qed.

Lemma near_minus x y : format x -> format y -> near u 0 (x - y) (fl (x - y)).
Proof. intros; apply near_plus; auto. now apply format_opp. Qed.

Lemma near_normal z : om <= Rabs z -> near u 0 z (fl z).
Proof.
intros Z. destruct (relative_error_N_FLT_ex radix2 emin prec prec_pos (fun n => negb (Z.even n)) z Z) as (d & D & H).
exists d, 0. rewrite Rabs_R0. repeat split; [exact D|lra|unfold fl; rewrite H; ring].
Qed.

Lemma fl_le x y : x <= y -> fl x <= fl y.
Proof. apply round_le; [apply FLT_exp_valid; auto|apply valid_rnd_N]. Qed.

Lemma fl_pos x : 0 <= x -> 0 <= fl x.
Proof. intros H. apply fl_le in H. unfold fl in H at 1. rewrite round_0 in H; auto; apply valid_rnd_N. Qed.

Lemma fl_pow2 e : (emin <= e)%Z -> fl (pow2 e) = pow2 e.
Proof. intros. apply round_generic; [apply valid_rnd_N|]. apply generic_format_FLT_bpow; auto. Qed.

(** ** The kernels *)

Fixpoint fl_sum t o := match o with Leaf i => t i | Node a b => fl (fl_sum t a + fl_sum t b) end.

Lemma fl_sum_format t o : (forall i, format (t i)) -> format (fl_sum t o).
Proof. intros; destruct o; simpl; auto. apply format_fl. Qed.

Lemma fl_sum_sums t o : (forall i, format (t i)) -> sums u t o (fl_sum t o).
Proof.
intros H; induction o; simpl; [constructor|]. econstructor; eauto. apply near_plus; apply fl_sum_format; auto.
Qed.

Lemma fl_sum_pos t o : (forall i, 0 <= t i) -> 0 <= fl_sum t o.
Proof. intros H; induction o; simpl; auto. apply fl_pos; lra. Qed.

Variables (d : nat) (x g b : nat -> R) (eps : R) (o o' : order).

Definition fl_mean := fl (fl_sum x o / INR d).
Definition fl_square m := fl (fl_sum (fun i => fl (fl (x i - m) * fl (x i - m))) o' / INR d).
Definition fl_scale v := fl (/ fl (sqrt (fl (v + fl eps)))).
Definition store z := round radix2 (FLT_exp emin' prec') ZnearestE z.
Definition half_ulp y := / 2 * ulp radix2 (FLT_exp emin' prec') y.

(** (x - m) r g + b, and x (g r) + (b - m (g r)); RMSNorm. *)
Definition fl_layer_norm i :=
  let m := fl_mean in store (fl (fl (fl (fl (x i - m) * fl_scale (fl_square m)) * g i) + b i)).
Definition fl_folded_layer_norm i :=
  let m := fl_mean in let s := fl (g i * fl_scale (fl_square m)) in store (fl (fl (x i * s) + fl (b i - fl (m * s)))).
Definition fl_rms_norm i := store (fl (fl (fl (x i * fl_scale (fl_square 0)) * g i) + b i)).

Hypothesis d_pos : (1 <= d)%nat.
Hypothesis x_format : forall i, format (x i).
Hypothesis b_format : forall i, format (b i).
Hypothesis orders : order_of d o /\ order_of d o'.
Hypothesis guard : INR d * guard_terms * u + guard_rest * u < / 2.
Hypothesis eps_normal : om <= eps.

Lemma store_half z : Rabs (store z - z) <= half_ulp (store z).
Proof. apply error_le_half_ulp_round; [apply FLT_exp_valid; auto|apply FLT_exp_monotone]. Qed.

Lemma mean_divided : divided_mean u w d x fl_mean.
Proof. exists o, (fl_sum x o). split; [apply orders|split; [apply fl_sum_sums; auto|apply near_fl]]. Qed.

Lemma mean_near m : divided_mean u w d x m -> Rabs (m - mean d x) <= divided_alpha u om d x.
Proof. apply divided_mean_error; auto using u_pos, w_pos, w_small, om_pos. Qed.

Lemma square_average m : format m -> mean_square u w d x m (fl_square m) /\ 0 <= fl_square m.
Proof.
intros M; split.
- exists (fun i => fl (x i - m)), (fun i => fl (fl (x i - m) * fl (x i - m))). repeat split; intros.
  + apply near_minus; auto.
  + apply near_fl.
  + eapply Means.multiplied; [apply (proj2 orders)|apply fl_sum_sums; intros; apply format_fl|apply near_refl|exact (near_fl _)].
- apply fl_pos, Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, lt_0_INR; lia].
  apply fl_sum_pos; intros; apply fl_pos. apply Rle_0_sqr.
Qed.

Lemma om_gt_0 : 0 < om.
Proof. apply bpow_gt_0. Qed.

Lemma scale_reciprocal v : format v -> 0 <= v -> v + eps <= pow2 (- 2 * (emin + prec)) ->
  reciprocal u inside v eps (fl_scale v).
Proof.
intros V V0 B. assert (u20 := u_small u d u_pos d_pos guard). assert (u0 := u_pos). assert (om0 := om_gt_0).
exists (fl eps). split; [apply near_normal; rewrite Rabs_pos_eq; lra|].
exists (fl (v + fl eps)). split; [apply near_plus; auto; apply format_fl|].
assert (om_fl : fl om = om) by (apply fl_pow2; unfold Prec_gt_0 in *; lia).
assert (E : om <= fl eps) by (rewrite <- om_fl; apply fl_le; auto).
set (a := fl (v + fl eps)).
assert (A1 : om <= a).
{ rewrite <- om_fl. apply fl_le; lra. }
assert (A2 : a <= pow2 (- 2 * (emin + prec) + 1)).
{ assert (fe : fl eps <= eps * (1 + u)).
  { destruct (near_sum _ _ _ (near_normal eps ltac:(rewrite Rabs_pos_eq; lra))) as (t & T & ->).
    apply Rmult_le_compat_l; [lra|]. generalize (Rle_abs t); lra. }
  unfold a. rewrite <- (fl_pow2 (- 2 * (emin + prec) + 1)) by (unfold Prec_gt_0 in *; lia). apply fl_le.
  rewrite bpow_plus. change (pow2 1) with 2.
  assert (eps * u <= eps * 1) by (apply Rmult_le_compat_l; lra). lra. }
set (s := fl (sqrt a)).
assert (S1 : near u 0 (sqrt a) s).
{ apply near_normal. rewrite Rabs_pos_eq by apply sqrt_pos. unfold om in *.
  rewrite <- (sqrt_square (pow2 (emin + prec - 1))) by apply bpow_ge_0. apply sqrt_le_1_alt.
  apply Rle_trans with (2 := A1). rewrite <- bpow_plus. apply bpow_le. unfold Prec_gt_0 in *; lia. }
assert (ra : 0 < sqrt a) by (apply sqrt_lt_R0; lra).
destruct (near_sum _ _ _ S1) as (p & P & Ps).
assert (P' : - u <= p <= u) by (revert P; unfold Rabs; destruct Rcase_abs; lra).
assert (s0 : 0 < s) by (rewrite Ps; apply Rmult_lt_0_compat; lra).
assert (S2 : near u 0 (/ s) (fl (/ s))).
{ apply near_normal. rewrite Rabs_pos_eq by (apply Rlt_le, Rinv_0_lt_compat; auto). unfold om.
  replace (emin + prec - 1)%Z with (- (- (emin + prec) + 1))%Z by ring. rewrite bpow_opp. apply Rinv_le_contravar; auto.
  unfold s; rewrite <- (fl_pow2 (- (emin + prec) + 1)) by (unfold Prec_gt_0 in *; lia). apply fl_le.
  rewrite <- (sqrt_square (pow2 (- (emin + prec) + 1))) by apply bpow_ge_0. apply sqrt_le_1_alt.
  apply Rle_trans with (1 := A2). rewrite <- bpow_plus. apply bpow_le. lia. }
destruct (near_sum _ _ _ S2) as (q & Q & Qr). unfold fl_scale. fold a s. rewrite Qr, Ps.
assert (Q' : - u <= q <= u) by (revert Q; unfold Rabs; destruct Rcase_abs; lra).
replace (/ (sqrt a * (1 + p)) * (1 + q) - / sqrt a) with (/ sqrt a * ((q - p) / (1 + p))) by (field; lra).
rewrite Rabs_mult, Rabs_pos_eq by (apply Rlt_le, Rinv_0_lt_compat; auto). rewrite Rmult_comm.
apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|].
unfold Rdiv; rewrite Rabs_mult, (Rabs_pos_eq (/ _)) by (apply Rlt_le, Rinv_0_lt_compat; lra).
apply Rmult_le_reg_r with (1 + p); [lra|]. rewrite Rmult_assoc, Rinv_l by lra.
apply Rle_trans with (2 * u); [|nra]. unfold Rabs; destruct Rcase_abs; lra.
Qed.

Hypothesis variance_range : fl_square fl_mean + eps <= pow2 (- 2 * (emin + prec)).

Let low_D mu A : 0 < D inside (low u om d x mu A) eps.
Proof.
simpl. apply sqrt_lt_R0. generalize (Rmax_l 0 (variance d x mu * (1 - square * u) - square_error u om d x mu A)) om_gt_0.
unfold low. lra.
Qed.

Let fl_kernel y out : returns d half_ulp y (out fl_mean (fl_scale (fl_square fl_mean))) ->
  kernel u d inside eps half_ulp y (divided_mean u w d x) (two_passes u w d x (divided_mean u w d x)) out.
Proof.
destruct (square_average fl_mean (format_fl _)) as [Q V].
exists fl_mean, (fl_square fl_mean), (fl_scale (fl_square fl_mean)). repeat split; auto using mean_divided.
- exists fl_mean; auto using mean_divided.
- apply scale_reciprocal; auto. apply format_fl.
Qed.

Theorem layer_norm_accepted : in_layer_norm_family u om d inside eps half_ulp x g b fl_layer_norm (divided_alpha u om d x)
  (subtracted_slack u om x g b (mean d x) (divided_alpha u om d x)).
Proof.
apply subtracting_never_accused with (w := w) (means := divided_mean u w d x) (squares := two_passes u w d x (divided_mean u w d x));
  [apply u_pos|apply w_pos|exact d_pos|apply w_small|apply om_pos|exact guard|generalize om_gt_0; lra|exact mean_near
  |apply two_passes_bound; auto using u_pos, w_pos, w_small, om_pos, mean_near|apply Rmax_l|apply low_D|].
apply fl_kernel. intros i _. exists (fl (fl (fl (fl (x i - fl_mean) * fl_scale (fl_square fl_mean)) * g i) + b i)).
split; [|apply store_half]. exists (fl (x i - fl_mean)), (fl (fl (fl (x i - fl_mean) * fl_scale (fl_square fl_mean)) * g i)).
repeat split.
- apply near_minus; auto. apply format_fl.
- eapply scale_first; apply near_fl.
- apply near_plus; auto. apply format_fl.
Qed.

Theorem folded_layer_norm_accepted : in_layer_norm_family u om d inside eps half_ulp x g b fl_folded_layer_norm
  (divided_alpha u om d x)
  (slack u om x g b (mean d x) (divided_alpha u om d x)).
Proof.
apply layer_norm_never_accused with (w := w) (means := divided_mean u w d x);
  [apply u_pos|apply w_pos|exact d_pos|apply w_small|apply om_pos|exact guard|generalize om_gt_0; lra|exact mean_near|apply low_D|].
apply fl_kernel. intros i _. eexists; split; [|apply store_half].
eapply folded; [eapply gain_in_scale; apply near_fl|eapply gain_in_scale; apply near_fl| |].
- apply near_minus; auto. apply format_fl.
- apply near_plus; apply format_fl.
Qed.

Theorem rms_norm_accepted : fl_square 0 + eps <= pow2 (- 2 * (emin + prec)) ->
  in_rms_norm_family u om d inside eps half_ulp x g b fl_rms_norm.
Proof.
intros B. apply rms_norm_never_accused with (w := w);
  [apply u_pos|apply w_pos|exact d_pos|apply w_small|apply om_pos|exact guard|generalize om_gt_0; lra|apply low_D|].
destruct (square_average 0 (generic_format_0 _ _)) as [Q V].
exists 0, (fl_square 0), (fl_scale (fl_square 0)). repeat split; auto. { apply scale_reciprocal; auto. apply format_fl. }
intros i _. eexists; split; [|apply store_half]. exists (x i), (fl (fl (x i * fl_scale (fl_square 0)) * g i)).
repeat split.
- rewrite Rminus_0_r. apply near_refl.
- eapply scale_first; apply near_fl.
- apply near_plus; auto. apply format_fl.
Qed.

End Floats.
