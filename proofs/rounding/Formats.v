(** The theorem for the formats that models are stored in, without parameters of formats. *)
From Flocq Require Import Core.
From Rounding Require Export Floats.

(** How outputs are stored; half formats are computed in float32. *)
Inductive stored := float16 | bfloat16 | float32 | float64.

Definition emin f := match f with float16 => -24 | bfloat16 => -133 | float32 => -149 | float64 => -1074 end%Z.
Definition prec f := match f with float16 => 11 | bfloat16 => 8 | float32 => 24 | float64 => 53 end%Z.
Definition work f := match f with float64 => float64 | _ => float32 end.

(** The largest d: 4,194,299 in float32. *)
Definition few f (d : nat) := (1 <= d)%nat /\ (2 * Z.of_nat d + 8 < 2 ^ (prec (work f) - 1))%Z.

Section Stored.

Variables (f : stored) (d : nat) (x g b : nat -> R) (eps : R) (o o' : order).
Notation e := (emin (work f)).
Notation p := (prec (work f)).
Hypothesis d_few : few f d.
Hypothesis x_format : forall i, format e p (x i).
Hypothesis b_format : forall i, format e p (b i).
Hypothesis orders : order_of d o /\ order_of d o'.
Hypothesis eps_normal : om e p <= eps.

Lemma prec_pos h : Prec_gt_0 (prec h).
Proof. destruct h; reflexivity. Qed.

Lemma range : (2 <= p /\ e + 2 * p <= 2)%Z.
Proof. destruct f; simpl; lia. Qed.

Lemma guard : INR d * guard_terms * u p + guard_rest * u p < / 2.
Proof.
unfold guard_terms, guard_rest, u. replace (bpow radix2 (- p + 1)) with (/ IZR (2 ^ (p - 1))).
2: { replace (- p + 1)%Z with (- (p - 1))%Z by ring. rewrite bpow_opp, <- IZR_Zpower; [reflexivity|destruct f; simpl; lia]. }
destruct d_few as [_ B]. apply IZR_lt in B. rewrite plus_IZR, mult_IZR, <- INR_IZR_INZ in B.
assert (0 < IZR (2 ^ (p - 1))) by (apply IZR_lt; destruct f; reflexivity).
apply Rmult_lt_reg_r with (IZR (2 ^ (p - 1))); auto. field_simplify; lra.
Qed.

Notation accepted := (in_layer_norm_family (u p) (om e p) d inside eps (half_ulp (emin f) (prec f)) x g b).

Theorem layer_norm_accepted : fl_square e p d x o' (fl_mean e p d x o) + eps <= bpow radix2 (- 2 * (e + p)) ->
  accepted (fl_layer_norm e p (emin f) (prec f) d x g b eps o o')
    (divided_alpha (u p) (om e p) d x)
    (subtracted_slack (u p) (om e p) x g b (mean d x) (divided_alpha (u p) (om e p) d x)).
Proof.
intros V; apply Floats.layer_norm_accepted; auto using prec_pos, range, guard; apply d_few.
Qed.

(** x(g r) + (b - m(g r)), the formula of Keras and of tf.nn.batch_normalization. *)
Theorem folded_layer_norm_accepted : fl_square e p d x o' (fl_mean e p d x o) + eps <= bpow radix2 (- 2 * (e + p)) ->
  accepted (fl_folded_layer_norm e p (emin f) (prec f) d x g b eps o o')
    (divided_alpha (u p) (om e p) d x)
    (slack (u p) (om e p) x g b (mean d x) (divided_alpha (u p) (om e p) d x)).
Proof.
intros V; apply Floats.folded_layer_norm_accepted; auto using prec_pos, range, guard; apply d_few.
Qed.

Theorem rms_norm_accepted : fl_square e p d x o' 0 + eps <= bpow radix2 (- 2 * (e + p)) ->
  in_rms_norm_family (u p) (om e p) d inside eps (half_ulp (emin f) (prec f)) x g b
    (fl_rms_norm e p (emin f) (prec f) d x g b eps o').
Proof.
intros V; apply Floats.rms_norm_accepted with (o := o); auto using prec_pos, range, guard; apply d_few.
Qed.

End Stored.
