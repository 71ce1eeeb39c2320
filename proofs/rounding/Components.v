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

Let product3_error a g r t : product3 a g r t ->
  exists th et, Rabs th <= 2 * u + u ^ 2 /\ Rabs et <= w * (1 + (1 + u) * (Rabs a + Rabs g + Rabs r)) /\
    t = a * g * r * (1 + th) + et.
Proof.
intros P. assert (B : 2 * u + u ^ 2 = u * (1 + u) + u) by ring.
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
destruct (product3_error _ _ _ _ P) as (th & et & Th & Et & ->).
replace ((_ + b) * (1 + q) - _) with (g * r * (x - m) * ((1 + p) * (1 + th) * (1 + q) - 1) + q * b + et * (1 + q)) by ring.
assert (Rabs ((1 + p) * (1 + th) * (1 + q) - 1) <= 5 * u).
{ replace ((1 + p) * (1 + th) * (1 + q) - 1) with (p * (1 + th) * (1 + q) + (th * (1 + q) + q)) by ring.
  apply Rle_trans with (u * (1 + (2 * u + u ^ 2)) * (1 + u) + ((2 * u + u ^ 2) * (1 + u) + u)); [|nra].
  size. }
apply sum_of_two; [apply sum_of_two|].
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

(* An output that is off by so many roundings of x, of the mean, of the deviation and of the bias, and by what underflows. *)
Let counted kx km kc kb x m r g b C mu al tx tm tc tb e : 0 <= r -> Rabs (x - m) <= C -> Rabs m <= Rabs mu + al ->
  0 <= al <= C -> 0 <= kx <= 3 /\ 0 <= km <= 4 /\ 0 <= kc /\ km + kc <= 5 /\ 0 <= kb <= 2 + u ->
  Rabs tx <= kx * u -> Rabs tm <= km * u -> Rabs tc <= kc * u -> Rabs tb <= kb * u -> Rabs e <= tiny x m g r ->
  Rabs (x * g * r * tx - m * g * r * tm + g * r * (x - m) * tc + b * tb + e) <= component * u * (Rabs g * r * C)
    + u * (Rabs g * r * (first_input * Rabs x + first_mean * Rabs mu)) + (folded_bias + u) * u * Rabs b + tiny x m g r.
Proof.
intros R0 HC HM HA (Kx & Km & Kc & Ks & Kb) X M D B E. assert (gr : 0 <= Rabs g * r) by (apply Rmult_le_pos; auto; apply Rabs_pos).
assert (Rr : Rabs r <= r) by (rewrite Rabs_pos_eq; lra).
assert (x * g * r = g * r * x) as -> by ring. assert (m * g * r = g * r * m) as -> by ring.
apply Rle_trans with (Rabs g * r * Rabs x * (kx * u) + Rabs g * r * (Rabs mu + al) * (km * u) + Rabs g * r * C * (kc * u)
  + Rabs b * (kb * u) + tiny x m g r); [size|]. unfold component, first_input, first_mean, folded_bias.
generalize (Rabs_pos x) (Rabs_pos mu) (Rabs_pos b); intros.
assert (x3 : kx * u <= 3 * u) by (apply Rmult_le_compat_r; lra). assert (m4 : km * u <= 4 * u) by (apply Rmult_le_compat_r; lra).
apply (Rmult_le_compat_l (Rabs g * r * Rabs x)) in x3; [|apply Rmult_le_pos; auto].
apply (Rmult_le_compat_l (Rabs g * r * Rabs mu)) in m4; [|apply Rmult_le_pos; auto].
assert (a5 : al * (km * u) + C * (kc * u) <= C * (5 * u)).
{ assert (al * (km * u) <= C * (km * u)) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
  assert (C * ((km + kc) * u) <= C * (5 * u)) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_r; lra]). lra. }
apply (Rmult_le_compat_l _ _ _ gr) in a5.
assert (Rabs b * (kb * u) <= Rabs b * ((2 + u) * u)) by (apply Rmult_le_compat_l; auto; apply Rmult_le_compat_r; lra). lra.
Qed.

(** In every form: three roundings of x and four of the mean more, and (2 + u)u|b| where the bias is folded. *)
Theorem output_error x m r g b y C mu al : 0 <= r -> output x m r g b y ->
  Rabs (x - m) <= C -> Rabs m <= Rabs mu + al -> 0 <= al <= C ->
  Rabs (y - (g * (r * (x - m)) + b)) <= component * u * (Rabs g * r * C)
    + u * (Rabs g * r * (first_input * Rabs x + first_mean * Rabs mu)) + (folded_bias + u) * u * Rabs b + tiny x m g r.
Proof.
intros R0 O HC HM HA. set (t2 := 2 * u + u ^ 2).
assert (T := tiny2 x m g r ((1 + u) * (1 + u)) R0 ltac:(lra) ltac:(lra)).
set (wx := w * (1 + (1 + u) * (Rabs x + Rabs g + Rabs r))) in *. set (wm := w * (1 + (1 + u) * (Rabs m + Rabs g + Rabs r))) in *.
destruct O as [c t Hc P Y|s t c Ps Pt Hc Y|s t c z Ps Pt Hc Pz Y|s t f Ps Pt Hf Y].
- eapply Rle_trans; [apply (subtracted_error x m r g b c t y R0 Hc P Y)|]. unfold component, first_input, first_mean, folded_bias.
  assert (Rabs g * r * Rabs (x - m) <= Rabs g * r * C) by (apply Rmult_le_compat_l; auto; apply Rmult_le_pos; auto; apply Rabs_pos).
  assert (0 <= Rabs g * r * (3 * Rabs x + 4 * Rabs mu)).
  { generalize (Rabs_pos g) (Rabs_pos x) (Rabs_pos mu); intros; repeat apply Rmult_le_pos; lra. }
  generalize (Rabs_pos b); intros. assert (0 <= u * Rabs b) by (apply Rmult_le_pos; auto).
  assert (0 <= u * (u * Rabs b)) by (apply Rmult_le_pos; auto). nra.
- destruct (near_sum _ _ _ Hc) as (p & Pp & ->), (near_sum _ _ _ Y) as (q & Q & ->).
  destruct (product3_error _ _ _ _ Ps) as (ts & es & Ts & Es & ->), (product3_error _ _ _ _ Pt) as (tt & et & Tt & Et & ->).
  replace (_ - _) with (x * g * r * (ts * ((1 + p) * (1 + q))) - m * g * r * (tt * ((1 + p) * (1 + q)))
    + g * r * (x - m) * (p * (1 + q) + q) + b * q + (es - et) * ((1 + p) * (1 + q))) by ring.
  apply (counted (5 / 2) (5 / 2) (5 / 2) 1 x m r g b C mu al); auto; try lra.
  1, 2: apply Rle_trans with (t2 * ((1 + u) * (1 + u))); [size|unfold t2; clear -u_pos u_small; nra].
  + apply Rle_trans with (u * (1 + u) + u); [size|clear -u_pos u_small; nra].
  + apply Rle_trans with (2 := T). size.
- destruct (near_sum _ _ _ Hc) as (p & Pp & ->), (near_sum _ _ _ Y) as (q & Q & ->).
  destruct Ps as (ds & es & Ds & Es & ->), Pt as (dt & et & Dt & Et & ->), Pz as (dz & ez & Dz & Ez & ->).
  replace (_ - _) with (x * g * r * (ds * ((1 + p) * (1 + dz) * (1 + q))) - m * g * r * (dt * ((1 + p) * (1 + dz) * (1 + q)))
    + g * r * (x - m) * (p * (1 + dz) * (1 + q) + (dz * (1 + q) + q)) + b * q
    + ((es - et) * g * ((1 + p) * (1 + dz) * (1 + q)) + ez * (1 + q))) by ring.
  apply (counted (5 / 4) (5 / 4) (13 / 4) 1 x m r g b C mu al); auto; try lra.
  1, 2: apply Rle_trans with (u * ((1 + u) * (1 + u) * (1 + u))); [size|clear -u_pos u_small; nra].
  + apply Rle_trans with (u * (1 + u) * (1 + u) + (u * (1 + u) + u)); [size|clear -u_pos u_small; nra].
  + apply Rle_trans with (2 := T).
    apply Rle_trans with ((w + w) * Rabs g * ((1 + u) * (1 + u) * (1 + u)) + w * (1 + u)); [size|].
    generalize (Rabs_pos x) (Rabs_pos m) (Rabs_pos g) (Rabs_pos r); intros.
    apply Rle_trans with (w * (2 + 2 * (1 + u) * Rabs g) * ((1 + u) * (1 + u))).
    * assert (w * (1 + u) <= w * 2 * ((1 + u) * (1 + u))); [|lra]. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto. lra.
    * apply Rmult_le_compat_r; [lra|]. unfold wx, wm. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; auto.
      assert (0 <= (1 + u) * (Rabs x + Rabs m + 2 * Rabs r)) by (apply Rmult_le_pos; lra). lra.
- destruct (near_sum _ _ _ Hf) as (p & Pp & ->), (near_sum _ _ _ Y) as (q & Q & ->).
  destruct (product3_error _ _ _ _ Ps) as (ts & es & Ts & Es & ->), (product3_error _ _ _ _ Pt) as (tt & et & Tt & Et & ->).
  replace (_ - _) with (x * g * r * (ts * (1 + q)) - m * g * r * ((tt * (1 + p) + p) * (1 + q)) + g * r * (x - m) * q
    + b * (p * (1 + q) + q) + (es * (1 + q) - et * ((1 + p) * (1 + q)))) by ring.
  apply (counted (5 / 2) (10 / 3) 1 (2 + u) x m r g b C mu al); auto; try lra.
  + apply Rle_trans with (t2 * (1 + u)); [size|unfold t2; clear -u_pos u_small; nra].
  + apply Rle_trans with ((t2 * (1 + u) + u) * (1 + u)); [size|unfold t2; clear -u_pos u_small; nra].
  + apply Rle_trans with (u * (1 + u) + u); [size|lra].
  + apply Rle_trans with (2 := T). assert (wx0 : 0 <= wx) by (eapply Rle_trans; [apply Rabs_pos|exact Es]).
    apply Rle_trans with (wx * (1 + u) + wm * ((1 + u) * (1 + u))); [size|].
    assert (wx * (1 + u) <= wx * ((1 + u) * (1 + u))) by (apply Rmult_le_compat_l; auto; lra). lra.
Qed.

End Components.
