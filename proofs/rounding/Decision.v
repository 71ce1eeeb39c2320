(** The decision: four positive numbers show that no scale p and no shift q are left, and then no correct kernel is. *)
Require Import Reals Lra Lia.
Require Import Constants Sums Means Components Family.
Local Open Scope R_scope.

(** A component i with gain g and error E confines q, l <= p c - q <= h; the bound of q does as well, with c = 0. *)
Definition line (c k p : R) := p * c - k.

Lemma Rabs_le_inv a b : Rabs a <= b -> - b <= a <= b.
Proof. unfold Rabs; destruct Rcase_abs; lra. Qed.

Section Decision.

Variables (u w om : R) (d : nat).
Hypothesis u_pos : 0 <= u.
Hypothesis w_pos : 0 <= w.
Hypothesis d_pos : (1 <= d)%nat.
Hypothesis w_small : w <= u * om.
Hypothesis om_pos : 0 <= om.
Hypothesis guard : INR d * guard_terms * u + guard_rest * u < / 2.
Variables (pl : placement) (eps : R) (half : R -> R) (x g b y : nat -> R).
Hypothesis eps_pos : 0 <= eps.

(** Any numbers that favour the kernel: [left, right] around the scales, reach around the shifts, e around the errors. *)
Variables (mu A lo hi : R) (E : R -> nat -> R) (left right reach : R) (e : nat -> R).
Hypothesis left_le : left <= (1 - scale * u) / D pl hi eps.
Hypothesis right_ge : (1 + scale * u) / D pl lo eps <= right.
Hypothesis reach_ge : forall p, left <= p <= right -> p * A <= reach.
Hypothesis e_ge : forall i, (i < d)%nat -> E ((1 + scale * u) / D pl lo eps) i + half (y i) <= e i.

Let c i := deviation x mu i.

(** q is at least p c - k where (c, k) is an upper line; at most where it is a lower one. *)
Inductive upper : R -> R -> Prop :=
  | upper_gain i : (i < d)%nat -> 0 < g i -> upper (c i) ((y i - b i + e i) / g i)
  | upper_loss i : (i < d)%nat -> g i < 0 -> upper (c i) ((y i - b i - e i) / g i)
  | upper_reach : upper 0 reach.
Inductive lower : R -> R -> Prop :=
  | lower_gain i : (i < d)%nat -> 0 < g i -> lower (c i) ((y i - b i - e i) / g i)
  | lower_loss i : (i < d)%nat -> g i < 0 -> lower (c i) ((y i - b i + e i) / g i)
  | lower_reach : lower 0 (- reach).

(** The gap of two lines is linear in p. Two gaps, of which one is positive on [left, middle] and the other on
    [middle, right], as four numbers show. *)
Definition gap c1 k1 c2 k2 p := line c1 k1 p - line c2 k2 p.

Inductive refuted : Prop :=
  | refuted_by_tangents middle c1 k1 c2 k2 c3 k3 c4 k4 :
      upper c1 k1 -> lower c2 k2 -> upper c3 k3 -> lower c4 k4 ->
      0 < gap c1 k1 c2 k2 left -> 0 < gap c1 k1 c2 k2 middle ->
      0 < gap c3 k3 c4 k4 middle -> 0 < gap c3 k3 c4 k4 right -> refuted
  | refuted_by_bias i : (i < d)%nat -> g i = 0 -> e i < Rabs (y i - b i) -> refuted.

Lemma gap_between c1 k1 c2 k2 p a z : 0 < gap c1 k1 c2 k2 a -> 0 < gap c1 k1 c2 k2 z -> a <= p <= z -> 0 < gap c1 k1 c2 k2 p.
Proof. unfold gap, line; intros; destruct (Rle_lt_dec 0 (c1 - c2)); nra. Qed.

Theorem refuted_outside : refuted -> ~ in_family u d pl eps half x g b y mu A lo hi E.
Proof.
intros F (p & q & [P1 P2] & Q & Y).
assert (P : left <= p <= right) by lra.
assert (B : forall i, (i < d)%nat -> Rabs (y i - (g i * (p * c i - q) + b i)) <= e i).
{ intros i I; apply Rle_trans with (1 := Y i I), e_ge, I. }
assert (Q' : - reach <= q <= reach).
{ specialize (reach_ge p P). apply Rabs_le_inv. lra. }
assert (le_div : forall t n s, 0 < s -> t * s <= n -> t <= n / s).
{ intros t n s S H. apply Rmult_le_reg_r with (1 := S). replace (n / s * s) with n by (field; lra). auto. }
assert (div_le : forall t n s, 0 < s -> n <= t * s -> n / s <= t).
{ intros t n s S H. apply Rmult_le_reg_r with (1 := S). replace (n / s * s) with n by (field; lra). auto. }
assert (neg : forall n s, s < 0 -> n / s = (- n) / (- s)) by (intros; field; lra).
assert (U : forall c' k, upper c' k -> p * c' - k <= q).
{ intros c' k [i I G|i I G|]; [| |lra]; specialize (B i I); apply Rabs_le_inv in B.
  - assert (p * c i - q <= (y i - b i + e i) / g i) by ((apply le_div || apply div_le); lra). lra.
  - rewrite neg by auto. assert (p * c i - q <= (- (y i - b i - e i)) / - g i) by ((apply le_div || apply div_le); lra). lra. }
assert (L : forall c' k, lower c' k -> q <= p * c' - k).
{ intros c' k [i I G|i I G|]; [| |lra]; specialize (B i I); apply Rabs_le_inv in B.
  - assert ((y i - b i - e i) / g i <= p * c i - q) by ((apply le_div || apply div_le); lra). lra.
  - rewrite neg by auto. assert ((- (y i - b i + e i)) / - g i <= p * c i - q) by ((apply le_div || apply div_le); lra). lra. }
destruct F as [middle c1 k1 c2 k2 c3 k3 c4 k4 U1 L2 U3 L4 G1 G2 G3 G4|i I G H].
- apply U in U1, U3. apply L in L2, L4. destruct (Rle_lt_dec p middle).
  + assert (0 < gap c1 k1 c2 k2 p) by (apply gap_between with left middle; auto; lra). unfold gap, line in *. lra.
  + assert (0 < gap c3 k3 c4 k4 p) by (apply gap_between with middle right; auto; lra). unfold gap, line in *. lra.
- specialize (B i I). rewrite G, Rmult_0_l, Rplus_0_l in B. lra.
Qed.

End Decision.

Section Accused.

Variables (u w om : R) (d : nat).
Hypothesis u_pos : 0 <= u.
Hypothesis w_pos : 0 <= w.
Hypothesis d_pos : (1 <= d)%nat.
Hypothesis w_small : w <= u * om.
Hypothesis om_pos : 0 <= om.
Hypothesis guard : INR d * guard_terms * u + guard_rest * u < / 2.
Variables (pl : placement) (eps : R) (half : R -> R) (x g b y : nat -> R).
Hypothesis eps_pos : 0 <= eps.
Variables (left right reach : R) (e : nat -> R).

(** Whoever is accused is no correct kernel. *)
Theorem accused_is_wrong (means : R -> Prop) al :
  let mu := mean d x in (forall m, means m -> Rabs (m - mu) <= al) ->
  let lo := low u om d x mu al in let hi := high u om d x mu al in
  0 < D pl lo eps ->
  left <= (1 - scale * u) / D pl hi eps -> (1 + scale * u) / D pl lo eps <= right ->
  (forall p, left <= p <= right -> p * al <= reach) ->
  (forall i, (i < d)%nat -> slack u om x g b mu al ((1 + scale * u) / D pl lo eps) i + half (y i) <= e i) ->
  refuted d x g b y mu left right reach e ->
  ~ layer_norm u w d pl eps half x y means (anyhow u w x g b).
Proof.
intros mu M lo hi P L R Q H F K.
apply (refuted_outside u d pl eps half x g b y mu al lo hi (slack u om x g b mu al) left right reach e); auto.
apply layer_norm_never_accused with (w := w) (means := means); auto.
Qed.

Theorem accused_rms_is_wrong :
  let lo := low u om d x 0 0 in let hi := high u om d x 0 0 in
  0 < D pl lo eps ->
  left <= (1 - scale * u) / D pl hi eps -> (1 + scale * u) / D pl lo eps <= right -> 0 <= reach ->
  (forall i, (i < d)%nat -> subtracted_slack u om x g b 0 0 ((1 + scale * u) / D pl lo eps) i + half (y i) <= e i) ->
  refuted d x g b y 0 left right reach e ->
  ~ rms_norm u w d pl eps half x g b y.
Proof.
intros lo hi P L R Q H F K.
apply (refuted_outside u d pl eps half x g b y 0 0 lo hi (subtracted_slack u om x g b 0 0) left right reach e); auto.
{ intros; lra. }
apply rms_norm_never_accused with (w := w); auto.
Qed.

End Accused.
