(** The scale of a row, and one component of its output. *)
From Rounding Require Export Means.

Section Components.

Variables u w om : R.
Hypothesis u_pos : 0 <= u.
Hypothesis u_small : u <= / 20.
Hypothesis w_pos : 0 <= w.
Hypothesis w_small : w <= u * om.
Hypothesis om_pos : 0 <= om.

(** ** The scale *)

Inductive placement := inside | outside.

Definition D pl v eps := match pl with inside => sqrt (v + eps) | outside => sqrt v + eps end.

(** r is a computed 1/D: ε may be rounded, the root and its reciprocal may be approximate. *)
Definition reciprocal pl v eps r := exists e, near u 0 eps e /\ match pl with
  | inside => exists a, near u 0 (v + e) a /\ Rabs (r - / sqrt a) <= 6 * u * / sqrt a
  | outside => exists s a, near u 0 (sqrt v) s /\ near u 0 (s + e) a /\ Rabs (r - / a) <= 5 * u * / a
  end.

Let between e : Rabs e <= u -> 1 - u <= 1 + e <= 1 + u.
Proof. unfold Rabs; destruct Rcase_abs; lra. Qed.

Let within L H A r k l : 0 < L -> (1 - u) ^ k * L <= A <= (1 + u) ^ k * H -> Rabs (r - / A) <= l * u * / A ->
  (1 - 8 * u) * (1 + u) ^ k <= 1 - l * u -> 1 + l * u <= (1 + 8 * u) * (1 - u) ^ k -> 0 <= 1 + l * u -> 0 < H ->
  (1 - scale * u) / H <= r <= (1 + scale * u) / L.
Proof.
unfold scale; intros L0 [AL AH] R B T l0 H0. assert (0 < (1 - u) ^ k) by (apply pow_lt; lra).
assert (0 < (1 + u) ^ k) by (apply pow_lt; lra).
assert (A0 : 0 < A) by (apply Rlt_le_trans with (2 := AL), Rmult_lt_0_compat; auto).
assert (Hr : (1 - l * u) * / A <= r <= (1 + l * u) * / A) by (revert R; unfold Rabs; destruct Rcase_abs; lra).
split.
- apply Rle_trans with (2 := proj1 Hr). apply Rmult_le_reg_r with (H * A); [apply Rmult_lt_0_compat; auto|].
  replace ((1 - 8 * u) / H * (H * A)) with ((1 - 8 * u) * A) by (field; lra).
  replace ((1 - l * u) * / A * (H * A)) with ((1 - l * u) * H) by (field; lra).
  apply Rle_trans with ((1 - 8 * u) * ((1 + u) ^ k * H)); [apply Rmult_le_compat_l; lra|].
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra.
- apply Rle_trans with (1 := proj2 Hr). apply Rmult_le_reg_r with (L * A); [apply Rmult_lt_0_compat; auto|].
  replace ((1 + 8 * u) / L * (L * A)) with ((1 + 8 * u) * A) by (field; lra).
  replace ((1 + l * u) * / A * (L * A)) with ((1 + l * u) * L) by (field; lra).
  apply Rle_trans with ((1 + 8 * u) * ((1 - u) ^ k * L)); [|apply Rmult_le_compat_l; lra].
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra.
Qed.

Theorem scale_bound pl v eps r lo hi : 0 <= eps -> 0 <= lo -> lo <= v <= hi -> 0 < D pl lo eps ->
  reciprocal pl v eps r -> (1 - scale * u) / D pl hi eps <= r <= (1 + scale * u) / D pl lo eps.
Proof.
intros E L [V1 V2] P (e & Ee & R). destruct (near_sum _ _ _ Ee) as (x & X & ->). apply between in X.
destruct pl; simpl in *.
- destruct R as (a & A & R). destruct (near_sum _ _ _ A) as (y & Y & ->). apply between in Y.
  assert (0 < lo + eps) by (destruct (Rle_lt_dec (lo + eps) 0); auto; rewrite sqrt_neg_0 in P; lra).
  apply within with (A := sqrt ((v + eps * (1 + x)) * (1 + y))) (k := 1%nat) (l := 6); auto; try (simpl; nra).
  + assert (low : (1 - u) * (lo + eps) <= v + eps * (1 + x)) by nra.
    assert (high : v + eps * (1 + x) <= (1 + u) * (hi + eps)) by nra. assert (0 <= (1 - u) * (lo + eps)) by nra.
    simpl; rewrite !Rmult_1_r. split.
    * rewrite <- (sqrt_square (1 - u)) by lra. rewrite <- sqrt_mult by nra. apply sqrt_le_1_alt.
      rewrite Rmult_assoc, Rmult_comm. apply Rmult_le_compat; lra.
    * rewrite <- (sqrt_square (1 + u)) by lra. rewrite <- sqrt_mult by nra. apply sqrt_le_1_alt.
      rewrite Rmult_assoc, (Rmult_comm (1 + u)). apply Rmult_le_compat; lra.
  + apply sqrt_lt_R0; lra.
- destruct R as (s & a & S & A & R). destruct (near_sum _ _ _ S) as (z & Z & ->), (near_sum _ _ _ A) as (y & Y & ->).
  apply between in Y, Z. assert (sqrt lo <= sqrt v <= sqrt hi) by (split; apply sqrt_le_1_alt; auto).
  generalize (sqrt_pos lo); intros.
  apply within with (A := (sqrt v * (1 + z) + eps * (1 + x)) * (1 + y)) (k := 2%nat) (l := 5); auto; try (simpl; nra).
  simpl; rewrite !Rmult_1_r. split.
  + assert ((1 - u) * (sqrt lo + eps) <= sqrt v * (1 + z) + eps * (1 + x)) by nra.
    assert (0 <= (1 - u) * (sqrt lo + eps)) by nra. nra.
  + assert (sqrt v * (1 + z) + eps * (1 + x) <= (1 + u) * (sqrt hi + eps)) by nra.
    assert (0 <= sqrt v * (1 + z) + eps * (1 + x)) by nra. nra.
Qed.

(** ** The component *)

(** The product of a, the gain g and the scale r, in any order. *)
Inductive product3 (a g r t : R) : Prop :=
  | scale_first s : near u w (a * r) s -> near u w (s * g) t -> product3 a g r t
  | gain_first s : near u w (a * g) s -> near u w (s * r) t -> product3 a g r t
  | gain_in_scale s : near u w (g * r) s -> near u w (a * s) t -> product3 a g r t.

(** How y comes from x, the mean m, the scale r, the gain g and the bias b. Exact steps are near, so that a fused
    multiplication and addition is one of these. *)
Inductive output (x m r g b y : R) : Prop :=
  | subtracted c t : near u 0 (x - m) c -> product3 c g r t -> near u 0 (t + b) y -> output x m r g b y
  | multiplied s t c : product3 x g r s -> product3 m g r t -> near u 0 (s - t) c -> near u 0 (c + b) y ->
      output x m r g b y
  | scaled s t c z : near u w (x * r) s -> near u w (m * r) t -> near u 0 (s - t) c -> near u w (c * g) z ->
      near u 0 (z + b) y -> output x m r g b y
  | folded s t f : product3 x g r s -> product3 m g r t -> near u 0 (b - t) f -> near u 0 (s + f) y ->
      output x m r g b y.

Let tri a b x y : Rabs a <= x -> Rabs b <= y -> Rabs (a + b) <= x + y.
Proof. intros; eapply Rle_trans; [apply Rabs_triang|lra]. Qed.

Let mul a b x y : Rabs a <= x -> Rabs b <= y -> Rabs (a * b) <= x * y.
Proof. apply product_le. Qed.

Let sub a b x y : Rabs a <= x -> Rabs b <= y -> Rabs (a - b) <= x + y.
Proof. intros; apply tri; auto. rewrite Rabs_Ropp; auto. Qed.

Let one : Rabs 1 <= 1.
Proof. rewrite Rabs_R1; lra. Qed.

(* A bound of the same shape as the expression. *)
Ltac size := repeat first [assumption | apply sub | apply tri | apply mul | apply one | apply Rle_refl].

Let product3_error a g r t : product3 a g r t ->
  exists th et, Rabs th <= 2 * u + u ^ 2 /\ Rabs et <= w * (1 + (1 + u) * (Rabs a + Rabs g + Rabs r)) /\
    t = a * g * r * (1 + th) + et.
Proof.
intros P. assert (F := factor u). assert (B : 2 * u + u ^ 2 = u * (1 + u) + u) by ring.
assert (two : forall e y z f n : R, Rabs e <= w -> Rabs y <= u -> Rabs f <= w -> Rabs z <= n ->
    Rabs (e * (1 + y) * z + f) <= w * (1 + (1 + u) * n)).
{ intros. replace (w * (1 + (1 + u) * n)) with (w * (1 + u) * n + w) by ring.
  size. }
assert (up : forall p q, Rabs p <= u -> Rabs q <= u -> Rabs (p * (1 + q) + q) <= 2 * u + u ^ 2).
{ intros; rewrite B; size. }
generalize (Rabs_pos a) (Rabs_pos g) (Rabs_pos r); intros.
destruct P as [s S T|s S T|s S T]; destruct S as (p & e & Pp & Ee & ->), T as (q & f & Qq & Ff & ->);
  exists (p * (1 + q) + q);
  [exists (e * (1 + q) * g + f)|exists (e * (1 + q) * r + f)|exists (e * (1 + q) * a + f)];
  (repeat split; [auto|apply two; auto; lra|ring]).
Qed.

(** What underflow may cost, whatever the form. *)
Definition tiny x m g p := om * (Rabs x + Rabs m + Rabs g + p + 1).

Let tiny_le x m g p a k : 0 <= p -> Rabs a <= Rabs x + Rabs m -> 0 <= k -> k <= 6 ->
  k * (w * (1 + (1 + u) * (Rabs a + Rabs g + Rabs p))) <= tiny x m g p.
Proof.
intros P A K0 K. rewrite (Rabs_pos_eq p) by auto. unfold tiny. generalize (Rabs_pos g) (Rabs_pos a); intros.
set (s := Rabs x + Rabs m + Rabs g + p + 1). assert (s0 : 0 <= s) by (unfold s; lra).
set (n := 1 + (1 + u) * (Rabs a + Rabs g + p)).
assert (n_le : 0 <= n <= (1 + u) * s).
{ assert (0 <= (1 + u) * (Rabs a + Rabs g + p)) by (apply Rmult_le_pos; lra). unfold n; split; [lra|].
  apply Rle_trans with ((1 + u) * (Rabs a + Rabs g + p + 1)); [lra|]. apply Rmult_le_compat_l; unfold s; lra. }
apply Rle_trans with (6 * (u * om * ((1 + u) * s))).
- repeat apply Rmult_le_compat; auto; try lra. apply Rmult_le_pos; lra.
- replace (6 * (u * om * ((1 + u) * s))) with (6 * (u * (1 + u)) * (om * s)) by ring.
  rewrite <- (Rmult_1_l (om * s)) at 2. apply Rmult_le_compat_r; [apply Rmult_le_pos; auto|nra].
Qed.

Let square_u : 1 + u <= (1 + u) * (1 + u) <= 3 / 2.
Proof. clear -u_pos u_small. nra. Qed.

Let tiny2 x m g p k : 0 <= p -> 0 <= k -> k <= 3 / 2 ->
  (w * (1 + (1 + u) * (Rabs x + Rabs g + Rabs p)) + w * (1 + (1 + u) * (Rabs m + Rabs g + Rabs p))) * k <= tiny x m g p.
Proof.
intros P K0 K. assert (A := tiny_le x m g p x 3 P ltac:(generalize (Rabs_pos m); lra) ltac:(lra) ltac:(lra)).
assert (B := tiny_le x m g p m 3 P ltac:(generalize (Rabs_pos x); lra) ltac:(lra) ltac:(lra)).
set (a := w * _) in *. set (c := w * (1 + (1 + u) * (Rabs m + Rabs g + Rabs p))) in *.
assert (0 <= a + c).
{ unfold a, c. rewrite <- Rmult_plus_distr_l. apply Rmult_le_pos; auto.
  generalize (Rabs_pos x) (Rabs_pos m) (Rabs_pos g) (Rabs_pos p); nra. }
apply Rle_trans with ((a + c) * (3 / 2)); [apply Rmult_le_compat_l; auto|lra].
Qed.

(** Subtraction before multiplication: five roundings of the deviation, one of the bias. *)
Theorem subtracted_error x m r g b c t y : 0 <= r -> near u 0 (x - m) c -> product3 c g r t -> near u 0 (t + b) y ->
  Rabs (y - (g * (r * (x - m)) + b)) <= component * u * (Rabs g * r * Rabs (x - m)) + u * Rabs b + tiny x m g r.
Proof.
intros R0 C P Y. destruct (near_sum _ _ _ C) as (p & Pp & ->). destruct (near_sum _ _ _ Y) as (q & Q & ->).
destruct (product3_error _ _ _ _ P) as (th & et & Th & Et & ->). assert (F := factor u).
replace ((_ + b) * (1 + q) - _) with (g * r * (x - m) * ((1 + p) * (1 + th) * (1 + q) - 1) + q * b + et * (1 + q)) by ring.
assert (Rabs ((1 + p) * (1 + th) * (1 + q) - 1) <= 5 * u).
{ replace ((1 + p) * (1 + th) * (1 + q) - 1) with (p * (1 + th) * (1 + q) + (th * (1 + q) + q)) by ring.
  apply Rle_trans with (u * (1 + (2 * u + u ^ 2)) * (1 + u) + ((2 * u + u ^ 2) * (1 + u) + u)); [|nra].
  size. }
apply tri; [apply tri|].
- replace (component * u * (Rabs g * r * Rabs (x - m))) with (Rabs g * r * Rabs (x - m) * (5 * u))
    by (unfold component; ring).
  size. rewrite Rabs_pos_eq; lra.
- size.
- apply Rle_trans with (w * (1 + (1 + u) * (Rabs ((x - m) * (1 + p)) + Rabs g + Rabs r)) * (1 + u)); [size|].
  assert (Rabs ((x - m) * (1 + p)) <= (Rabs x + Rabs m) * (1 + u)).
  { size. }
  apply Rle_trans with (2 * (w * (1 + (1 + u) * (Rabs (Rabs x + Rabs m) + Rabs g + Rabs r)))).
  2: { apply tiny_le; auto; try lra. rewrite Rabs_pos_eq; [lra|]. generalize (Rabs_pos x) (Rabs_pos m); lra. }
  rewrite (Rabs_pos_eq (Rabs x + Rabs m)) by (generalize (Rabs_pos x) (Rabs_pos m); lra).
  generalize (Rabs_pos x) (Rabs_pos m) (Rabs_pos g) (Rabs_pos r); intros.
  set (n := Rabs x + Rabs m) in *.
  replace (w * (1 + (1 + u) * (Rabs ((x - m) * (1 + p)) + Rabs g + Rabs r)) * (1 + u)) with
    (w * ((1 + u) * (1 + (1 + u) * (Rabs ((x - m) * (1 + p)) + Rabs g + Rabs r)))) by ring.
  replace (2 * (w * (1 + (1 + u) * (n + Rabs g + Rabs r)))) with (w * (2 * (1 + (1 + u) * (n + Rabs g + Rabs r)))) by ring.
  apply Rmult_le_compat_l; auto. assert (n0 : 0 <= n) by (unfold n; lra).
  set (a := Rabs ((x - m) * (1 + p))) in *. assert (a0 : 0 <= a) by apply Rabs_pos.
  assert (a <= 21 / 20 * n) by nra. assert (u2 : (1 + u) * (1 + u) <= 6 / 5) by nra.
  apply (Rmult_le_compat_r (a + Rabs g + Rabs r)) in u2; [|lra].
  assert (0 <= u * (n + Rabs g + Rabs r)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** In every form: three roundings of x and four of the mean more, and (2 + u)u|b| where the bias is folded. *)
Theorem output_error x m r g b y C mu al : 0 <= r -> output x m r g b y ->
  Rabs (x - m) <= C -> Rabs m <= Rabs mu + al -> 0 <= al <= C ->
  Rabs (y - (g * (r * (x - m)) + b)) <= component * u * (Rabs g * r * C)
    + u * (Rabs g * r * (first_input * Rabs x + first_mean * Rabs mu)) + (folded_bias + u) * u * Rabs b + tiny x m g r.
Proof.
intros R0 O HC HM HA. unfold component, first_input, first_mean, folded_bias.
set (X := Rabs g * r * Rabs x). set (M := Rabs g * r * Rabs m). set (B := Rabs b).
assert (gr : 0 <= Rabs g * r) by (apply Rmult_le_pos; auto; apply Rabs_pos).
assert (HM' : M <= Rabs g * r * (Rabs mu + al)) by (apply Rmult_le_compat_l; auto).
assert (HC' : Rabs g * r * Rabs (x - m) <= Rabs g * r * C) by (apply Rmult_le_compat_l; auto).
assert (HA' : Rabs g * r * al <= Rabs g * r * C) by (apply Rmult_le_compat_l; [auto|lra]).
assert (A0 : 0 <= Rabs g * r * al) by (apply Rmult_le_pos; [auto|lra]).
assert (MU : 0 <= Rabs g * r * Rabs mu) by (apply Rmult_le_pos; [auto|apply Rabs_pos]).
assert (X0 : 0 <= X) by (apply Rmult_le_pos; [auto|apply Rabs_pos]).
assert (M0 : 0 <= M) by (apply Rmult_le_pos; [auto|apply Rabs_pos]).
assert (B0 : 0 <= B) by apply Rabs_pos. assert (Rr : Rabs r <= r) by (rewrite Rabs_pos_eq; lra).
assert (C0 : 0 <= Rabs g * r * Rabs (x - m)) by (apply Rmult_le_pos; [auto|apply Rabs_pos]).
assert (LX : Rabs (x * g * r) <= X) by (unfold X; rewrite !Rabs_mult, (Rabs_pos_eq r) by auto; lra).
assert (LM : Rabs (m * g * r) <= M) by (unfold M; rewrite !Rabs_mult, (Rabs_pos_eq r) by auto; lra).
assert (LC : Rabs (g * r * (x - m)) <= Rabs g * r * Rabs (x - m)) by (rewrite !Rabs_mult, (Rabs_pos_eq r) by auto; lra).
set (t2 := 2 * u + u ^ 2).
(* The roundings are counted in x, in the mean, in the deviation and in the bias; k counts what underflows. *)
assert (count : forall kx km kc kb, kx * u * X + km * u * M + kc * u * (Rabs g * r * Rabs (x - m)) + kb * u * B <=
    kx * u * X + km * u * (Rabs g * r * (Rabs mu + al)) + kc * u * (Rabs g * r * C) + kb * u * B ->
    0 <= kx <= 3 -> 0 <= km <= 4 -> 0 <= kc -> km + kc <= 5 -> kb <= 2 + u ->
    kx * u * X + km * u * M + kc * u * (Rabs g * r * Rabs (x - m)) + kb * u * B <=
    5 * u * (Rabs g * r * C) + u * (Rabs g * r * (3 * Rabs x + 4 * Rabs mu)) + (2 + u) * u * B).
{ intros kx km kc kb L Kx Km Kc Ks Kb. apply Rle_trans with (1 := L).
  replace (u * (Rabs g * r * (3 * Rabs x + 4 * Rabs mu))) with (3 * u * X + 4 * u * (Rabs g * r * Rabs mu))
    by (unfold X; ring).
  assert (kx * u * X <= 3 * u * X) by (repeat apply Rmult_le_compat_r; lra).
  assert (kb * u * B <= (2 + u) * u * B) by (repeat apply Rmult_le_compat_r; lra).
  rewrite (Rmult_plus_distr_l (Rabs g * r)).
  assert (km * u * (Rabs g * r * Rabs mu) <= 4 * u * (Rabs g * r * Rabs mu)) by (repeat apply Rmult_le_compat_r; lra).
  assert (km * u * (Rabs g * r * al) <= km * u * (Rabs g * r * C)).
  { apply Rmult_le_compat_l; auto. apply Rmult_le_pos; lra. }
  assert ((km + kc) * u * (Rabs g * r * C) <= 5 * u * (Rabs g * r * C)) by (repeat apply Rmult_le_compat_r; lra). lra. }
assert (mono : forall kx km kc kb, 0 <= km -> 0 <= kc ->
    kx * u * X + km * u * M + kc * u * (Rabs g * r * Rabs (x - m)) + kb * u * B <=
    kx * u * X + km * u * (Rabs g * r * (Rabs mu + al)) + kc * u * (Rabs g * r * C) + kb * u * B).
{ intros. assert (km * u * M <= km * u * (Rabs g * r * (Rabs mu + al))).
  { apply Rmult_le_compat_l; auto. apply Rmult_le_pos; auto. }
  assert (kc * u * (Rabs g * r * Rabs (x - m)) <= kc * u * (Rabs g * r * C)).
  { apply Rmult_le_compat_l; auto. apply Rmult_le_pos; auto. } lra. }
destruct O as [c t Hc P Y|s t c Ps Pt Hc Y|s t c z Ps Pt Hc Pz Y|s t f Ps Pt Hf Y].
- assert (L := subtracted_error x m r g b c t y R0 Hc P Y). unfold component in L. fold B in L.
  generalize (count 0 0 5 1 (mono 0 0 5 1 ltac:(lra) ltac:(lra))). lra.
- destruct (near_sum _ _ _ Hc) as (p & Pp & ->). destruct (near_sum _ _ _ Y) as (q & Q & ->).
  destruct (product3_error _ _ _ _ Ps) as (ts & es & Ts & Es & ->).
  destruct (product3_error _ _ _ _ Pt) as (tt & et & Tt & Et & ->).
  replace (_ - _) with (x * g * r * (ts * ((1 + p) * (1 + q))) - m * g * r * (tt * ((1 + p) * (1 + q)))
    + g * r * (x - m) * (p * (1 + q) + q) + b * q + (es - et) * ((1 + p) * (1 + q))) by ring.
  set (wx := w * (1 + (1 + u) * (Rabs x + Rabs g + Rabs r))) in *.
  set (wm := w * (1 + (1 + u) * (Rabs m + Rabs g + Rabs r))) in *.
  apply Rle_trans with (X * (t2 * ((1 + u) * (1 + u))) + M * (t2 * ((1 + u) * (1 + u)))
    + Rabs g * r * Rabs (x - m) * (u * (1 + u) + u) + B * u + (wx + wm) * ((1 + u) * (1 + u))); [size|].
  generalize (count (5 / 2) (5 / 2) (5 / 2) 1 (mono (5 / 2) (5 / 2) (5 / 2) 1 ltac:(lra) ltac:(lra))
    ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)).
  assert (t2 * ((1 + u) * (1 + u)) <= 5 / 2 * u) by (unfold t2; clear -u_pos u_small; nra). assert (u * (1 + u) + u <= 5 / 2 * u) by (clear -u_pos u_small; nra).
  assert (X * (t2 * ((1 + u) * (1 + u))) <= X * (5 / 2 * u)) by (apply Rmult_le_compat_l; auto).
  assert (M * (t2 * ((1 + u) * (1 + u))) <= M * (5 / 2 * u)) by (apply Rmult_le_compat_l; auto).
  assert (Rabs g * r * Rabs (x - m) * (u * (1 + u) + u) <= Rabs g * r * Rabs (x - m) * (5 / 2 * u))
    by (apply Rmult_le_compat_l; auto).
  assert (T := tiny2 x m g r ((1 + u) * (1 + u)) R0 ltac:(lra) ltac:(lra)). fold wx wm in T. fold B. lra.
- destruct (near_sum _ _ _ Hc) as (p & Pp & ->). destruct (near_sum _ _ _ Y) as (q & Q & ->).
  destruct Ps as (ds & es & Ds & Es & ->), Pt as (dt & et & Dt & Et & ->), Pz as (dz & ez & Dz & Ez & ->).
  replace (_ - _) with (x * g * r * (ds * ((1 + p) * (1 + dz) * (1 + q))) - m * g * r * (dt * ((1 + p) * (1 + dz) * (1 + q)))
    + g * r * (x - m) * (p * (1 + dz) * (1 + q) + (dz * (1 + q) + q)) + b * q
    + ((es - et) * g * ((1 + p) * (1 + dz) * (1 + q)) + ez * (1 + q))) by ring.
  assert (gg : Rabs g <= Rabs g) by lra.
  apply Rle_trans with (X * (u * ((1 + u) * (1 + u) * (1 + u))) + M * (u * ((1 + u) * (1 + u) * (1 + u)))
    + Rabs g * r * Rabs (x - m) * (u * (1 + u) * (1 + u) + (u * (1 + u) + u)) + B * u
    + ((w + w) * Rabs g * ((1 + u) * (1 + u) * (1 + u)) + w * (1 + u))); [size|].
  generalize (count (5 / 4) (5 / 4) (13 / 4) 1 (mono (5 / 4) (5 / 4) (13 / 4) 1 ltac:(lra) ltac:(lra))
    ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)).
  assert (u2 : u * u <= u * / 20) by (apply Rmult_le_compat_l; lra).
  assert (K1 : u * ((1 + u) * (1 + u) * (1 + u)) <= 5 / 4 * u) by (clear -u_pos u_small; nra).
  assert (K2 : u * (1 + u) * (1 + u) + (u * (1 + u) + u) <= 13 / 4 * u) by (clear -u_pos u_small; nra).
  apply (Rmult_le_compat_l X) in K1 as K3; auto. apply (Rmult_le_compat_l M) in K1; auto.
  apply (Rmult_le_compat_l _ _ _ C0) in K2.
  assert (T := tiny2 x m g r ((1 + u) * (1 + u)) R0 ltac:(lra) ltac:(lra)).
  assert ((w + w) * Rabs g * ((1 + u) * (1 + u) * (1 + u)) + w * (1 + u) <= (w * (1 + (1 + u) * (Rabs x + Rabs g + Rabs r))
    + w * (1 + (1 + u) * (Rabs m + Rabs g + Rabs r))) * ((1 + u) * (1 + u))).
  { generalize (Rabs_pos x) (Rabs_pos m) (Rabs_pos g) (Rabs_pos r); intros.
    apply Rle_trans with (w * (2 + 2 * (1 + u) * Rabs g) * ((1 + u) * (1 + u))).
    - assert (w * (1 + u) <= w * 2 * ((1 + u) * (1 + u))); [|lra].
      rewrite Rmult_assoc. apply Rmult_le_compat_l; auto. lra.
    - apply Rmult_le_compat_r; [lra|]. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; auto.
      assert (0 <= (1 + u) * (Rabs x + Rabs m + 2 * Rabs r)) by (apply Rmult_le_pos; lra). lra. }
  fold B. lra.
- destruct (near_sum _ _ _ Hf) as (p & Pp & ->). destruct (near_sum _ _ _ Y) as (q & Q & ->).
  destruct (product3_error _ _ _ _ Ps) as (ts & es & Ts & Es & ->).
  destruct (product3_error _ _ _ _ Pt) as (tt & et & Tt & Et & ->).
  replace (_ - _) with (x * g * r * (ts * (1 + q)) - m * g * r * ((tt * (1 + p) + p) * (1 + q)) + g * r * (x - m) * q
    + b * (p * (1 + q) + q) + (es * (1 + q) - et * ((1 + p) * (1 + q)))) by ring.
  set (wx := w * (1 + (1 + u) * (Rabs x + Rabs g + Rabs r))) in *.
  set (wm := w * (1 + (1 + u) * (Rabs m + Rabs g + Rabs r))) in *.
  apply Rle_trans with (X * (t2 * (1 + u)) + M * ((t2 * (1 + u) + u) * (1 + u)) + Rabs g * r * Rabs (x - m) * u
    + B * (u * (1 + u) + u) + (wx * (1 + u) + wm * ((1 + u) * (1 + u)))); [size|].
  generalize (count (5 / 2) (10 / 3) 1 (2 + u) (mono (5 / 2) (10 / 3) 1 (2 + u) ltac:(lra) ltac:(lra))
    ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)).
  assert (u2 : u * u <= u * / 20) by (apply Rmult_le_compat_l; lra).
  assert (K1 : t2 * (1 + u) <= 9 / 4 * u) by (unfold t2; clear -u_pos u_small; nra).
  assert (K2 : (t2 * (1 + u) + u) * (1 + u) <= 10 / 3 * u) by (unfold t2; clear -u_pos u_small; nra).
  apply (Rmult_le_compat_l X) in K1; auto. apply (Rmult_le_compat_l M) in K2; auto.
  assert (T := tiny2 x m g r ((1 + u) * (1 + u)) R0 ltac:(lra) ltac:(lra)). fold wx wm in T.
  assert (wx0 : 0 <= wx) by (eapply Rle_trans; [apply Rabs_pos|exact Es]).
  assert (wx * (1 + u) <= wx * ((1 + u) * (1 + u))) by (apply Rmult_le_compat_l; auto; lra).
  assert (0 <= X * u) by (apply Rmult_le_pos; auto). fold B. lra.
Qed.

End Components.
