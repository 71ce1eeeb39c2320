(** The decision: four positive numbers show that no scale p and no shift q are left, and then no correct kernel is. *)
From Rounding Require Export Family.

Section Decision.

Variables (u : R) (d : nat).
Variables (pl : placement) (eps : R) (half : R -> R) (x g b y : nat -> R).

(** Any numbers that favour the kernel: scales p = d t with t in [left, right], reach around the shifts, e around the
    errors. Counted in units of d, the deviations are numbers of the format of x: no division is left. *)
Variables (mu A lo hi : R) (E : R -> nat -> R) (left right reach : R) (e : nat -> R).
Hypothesis d_pos : (1 <= d)%nat.
Hypothesis A_pos : 0 <= A.
Hypothesis left_le : INR d * left <= (1 - scale * u) / D pl hi eps.
Hypothesis right_ge : (1 + scale * u) / D pl lo eps <= INR d * right.
Hypothesis reach_ge : INR d * right * A <= reach.
Hypothesis e_ge : forall i, (i < d)%nat -> E ((1 + scale * u) / D pl lo eps) i + half (y i) <= e i.

Definition times_d i := INR d * deviation x mu i.

(** What the gap of two lines confines: [upper w n k] says t n - k <= w q, and [lower w n k] that w q <= t n - k. A
    component with gain g does both, in the sign s of g, and the bound of q does. *)
Inductive upper : R -> R -> R -> Prop :=
  | upper_component i s : (i < d)%nat -> s = 1 \/ s = -1 ->
      upper (s * g i) (s * g i * times_d i) (s * (y i - b i) + e i)
  | upper_reach : upper 1 0 reach.
Inductive lower : R -> R -> R -> Prop :=
  | lower_component i s : (i < d)%nat -> s = 1 \/ s = -1 ->
      lower (s * g i) (s * g i * times_d i) (s * (y i - b i) - e i)
  | lower_reach : lower 1 0 (- reach).

Definition gap w1 n1 k1 w2 n2 k2 t := (t * n1 - k1) * w2 - (t * n2 - k2) * w1.

(** Two gaps, linear in t, of which one is positive on [left, middle] and the other on [middle, right], as four numbers
    show; or a component without gain that is not its bias. *)
Inductive tangent (s t : R) : Prop :=
  tangent_of w1 n1 k1 w2 n2 k2 : 0 < w1 -> 0 < w2 -> upper w1 n1 k1 -> lower w2 n2 k2 ->
    0 < gap w1 n1 k1 w2 n2 k2 s -> 0 < gap w1 n1 k1 w2 n2 k2 t -> tangent s t.

Inductive refuted : Prop :=
  | refuted_by_tangents middle : tangent left middle -> tangent middle right -> refuted
  | refuted_by_bias i : (i < d)%nat -> g i = 0 -> e i < Rabs (y i - b i) -> refuted.

Theorem refuted_outside : refuted -> ~ in_family u d pl eps half x g b y mu A lo hi E.
Proof.
intros F (p & q & [P1 P2] & Q & Y). assert (d0 : 0 < INR d) by (apply lt_0_INR; lia).
set (t := p / INR d). assert (pt : p = INR d * t) by (unfold t; field; lra).
assert (t_in : left <= t <= right).
{ split; apply Rmult_le_reg_l with (1 := d0); rewrite <- pt; lra. }
assert (B : forall i, (i < d)%nat -> - e i <= y i - b i - g i * (t * times_d i) + g i * q <= e i).
{ intros i I. replace (_ + g i * q) with (y i - (g i * (p * deviation x mu i - q) + b i)) by (unfold times_d; rewrite pt; ring).
  assert (Rabs (y i - (g i * (p * deviation x mu i - q) + b i)) <= e i) by (apply Rle_trans with (1 := Y i I); auto).
  revert H; unfold Rabs; destruct Rcase_abs; lra. }
assert (Q' : - reach <= q <= reach).
{ assert (p * A <= INR d * right * A) by (apply Rmult_le_compat_r; auto; lra).
  revert Q; unfold Rabs; destruct Rcase_abs; lra. }
assert (U : forall w n k, upper w n k -> t * n - k <= w * q).
{ intros w n k [i s I [-> | ->]|]; [specialize (B i I); lra..|lra]. }
assert (L : forall w n k, lower w n k -> w * q <= t * n - k).
{ intros w n k [i s I [-> | ->]|]; [specialize (B i I); lra..|lra]. }
assert (T : forall s s', tangent s s' -> s <= t <= s' -> False).
{ intros s s' [w1 n1 k1 w2 n2 k2 W1 W2 U1 L2 G1 G2] [S1 S2]. apply U in U1. apply L in L2.
  apply (Rmult_le_compat_r w2) in U1; [|lra]. apply (Rmult_le_compat_r w1) in L2; [|lra].
  unfold gap in *. destruct (Rle_lt_dec 0 (n1 * w2 - n2 * w1)); nra. }
destruct F as [middle T1 T2|i I G H].
- destruct (Rle_lt_dec t middle); [apply (T _ _ T1)|apply (T _ _ T2)]; lra.
- specialize (B i I). rewrite G in B. revert H; unfold Rabs; destruct Rcase_abs; lra.
Qed.

End Decision.
