(** Merged variances (Chan, Golub and LeVeque; Welford), in any tree, to all orders in u. *)
From Rounding Require Export Merging.

Section Variances.

Variables (u w : R) (x : nat -> R) (d k l : nat).
Hypothesis u_pos : 0 <= u.
Hypothesis u_small : u <= / 20.
Hypothesis w_pos : 0 <= w.
Hypothesis enough : (d <= 2 ^ k)%nat.
Hypothesis few : INR (merged_steps * d) * u < 1.

Notation size := (size).
Notation part_mean := (part_mean x).
Notation scatter := (scatter x).
Notation three := (three u).

(** A computed mean of the terms of c, with at most l levels of weighted merges. *)
Definition part_merges c m := exists n, (n <= l)%nat /\ merges u w x c n m.

(** What a merge adds to the sum of squares, but for roundings: Chan's square, or Welford's product of the differences
    of one more term to the means without it and with it. *)
Inductive increments : order -> order -> R -> Prop :=
  | squared a b ma mb : part_merges a ma -> part_merges b mb ->
      increments a b (size a * size b / size (Node a b) * (mb - ma) ^ 2)
  | updated a i ma m : part_merges a ma -> part_merges (Node a (Leaf i)) m -> increments a (Leaf i) ((x i - ma) * (x i - m)).

(** M is a computed sum of squares: an increment is rounded at most eight times, and each of the three terms that a
    merge adds twice. *)
Definition twice r := Rabs r <= (1 + u) ^ 2 - 1.
Inductive scatters : order -> R -> Prop :=
  | scatters_leaf i : scatters (Leaf i) 0
  | scatters_node a b Ma Mb W t ra rb rt : scatters a Ma -> scatters b Mb -> increments a b W ->
      Rabs (t - W) <= ((1 + u) ^ 8 - 1) * Rabs W + size (Node a b) * w -> twice ra -> twice rb -> twice rt ->
      scatters (Node a b) (Ma * (1 + ra) + Mb * (1 + rb) + t * (1 + rt)).

(** v is a computed variance: the sum of squares divided by d, or multiplied by a rounded 1/d. *)
Definition merged_variance v := exists o M, order_of d o /\ scatters o M /\
  Rabs (v - M / INR d) <= ((1 + u) ^ 2 - 1) * Rabs (M / INR d) + w.

Let v := mean d (fun i => (x i - mean d x) ^ 2).
Let ms := mean d (fun i => x i ^ 2).
Let G := 1 + gamma (merged_steps * d) u.

(** The error of any partial mean, in the mean square that merges weight it by. *)
Definition part_alpha := (u * T d x / (INR d - 1) + increment * u * sqrt (INR k * v) + three * (INR l * sqrt ms)
  + 2 * w * INR d) * G.
Definition merged_change := 2 * (part_alpha * sqrt (2 * (INR k * v))) + 2 * INR k * part_alpha ^ 2.

(** ** Partial means *)

Definition part c := exists rest, Permutation (leaves c ++ rest) (seq 0 d).

Lemma part_node a b : part (Node a b) -> part a /\ part b.
Proof.
intros (r & P); simpl in P. rewrite <- app_assoc in P. split; [now exists (leaves b ++ r)|exists (leaves a ++ r)].
eapply Permutation_trans; [|exact P]. rewrite !app_assoc. apply Permutation_app_tail, Permutation_app_comm.
Qed.

Lemma part_length c : part c -> (S (nodes c) <= d)%nat.
Proof.
intros (r & P). apply Permutation_length in P. rewrite app_length, length_leaves, seq_length in P. lia.
Qed.

Lemma part_total c z : part c -> (forall i, 0 <= z i) -> total z c <= INR d * mean d z.
Proof.
intros P Z. assert (N := part_length c P). destruct P as (r & P).
replace (INR d * mean d z) with (all d z) by (unfold mean; field; apply not_0_INR; lia).
unfold all. rewrite <- (sum_perm _ _ (Permutation_map z P)), map_app, sum_app. fold (total z c).
assert (0 <= sum (map z r)); [|lra]. apply sum_pos; intros; auto.
Qed.

Lemma partial_average c : part c -> (2 <= d)%nat -> partial x c * (INR d - 1) <= size c * T d x.
Proof.
intros P D. assert (D1 := le_INR _ _ D). simpl in D1. assert (B := part_total c (fun i => Rabs (x i)) P ltac:(intros; apply Rabs_pos)).
assert (H := partial_height x c). assert (N := le_INR _ _ (height_nodes c)). unfold Merging.size. rewrite S_INR.
assert (0 <= total (fun i => Rabs (x i)) c) by (apply sum_pos; intros; apply Rabs_pos).
unfold T, any_order. rewrite map_length, seq_length, map_map, minus_INR by lia. simpl (INR 1).
replace (INR d * mean d (fun i => Rabs (x i))) with (sum (map (fun i => Rabs (x i)) (seq 0 d))) in B
  by (unfold mean, all; field; lra).
assert (n0 := pos_INR (nodes c)). rewrite (Rmult_comm (INR d - 1)), <- Rmult_assoc. apply Rmult_le_compat_r; [lra|]. nra.
Qed.

(* A unit of a mean square: √s as a multiple of s, and 0 where s is 0. *)
Lemma unit_of s : 0 <= s -> exists y, 0 <= y /\ y * s = sqrt s /\ forall t, 0 <= t <= INR d * s -> t <= sqrt s * (y * t).
Proof.
intros S. destruct (Req_dec s 0) as [->|N].
- exists 0. rewrite sqrt_0. repeat split; intros; lra.
- assert (R : 0 < sqrt s) by (apply sqrt_lt_R0; lra). exists (/ sqrt s). repeat split.
  + apply Rlt_le, Rinv_0_lt_compat; auto.
  + rewrite <- (sqrt_sqrt s) at 2 by auto. field; lra.
  + intros t _. right; field; lra.
Qed.

Lemma part_abs_le c : part_abs x c ^ 2 <= size c * total (fun i => x i ^ 2) c.
Proof.
assert (E := scatter_about (fun i => Rabs (x i)) c 0). cbv beta in E.
replace (total (fun i => (Rabs (x i) - 0) ^ 2) c) with (total (fun i => x i ^ 2) c) in E.
2: { unfold total; f_equal; apply map_ext; intros i. rewrite Rminus_0_r, pow2_abs. auto. }
assert (S : 0 <= Merging.scatter (fun i => Rabs (x i)) c) by (apply sum_pos; intros; apply pow2_ge_0).
assert (sc := size_pos c). rewrite Rminus_0_r in E. unfold part_abs.
replace (total (fun i => Rabs (x i)) c) with (size c * Merging.part_mean (fun i => Rabs (x i)) c) by (symmetry; apply total_size).
replace ((size c * _) ^ 2) with (size c * (size c * Merging.part_mean (fun i => Rabs (x i)) c ^ 2)) by ring.
apply Rmult_le_compat_l; lra.
Qed.

Let v_pos : 0 <= v.
Proof. apply mean_pos; intros; apply pow2_ge_0. Qed.

Let ms_pos : 0 <= ms.
Proof. apply mean_pos; intros; apply pow2_ge_0. Qed.

Let three_le : 0 <= three <= 316 / 100 * u.
Proof. unfold three; simpl; nra. Qed.

Lemma scatter_pos c : 0 <= scatter c.
Proof. apply sum_pos; intros; apply pow2_ge_0. Qed.

(** The error of every partial mean, squared and weighted, is a sum over its terms. *)
Lemma part_errors : (2 <= d)%nat -> exists Z, 0 <= part_alpha /\ (forall i, 0 <= Z i) /\ mean d Z <= part_alpha ^ 2 /\
  forall c m, part c -> part_merges c m -> size c * (m - part_mean c) ^ 2 <= total Z c.
Proof.
intros D. assert (D1 := le_INR _ _ D). simpl in D1.
destruct (unit_of v v_pos) as (y & Y & YV & YU), (unit_of ms ms_pos) as (z & Zp & ZV & ZU).
set (t0 := u * T d x / (INR d - 1) + 2 * w * INR d). set (h := three * sqrt (2 * INR k)). set (q := three * INR l).
assert (k0 := pos_INR k). assert (l0 := pos_INR l). assert (h0 : 0 <= h) by (apply Rmult_le_pos; [lra|apply sqrt_pos]).
assert (q0 : 0 <= q) by (apply Rmult_le_pos; lra).
assert (T0 : 0 <= T d x).
{ unfold T, any_order. apply Rmult_le_pos; [apply pos_INR|]. rewrite map_map. apply sum_pos; intros; apply Rabs_pos. }
assert (t00 : 0 <= t0).
{ apply Rplus_le_le_0_compat; [apply quotient_pos; [apply Rmult_le_pos; auto|lra]|repeat apply Rmult_le_pos; lra]. }
assert (G1 : 1 <= G).
{ apply (pow_gamma 0 (merged_steps * d) u); auto; lia. }
set (B := t0 + h * sqrt v + q * sqrt ms).
assert (B0 : 0 <= B) by (unfold B; generalize (Rmult_le_pos h _ h0 (sqrt_pos v)) (Rmult_le_pos q _ q0 (sqrt_pos ms)); lra).
assert (BA : B * G <= part_alpha).
{ unfold part_alpha. apply Rmult_le_compat_r; [lra|]. unfold B, t0, q.
  assert (h * sqrt v <= increment * u * sqrt (INR k * v)); [|lra].
  unfold h. rewrite !sqrt_mult by lra. assert (sqrt 2 <= 3 / 2).
  { rewrite <- (sqrt_square (3 / 2)) by lra. apply sqrt_le_1_alt; lra. }
  assert (S : 0 <= sqrt (INR k) * sqrt v) by (apply Rmult_le_pos; apply sqrt_pos).
  replace (three * (sqrt 2 * sqrt (INR k)) * sqrt v) with (three * sqrt 2 * (sqrt (INR k) * sqrt v)) by ring.
  apply Rmult_le_compat_r; auto. unfold increment. apply Rle_trans with (316 / 100 * u * (3 / 2)); [|lra].
  apply Rmult_le_compat; try lra. apply sqrt_pos. }
exists (fun i => G ^ 2 * B * (t0 + h * y * (x i - mean d x) ^ 2 + q * z * x i ^ 2)).
assert (GB : 0 <= G ^ 2 * B) by (apply Rmult_le_pos; auto; apply pow2_ge_0).
assert (hy : 0 <= h * y) by (apply Rmult_le_pos; auto). assert (qz : 0 <= q * z) by (apply Rmult_le_pos; auto).
repeat split.
- apply Rle_trans with (2 := BA), Rmult_le_pos; lra.
- intros i. apply Rmult_le_pos; auto.
  generalize (Rmult_le_pos _ _ hy (pow2_ge_0 (x i - mean d x))) (Rmult_le_pos _ _ qz (pow2_ge_0 (x i))); lra.
- apply Rle_trans with ((B * G) ^ 2); [|apply pow_incr; split; auto; apply Rmult_le_pos; lra].
  right. transitivity (G ^ 2 * B * (t0 + h * (y * v) + q * (z * ms))); [|rewrite YV, ZV; unfold B; ring].
  unfold v, ms, mean, all. rewrite sum_scale.
  rewrite (sum_plus _ (fun i => t0 + h * y * (x i - sum (map x (seq 0 d)) / INR d) ^ 2)), (sum_plus _ (fun _ => t0)), sum_const, !sum_scale, seq_length. field. lra.
- intros c m P (n & Ln & M). assert (sc := size_pos c). assert (N := part_length c P).
  assert (E := merged_error u w x u_pos w_pos c n m M).
  assert (g : (1 + u) ^ (4 * nodes c) <= G) by (apply pow_gamma; auto; unfold merged_steps; lia).
  set (e := Rabs (m - part_mean c)). set (sq := total (fun i => x i ^ 2) c).
  assert (sq0 : 0 <= sq <= INR d * ms).
  { split; [|apply part_total; auto; intros; apply pow2_ge_0].
    apply sum_pos; intros; apply pow2_ge_0. }
  assert (about := scatter_about x c (mean d x)). assert (s0 := scatter_pos c).
  set (sm := total (fun i => (x i - mean d x) ^ 2) c) in *.
  assert (sm_le : sm <= INR d * v) by (apply part_total; auto; intros; apply pow2_ge_0).
  assert (s_le : scatter c <= sm) by (generalize (pow2_ge_0 (part_mean c - mean d x)); nra).
  set (A := three * apart x c / size c). set (C := q * (part_abs x c / size c)).
  assert (i0 : 0 < / size c) by (apply Rinv_0_lt_compat; lra).
  assert (A0 : 0 <= A) by (unfold A, Rdiv; repeat apply Rmult_le_pos; auto using apart_pos; lra).
  assert (C0 : 0 <= C) by (unfold C, Rdiv; repeat apply Rmult_le_pos; auto using part_abs_pos; lra).
  assert (e_le : e <= (t0 + A + C) * G).
  { apply Rmult_le_reg_l with (size c); [lra|]. unfold e.
    replace (size c * Rabs (m - part_mean c)) with (Rabs (size c * m - total x c)).
    2: { rewrite total_size, <- Rmult_minus_distr_l, Rabs_mult, (Rabs_pos_eq (size c)); lra. }
    apply Rle_trans with (1 := E). rewrite <- (Rmult_assoc (size c)). apply Rmult_le_compat; auto.
    - generalize (partial_pos x c) (apart_pos x c) (part_abs_pos x c) (sizes_pos c) (pos_INR n); intros.
      repeat apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; lra.
    - apply pow_le; lra.
    - replace (size c * (t0 + A + C)) with (u * (size c * T d x / (INR d - 1)) + three * apart x c + q * part_abs x c + 2 * w * (size c * INR d)).
      2: { unfold t0, A, C. field; lra. }
      assert (p1 : partial x c <= size c * T d x / (INR d - 1)).
      { apply Rmult_le_reg_r with (INR d - 1); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
        apply partial_average; auto. }
      assert (p2 : INR n * part_abs x c <= INR l * part_abs x c).
      { apply Rmult_le_compat_r; [apply part_abs_pos|]. apply le_INR; auto. }
      assert (p3 : sizes c <= size c * INR d).
      { apply Rle_trans with (1 := sizes_le c), Rmult_le_compat_l; [lra|]. apply le_INR; lia. }
      apply (Rmult_le_compat_l u) in p1; auto. apply (Rmult_le_compat_l three) in p2; [|lra].
      apply (Rmult_le_compat_l (2 * w)) in p3; [|lra]. unfold q. lra. }
  assert (two := two_squares).
  set (A' := h * y * scatter c / size c). set (C' := q * z * sq / size c).
  assert (A2 : A ^ 2 <= h * sqrt v * A').
  { apply Rle_trans with (three ^ 2 * (INR k * size c) * (2 * scatter c) * / size c ^ 2).
    - unfold A. replace ((three * apart x c / size c) ^ 2) with (three ^ 2 * apart x c ^ 2 * / size c ^ 2) by (field; lra).
      apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra|]. rewrite Rmult_assoc.
      apply Rmult_le_compat_l; [apply pow2_ge_0|]. apply Rle_trans with (1 := apart_le x c).
      apply Rmult_le_compat; auto using smaller_pos, squares_pos.
      + rewrite Rmult_comm. apply smaller_le. lia.
      + apply squares_le.
    - replace (_ * / size c ^ 2) with (three ^ 2 * (2 * INR k) * / size c * scatter c) by (field; lra).
      unfold A', h. rewrite <- (sqrt_sqrt (2 * INR k)) at 1 by lra.
      replace (three * sqrt (2 * INR k) * sqrt v * (three * sqrt (2 * INR k) * y * scatter c / size c)) with
        (three ^ 2 * (sqrt (2 * INR k) * sqrt (2 * INR k)) * / size c * (sqrt v * (y * scatter c))) by (field; lra).
      apply Rmult_le_compat_l; [|apply YU; lra]. generalize (sqrt_pos (2 * INR k)); intros.
      repeat apply Rmult_le_pos; lra. }
  assert (C2 : C ^ 2 <= q * sqrt ms * C').
  { apply Rle_trans with (q ^ 2 * / size c * sq).
    - unfold C. replace ((q * (part_abs x c / size c)) ^ 2) with (q ^ 2 * / size c ^ 2 * part_abs x c ^ 2) by (field; lra).
      replace (q ^ 2 * / size c * sq) with (q ^ 2 * / size c ^ 2 * (size c * sq)) by (field; lra).
      apply Rmult_le_compat_l; [|apply part_abs_le]. apply Rmult_le_pos; [apply pow2_ge_0|].
      apply Rlt_le, Rinv_0_lt_compat, pow_lt; lra.
    - unfold C'. replace (q * sqrt ms * (q * z * sq / size c)) with (q ^ 2 * / size c * (sqrt ms * (z * sq))) by (field; lra).
      apply Rmult_le_compat_l; [|apply ZU; auto]. apply Rmult_le_pos; [apply pow2_ge_0|lra]. }
  assert (A'0 : 0 <= A') by (apply quotient_pos; [apply Rmult_le_pos; [exact hy|]|]; lra).
  assert (C'0 : 0 <= C') by (apply quotient_pos; [apply Rmult_le_pos; [exact qz|]|]; lra).
  assert (rv := sqrt_pos v). assert (rms := sqrt_pos ms).
  assert (K : (t0 + A + C) ^ 2 <= B * (t0 + A' + C')).
  { assert (hv := Rmult_le_pos _ _ h0 rv). assert (qm := Rmult_le_pos _ _ q0 rms).
    unfold B. apply two; auto; try lra. apply two; auto; right; ring. }
  replace ((m - part_mean c) ^ 2) with (e ^ 2) by (unfold e; apply pow2_abs).
  assert (e0 : 0 <= e) by apply Rabs_pos.
  apply Rle_trans with (size c * (B * (t0 + A' + C') * G ^ 2)).
  { apply Rmult_le_compat_l; [lra|]. apply Rle_trans with (((t0 + A + C) * G) ^ 2).
    - apply pow_incr; auto.
    - rewrite Rpow_mult_distr. apply Rmult_le_compat_r; auto. apply pow2_ge_0. }
  unfold total. rewrite sum_scale, (sum_plus _ (fun i => t0 + h * y * (x i - mean d x) ^ 2)), (sum_plus _ (fun _ => t0)), sum_const, !sum_scale, length_leaves.
  fold (size c). fold (total (fun i => (x i - mean d x) ^ 2) c). fold sm. fold (total (fun i => x i ^ 2) c). fold sq.
  replace (size c * (B * (t0 + A' + C') * G ^ 2)) with (G ^ 2 * B * (size c * t0 + h * y * scatter c + q * z * sq)).
  2: { unfold A', C'. field; lra. }
  apply Rmult_le_compat_l; auto. apply Rplus_le_compat_r, Rplus_le_compat_l, Rmult_le_compat_l; auto.
Qed.

(** ** The sum of squares *)

Lemma ln_step a n : 0 < a -> 0 < n -> ln a + (1 - a / n) <= ln n.
Proof.
intros A N. assert (P : 0 < a / n) by (apply Rdiv_lt_0_compat; auto).
assert (E := exp_ineq1_le (ln (a / n))). rewrite exp_ln in E by auto.
unfold Rdiv in E at 1. rewrite ln_mult, ln_Rinv in E; auto using Rinv_0_lt_compat. lra.
Qed.

Lemma ln_le a b : 0 < a -> a <= b -> ln a <= ln b.
Proof. intros A [B| ->]; [|lra]. apply Rlt_le, ln_increasing; auto. Qed.

Lemma ln_levels : (1 <= d)%nat -> ln (INR d) <= INR k.
Proof.
intros D. assert (P : 0 < INR d) by (apply lt_0_INR; lia).
apply Rle_trans with (ln (2 ^ k)).
- apply ln_le; auto. apply le_INR in enough. rewrite pow_INR in enough. exact enough.
- rewrite <- Rpower_pow, ln_Rpower by lra. assert (L := exp_ineq1_le (ln 2)). rewrite exp_ln in L by lra.
  generalize (pos_INR k). nra.
Qed.

(* How far an increment is from the exact one: f is the error of a difference of means. *)
Let increment_error Z a b W : (forall i, 0 <= Z i) ->
  (forall c m, part c -> part_merges c m -> size c * (m - part_mean c) ^ 2 <= total Z c) ->
  part (Node a b) -> increments a b W -> let c := size a * size b / size (Node a b) in
  exists f, 0 <= f /\ c * f ^ 2 <= 2 * (size b / size (Node a b) * total Z a + size a / size (Node a b) * total Z b) /\
    Rabs (W - c * (part_mean b - part_mean a) ^ 2) <= 2 * (c * Rabs (part_mean b - part_mean a) * f) + c * f ^ 2.
Proof.
intros Z0 H P I c. destruct (part_node a b P) as [Pa Pb].
assert (tz : forall o, 0 <= total Z o) by (intros; apply sum_pos; auto).
assert (sa := size_pos a). assert (sb := size_pos b). assert (sn := size_node a b).
assert (c0 : 0 <= c) by (apply quotient_pos; [apply Rmult_le_pos|]; lra).
assert (ca : 0 <= size b / size (Node a b)) by (apply quotient_pos; lra).
assert (cb : 0 <= size a / size (Node a b)) by (apply quotient_pos; lra).
assert (cA : c = size b / size (Node a b) * size a) by (unfold c; field; lra).
assert (cB : c = size a / size (Node a b) * size b) by (unfold c; field; lra).
(* W = c (D + r)(D + s) with |r|, |s| <= R, S *)
assert (prod : forall D r s R S, Rabs r <= R -> Rabs s <= S ->
    Rabs (c * ((D + r) * (D + s)) - c * D ^ 2) <= 2 * (c * Rabs D * ((R + S) / 2)) + c * ((R + S) / 2) ^ 2).
{ intros D r s R S Rr Ss. replace (_ - _) with (c * (D * (r + s) + r * s)) by ring.
  rewrite Rabs_mult, (Rabs_pos_eq c) by auto.
  replace (2 * (c * Rabs D * ((R + S) / 2)) + c * ((R + S) / 2) ^ 2) with (c * (Rabs D * (R + S) + ((R + S) / 2) ^ 2)) by field.
  apply Rmult_le_compat_l; auto. apply Rle_trans with (Rabs D * (R + S) + R * S); [size|].
  assert (0 <= (R - S) ^ 2) by apply pow2_ge_0. lra. }
destruct I as [a b ma mb A B|a i ma m A M].
- assert (Ea := H a ma Pa A). assert (Eb := H b mb Pb B). set (ea := ma - part_mean a) in *. set (eb := mb - part_mean b) in *.
  exists (Rabs ea + Rabs eb). assert (a2 := pow2_abs ea). assert (b2 := pow2_abs eb).
  assert (Rabs (eb - ea) <= Rabs ea + Rabs eb) by (rewrite Rplus_comm; size).
  split; [generalize (Rabs_pos ea) (Rabs_pos eb); lra|]. split.
  + apply Rle_trans with (2 * (c * ea ^ 2 + c * eb ^ 2)).
    * rewrite <- a2, <- b2. assert (0 <= (Rabs ea - Rabs eb) ^ 2) by apply pow2_ge_0. nra.
    * rewrite cA at 1. rewrite cB. apply (Rmult_le_compat_l _ _ _ ca) in Ea. apply (Rmult_le_compat_l _ _ _ cb) in Eb. lra.
  + fold c. generalize (prod (part_mean b - part_mean a) (eb - ea) (eb - ea) _ _ H0 H0).
    replace (part_mean b - part_mean a + (eb - ea)) with (mb - ma) by (unfold ea, eb; ring).
    replace ((Rabs ea + Rabs eb + (Rabs ea + Rabs eb)) / 2) with (Rabs ea + Rabs eb) by field.
    replace ((mb - ma) * (mb - ma)) with ((mb - ma) ^ 2) by ring. auto.
- set (n := size (Node a (Leaf i))) in *. assert (Ea := H a ma Pa A). assert (En := H (Node a (Leaf i)) m P M). fold n in En.
  assert (s1 : size (Leaf i) = 1) by reflexivity.
  assert (xi : part_mean (Leaf i) = x i) by (unfold part_mean, total; rewrite s1; simpl; field).
  assert (mean : n * part_mean (Node a (Leaf i)) = size a * part_mean a + x i).
  { unfold n. rewrite <- total_size, total_node, !total_size, xi, s1. ring. }
  set (ea := ma - part_mean a) in *. set (en := m - part_mean (Node a (Leaf i))) in *. rewrite xi.
  set (D := x i - part_mean a). assert (na : 0 < n / size a) by (apply Rdiv_lt_0_compat; lra).
  exists ((Rabs ea + n / size a * Rabs en) / 2). assert (a2 := pow2_abs ea). assert (n2 := pow2_abs en).
  assert (q0 : 0 <= n / size a * Rabs en) by (apply Rmult_le_pos; [lra|apply Rabs_pos]).
  split; [generalize (Rabs_pos ea); lra|]. split.
  + rewrite total_node in En. assert (Za := tz a). assert (Zi := tz (Leaf i)).
    apply Rle_trans with (/ 2 * (c * ea ^ 2 + c * (n / size a) ^ 2 * en ^ 2)).
    { rewrite <- a2, <- n2. assert (0 <= c * (Rabs ea - n / size a * Rabs en) ^ 2) by (apply Rmult_le_pos; auto; apply pow2_ge_0). lra. }
    assert (c * (n / size a) ^ 2 * en ^ 2 <= 2 / n * (n * en ^ 2)).
    { replace (c * (n / size a) ^ 2 * en ^ 2) with (n / size a * en ^ 2) by (unfold c; fold n; rewrite s1; field; lra).
      replace (2 / n * (n * en ^ 2)) with (2 * en ^ 2) by (field; lra). apply Rmult_le_compat_r; [apply pow2_ge_0|].
      apply Rmult_le_reg_r with (size a); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. unfold n in *; lra. }
    assert (n2' : 0 < 2 / n) by (apply Rdiv_lt_0_compat; lra). assert (n2e : 2 / n = 2 * (1 / n)) by (field; lra).
    apply (Rmult_le_compat_l (2 / n)) in En; [|lra].
    apply (Rmult_le_compat_l _ _ _ ca) in Ea. rewrite cA at 1. rewrite s1 in *.
    assert (1 / n * total Z (Leaf i) <= size a / n * total Z (Leaf i)).
    { apply Rmult_le_compat_r; auto. unfold Rdiv. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat|]; lra. }
    assert (0 <= 1 / n * total Z a) by (apply Rmult_le_pos; auto).
    assert (0 <= size a / n * total Z (Leaf i)) by (apply Rmult_le_pos; auto).
    rewrite n2e in *. lra.
  + assert (r1 : Rabs (- ea) <= Rabs ea) by (rewrite Rabs_Ropp; lra).
    assert (r2 : Rabs (- (n / size a * en)) <= n / size a * Rabs en).
    { rewrite Rabs_Ropp, Rabs_mult, Rabs_pos_eq; lra. }
    generalize (prod D _ _ _ _ r1 r2).
    replace (c * ((D + - ea) * (D + - (n / size a * en)))) with ((x i - ma) * (x i - m)); auto.
    replace (D + - ea) with (x i - ma) by (unfold D, ea; ring).
    replace (D + - (n / size a * en)) with (n / size a * (x i - m)).
    * unfold c; fold n; rewrite s1. field. lra.
    * unfold D, en. replace (part_mean (Node a (Leaf i))) with ((size a * part_mean a + x i) / n) by (rewrite <- mean; field; lra).
      unfold n in *. rewrite sn, s1. field. lra.
Qed.

(** The error of a sum of squares, to all orders. *)
Theorem scatters_error o M : (2 <= d)%nat -> part o -> scatters o M -> exists E, 0 <= E /\ 0 <= part_alpha /\
  E <= 2 * sqrt (2 * (INR k * INR d * part_alpha ^ 2) * scatter o) + 2 * (INR k * INR d * part_alpha ^ 2) /\
  Rabs (M - scatter o) <= (1 + u) ^ (2 * nodes o + 8) * (scatter o + E) - scatter o + w * sizes o * (1 + u) ^ (2 * nodes o).
Proof.
intros D P S. destruct (part_errors D) as (Z & A0 & Z0 & Zm & H).
assert (tz : forall c, 0 <= total Z c) by (intros; apply sum_pos; auto).
assert (K : exists E X F, 0 <= E /\ 0 <= X /\ 0 <= F /\ E <= 2 * X + F /\ X ^ 2 <= scatter o * F /\
  F <= 2 * (ln (size o) * total Z o) /\
  Rabs (M - scatter o) <= (1 + u) ^ (2 * nodes o + 8) * (scatter o + E) - scatter o + w * sizes o * (1 + u) ^ (2 * nodes o)).
{ induction S as [i|a b Ma Mb W t ra rb rt _ IHa _ IHb I Tt Ra Rb Rt].
  - exists 0, 0, 0. replace (scatter (Leaf i)) with 0.
    + replace (size (Leaf i)) with 1 by reflexivity. rewrite ln_1. simpl sizes. rewrite Rminus_0_r, Rabs_R0.
      repeat split; try lra.
    + unfold scatter, part_mean, total, size; simpl; field.
  - destruct (part_node a b P) as [Pa Pb].
    destruct (IHa Pa) as (Ea & Xa & Fa & Ea0 & Xa0 & Fa0 & EXa & XFa & FZa & Ma'), (IHb Pb) as (Eb & Xb & Fb & Eb0 & Xb0 & Fb0 & EXb & XFb & FZb & Mb').
    destruct (increment_error Z a b W Z0 H P I) as (f & f0 & fZ & fW). rewrite scatter_node.
    assert (sa := size_pos a). assert (sb := size_pos b). assert (sn := size_node a b).
    set (n := size (Node a b)) in *. set (c := size a * size b / n) in *. set (dm := part_mean b - part_mean a) in *.
    assert (c0 : 0 <= c) by (apply quotient_pos; [apply Rmult_le_pos|]; lra).
    assert (Sa := scatter_pos a). assert (Sb := scatter_pos b).
    assert (g0 : 0 <= c * Rabs dm * f) by (apply Rmult_le_pos; auto; apply Rmult_le_pos; auto using Rabs_pos).
    assert (h0 : 0 <= c * f ^ 2) by (apply Rmult_le_pos; auto; apply pow2_ge_0).
    assert (d0 : 0 <= c * dm ^ 2) by (apply Rmult_le_pos; auto; apply pow2_ge_0).
    set (r := 2 * (c * Rabs dm * f) + c * f ^ 2) in *.
    exists (Ea + Eb + r), (Xa + Xb + c * Rabs dm * f), (Fa + Fb + c * f ^ 2). unfold r at 1 2.
    repeat split; try lra.
    + apply two_squares; try lra; [apply two_squares; auto|].
      right. rewrite <- (pow2_abs dm). ring.
    + rewrite total_node.
      assert (La := ln_step (size a) n ltac:(lra) ltac:(lra)). assert (Lb := ln_step (size b) n ltac:(lra) ltac:(lra)).
      replace (1 - size a / n) with (size b / n) in La by (rewrite sn; field; lra).
      replace (1 - size b / n) with (size a / n) in Lb by (rewrite sn; field; lra).
      apply (Rmult_le_compat_r _ _ _ (tz a)) in La. apply (Rmult_le_compat_r _ _ _ (tz b)) in Lb. lra.
    + set (q := (1 + u) ^ 2). assert (q1 : 1 <= q) by (unfold q; simpl; nra).
      set (N := (2 * nodes (Node a b))%nat).
      assert (grow : forall i j, (i <= j)%nat -> 1 <= (1 + u) ^ i <= (1 + u) ^ j).
      { intros i j L; split; [apply pow_R1_Rle; lra|apply Rle_pow; [lra|auto]]. }
      (* A term z that is off by e, with two more roundings. *)
      assert (term : forall z M s g e y j, twice z -> 0 <= s -> Rabs (M - s) <= (1 + u) ^ g * (s + e) - s + y * (1 + u) ^ j ->
        0 <= e -> 0 <= y -> (g + 2 <= N + 8)%nat -> (j + 2 <= N)%nat ->
        Rabs (M * (1 + z) - s) <= (1 + u) ^ (N + 8) * (s + e) - s + y * (1 + u) ^ N).
      { intros z M0 s g e y j Z1 s0 B e0 y0 Lg Lj. unfold twice in Z1. fold q in Z1.
        replace (M0 * (1 + z) - s) with ((M0 - s) * (1 + z) + z * s) by ring.
        assert (Rabs (1 + z) <= q) by (replace q with (1 + (q - 1)) by ring; size).
        apply Rle_trans with (((1 + u) ^ g * (s + e) - s + y * (1 + u) ^ j) * q + (q - 1) * s); [size; apply own_size; auto|].
        assert (G1 : (1 + u) ^ g * q <= (1 + u) ^ (N + 8)) by (unfold q; rewrite <- pow_add; apply grow; lia).
        assert (G2 : (1 + u) ^ j * q <= (1 + u) ^ N) by (unfold q; rewrite <- pow_add; apply grow; lia).
        apply (Rmult_le_compat_r (s + e)) in G1; [|lra]. apply (Rmult_le_compat_l y) in G2; auto. lra. }
      assert (n0 : 0 <= w * n) by (apply Rmult_le_pos; lra).
      assert (tB : Rabs (t - c * dm ^ 2) <= (1 + u) ^ 8 * (c * dm ^ 2 + r) - c * dm ^ 2 + w * n * (1 + u) ^ 0).
      { replace (t - c * dm ^ 2) with (t - W + (W - c * dm ^ 2)) by ring. eapply Rle_trans; [apply Rabs_triang|].
        assert (Rabs W <= c * dm ^ 2 + r).
        { replace W with (c * dm ^ 2 + (W - c * dm ^ 2)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_pos_eq; lra. }
        assert (((1 + u) ^ 8 - 1) * Rabs W <= ((1 + u) ^ 8 - 1) * (c * dm ^ 2 + r)).
        { apply Rmult_le_compat_l; auto. generalize (grow 0%nat 8%nat ltac:(lia)). simpl ((1 + u) ^ 0). lra. }
        simpl ((1 + u) ^ 0). lra. }
      assert (A := term ra Ma (scatter a) _ Ea (w * sizes a) _ Ra Sa Ma' Ea0 ltac:(apply Rmult_le_pos; auto using sizes_pos)
        ltac:(unfold N; simpl nodes; lia) ltac:(unfold N; simpl nodes; lia)).
      assert (B := term rb Mb (scatter b) _ Eb (w * sizes b) _ Rb Sb Mb' Eb0 ltac:(apply Rmult_le_pos; auto using sizes_pos)
        ltac:(unfold N; simpl nodes; lia) ltac:(unfold N; simpl nodes; lia)).
      assert (C := term rt t (c * dm ^ 2) 8%nat r (w * n) 0%nat Rt d0 tB ltac:(unfold r; lra) n0
        ltac:(unfold N; simpl nodes; lia) ltac:(unfold N; simpl nodes; lia)).
      simpl sizes. fold n.
      replace (_ - _) with (Ma * (1 + ra) - scatter a + (Mb * (1 + rb) - scatter b) + (t * (1 + rt) - c * dm ^ 2)) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. generalize (Rabs_triang (Ma * (1 + ra) - scatter a) (Mb * (1 + rb) - scatter b)).
      lra. }
destruct K as (E & X & F & E0 & X0 & F0 & EX & XF & FZ & B).
assert (N := part_length o P). assert (so := size_pos o). assert (s0 := scatter_pos o).
assert (F1 : F <= 2 * (INR k * INR d * part_alpha ^ 2)).
{ apply Rle_trans with (1 := FZ). apply Rmult_le_compat_l; [lra|].
  assert (L0 : 0 <= ln (size o)) by (rewrite <- ln_1; apply ln_le; lra).
  rewrite Rmult_assoc. apply Rmult_le_compat; auto.
  - apply Rle_trans with (2 := ln_levels ltac:(lia)). apply ln_le; [lra|]. apply le_INR; auto.
  - apply Rle_trans with (1 := part_total o Z P Z0). apply Rmult_le_compat_l; auto using pos_INR. }
exists E. repeat split; auto. apply Rle_trans with (1 := EX).
assert (X <= sqrt (2 * (INR k * INR d * part_alpha ^ 2) * scatter o)); [|lra].
rewrite <- (sqrt_pow2 X) by auto. apply sqrt_le_1_alt. apply Rle_trans with (1 := XF).
rewrite Rmult_comm. apply Rmult_le_compat_r; auto.
Qed.

Hypothesis guard : INR d * guard_terms * u + guard_rest * u < / 2.

(** The bound of the page. *)
Theorem merged_variance_error om z : 0 <= om -> w <= u * om -> (2 <= d)%nat -> merged_variance z ->
  Rabs (z - v) <= (v + merged_change) * (1 + gamma (2 * d + 8) u) - v + om.
Proof.
intros O W D (o & M & P & S & Q). assert (N := nodes_of _ _ P).
assert (Po : part o) by (exists nil; rewrite app_nil_r; exact P).
destruct (scatters_error o M D Po S) as (E & E0 & A0 & EX & B).
assert (D1 := le_INR _ _ D). simpl in D1. assert (sd : size o = INR d) by (unfold size; rewrite N; auto).
assert (sv : scatter o = INR d * v).
{ unfold scatter, v, part_mean. rewrite sd, (total_of d o x P). fold (all d x). fold (mean d x).
  rewrite (total_of d o _ P). unfold mean at 2, all. field. lra. }
assert (k0 := pos_INR k).
assert (EC : E / INR d <= merged_change).
{ unfold merged_change. apply Rmult_le_reg_r with (INR d); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  apply Rle_trans with (1 := EX). rewrite sv.
  replace (2 * (INR k * INR d * part_alpha ^ 2) * (INR d * v)) with ((INR d * part_alpha) ^ 2 * (2 * (INR k * v))) by ring.
  assert (0 <= INR k * v) by (apply Rmult_le_pos; auto).
  rewrite sqrt_mult, sqrt_pow2; try lra; try apply pow2_ge_0; apply Rmult_le_pos; lra. }
set (q := (1 + u) ^ 2) in *. assert (q1 : 1 <= q) by (unfold q; simpl; nra).
set (r := Rabs (M / INR d - v)).
assert (R : r <= (1 + u) ^ (2 * nodes o + 8) * (v + E / INR d) - v + w * INR (nodes o) * (1 + u) ^ (2 * nodes o)).
{ unfold r. apply Rmult_le_reg_l with (INR d); [lra|].
  replace (INR d * Rabs (M / INR d - v)) with (Rabs (M - scatter o)).
  2: { rewrite sv. replace (M - INR d * v) with (INR d * (M / INR d - v)) by (field; lra). rewrite Rabs_mult, (Rabs_pos_eq (INR d)); lra. }
  apply Rle_trans with (1 := B). rewrite sv.
  assert (w * sizes o * (1 + u) ^ (2 * nodes o) <= w * (INR d * INR (nodes o)) * (1 + u) ^ (2 * nodes o)).
  { apply Rmult_le_compat_r; [apply pow_le; lra|]. apply Rmult_le_compat_l; auto. rewrite <- sd. apply sizes_le. }
  replace (INR d * (_ - v + _)) with ((1 + u) ^ (2 * nodes o + 8) * (INR d * v + E) - INR d * v
    + w * (INR d * INR (nodes o)) * (1 + u) ^ (2 * nodes o)) by (field; lra). lra. }
assert (Md : Rabs (M / INR d) <= v + r).
{ replace (M / INR d) with (v + (M / INR d - v)) by ring. eapply Rle_trans; [apply Rabs_triang|]. rewrite (Rabs_pos_eq v); auto. unfold r; lra. }
assert (Z : Rabs (z - v) <= q * r + (q - 1) * v + w).
{ replace (z - v) with (z - M / INR d + (M / INR d - v)) by ring. eapply Rle_trans; [apply Rabs_triang|]. fold r.
  assert ((q - 1) * Rabs (M / INR d) <= (q - 1) * (v + r)) by (apply Rmult_le_compat_l; lra). lra. }
unfold guard_terms, guard_rest in guard.
assert (few' : INR (2 * d + 8) * u < / 2).
{ rewrite plus_INR, mult_INR. replace (INR 8) with 8 by (simpl; ring). replace (INR 2) with 2 by reflexivity. lra. }
assert (g : forall n, (n <= 2 * d + 8)%nat -> (1 + u) ^ n <= 1 + gamma (2 * d + 8) u) by (intros; apply pow_gamma; auto; lra).
assert (g2 : 1 + gamma (2 * d + 8) u <= 2).
{ rewrite gamma_1 by lra. replace 2 with (/ / 2) by field. apply Rinv_le_contravar; lra. }
assert (G1 : q * (1 + u) ^ (2 * nodes o + 8) <= 1 + gamma (2 * d + 8) u).
{ unfold q; rewrite <- pow_add. apply g. lia. }
assert (G2 : q * (1 + u) ^ (2 * nodes o) <= 2).
{ apply Rle_trans with (2 := g2). unfold q; rewrite <- pow_add. apply g. lia. }
assert (qr : q * r <= q * ((1 + u) ^ (2 * nodes o + 8) * (v + E / INR d) - v + w * INR (nodes o) * (1 + u) ^ (2 * nodes o))).
{ apply Rmult_le_compat_l; lra. }
assert (Ed : 0 <= E / INR d) by (apply quotient_pos; lra).
assert (L : q * (1 + u) ^ (2 * nodes o + 8) * (v + E / INR d) <= (1 + gamma (2 * d + 8) u) * (v + merged_change)).
{ apply Rmult_le_compat; try lra. apply Rmult_le_pos; [lra|apply pow_le; lra]. }
assert (wn : 0 <= w * INR (nodes o)) by (apply Rmult_le_pos; auto using pos_INR).
apply (Rmult_le_compat_l _ _ _ wn) in G2.
assert (w * INR (nodes o) * 2 + w <= om).
{ assert (dn : INR d = INR (nodes o) + 1) by (rewrite <- N; apply S_INR). apply Rle_trans with (u * om * (2 * INR d)).
  - rewrite dn. assert (0 <= (u * om - w) * (2 * INR (nodes o) + 1)).
    { apply Rmult_le_pos; [lra|]. generalize (pos_INR (nodes o)); lra. } assert (0 <= u * om) by (apply Rmult_le_pos; auto). lra.
  - replace (u * om * (2 * INR d)) with (INR d * 2 * u * om) by ring. rewrite <- (Rmult_1_l om) at 2.
    apply Rmult_le_compat_r; auto. lra. }
lra.
Qed.

End Variances.
