(** Computed means: of the components, and of the squares that the norm divides by. *)
From Rounding Require Export Sums.

Section Means.

(** Unit roundoff, the loss of a product that underflows, the smallest normal number; the dimension. *)
Variables (u w om : R) (d : nat).
Hypothesis u_pos : 0 <= u.
Hypothesis w_pos : 0 <= w.
Hypothesis d_pos : (1 <= d)%nat.

Definition all (z : nat -> R) := sum (map z (seq 0 d)).
Definition mean z := all z / INR d.
Definition T z := any_order (map z (seq 0 d)).

(** m is a computed mean of the numbers t: the sum multiplied by a rounded 1/d, or by 1/d itself, which is a division, or
    each term multiplied by it first. *)
Inductive average (t : nat -> R) (m : R) : Prop :=
  | multiplied o s c : order_of d o -> sums u t o s -> near u 0 (/ INR d) c -> near u w (s * c) m -> average t m
  | weighted o c q : order_of d o -> near u 0 (/ INR d) c -> (forall i, near u w (t i * c) (q i)) ->
      sums u q o m -> average t m.

Let D_pos : 0 < INR d.
Proof. apply lt_0_INR; lia. Qed.

Lemma all_pos z : (forall i, 0 <= z i) -> 0 <= all z.
Proof. intros; apply sum_pos; auto. Qed.

Lemma mean_pos z : (forall i, 0 <= z i) -> 0 <= mean z.
Proof.
intros H. apply Rmult_le_pos; [apply all_pos; auto|].
destruct (pos_INR d) as [P|<-]; [now apply Rlt_le, Rinv_0_lt_compat|rewrite Rinv_0; apply Rle_refl].
Qed.

Lemma all_abs z : Rabs (all z) <= all (fun i => Rabs (z i)).
Proof. unfold all; rewrite <- (map_map z Rabs); apply sum_abs. Qed.

Lemma all_const k : all (fun _ => k) = INR d * k.
Proof. unfold all; rewrite sum_const, seq_length; ring. Qed.

Let inverse : Rabs (/ INR d) <= / INR d.
Proof. apply own_size, Rlt_le, Rinv_0_lt_compat; auto. Qed.

Theorem average_error z e t m : INR (S d) * u < 1 -> (forall i, Rabs (t i - z i) <= e i) -> average t m ->
  Rabs (m - mean z) <=
    (u * T z + u * all (fun i => Rabs (z i))) * (1 + gamma d u) / INR d + all e * (1 + gamma (S d) u) / INR d
    + u * Rabs (mean z) + (1 + INR d * (1 + gamma d u)) * w.
Proof.
intros G H A.
assert (G' : INR d * u < 1) by (rewrite S_INR in G; lra).
assert (e_pos : forall i, 0 <= e i) by (intros i; generalize (H i) (Rabs_pos (t i - z i)); lra).
assert (E := all_pos e e_pos). assert (Z := all_pos _ (fun i => Rabs_pos (z i))). assert (ZZ := all_abs z).
set (K := 1 + gamma d u). set (K' := 1 + gamma (S d) u).
assert (pow : forall n, (n <= d)%nat -> (1 + u) ^ n <= K) by (intros; apply pow_gamma; auto).
assert (pow' : (1 + u) ^ S d <= K') by (apply pow_gamma; auto).
assert (one := pow 0%nat ltac:(lia)). simpl in one.
assert (INR d * w <= INR d * K * w).
{ rewrite Rmult_assoc; apply Rmult_le_compat_l; [lra|]. rewrite <- (Rmult_1_l w) at 1.
  apply Rmult_le_compat_r; lra. }
assert (0 <= INR d * w) by (apply Rmult_le_pos; lra).
assert (uK : forall a, 0 <= a -> u * a <= u * a * K).
{ intros a P; rewrite <- (Rmult_1_r (u * a)) at 1; apply Rmult_le_compat_l; [apply Rmult_le_pos|]; lra. }
(* The error of the sum with up to two more roundings. *)
assert (sum2 : forall f e' q o s, order_of d o -> sums u q o s -> (forall i, Rabs (q i - f i) <= e' i) ->
    0 <= all e' -> Rabs (s - all f) * (1 + u) ^ 2 <= u * partial f o * K + all e' * K' /\
    Rabs (s - all f) <= u * partial f o * (1 + u) ^ (nodes o - 1) + all e' * (1 + u) ^ nodes o).
{ intros f e' q o s P Sq Q Q0. assert (N := nodes_of _ _ P).
  assert (B := sums_error u f q e' o s u_pos Q Sq).
  unfold all at 1 3; rewrite <- !(total_of d o _ P). rewrite (total_of d o e' P) in B; fold (all e') in B.
  assert (F := partial_pos f o). assert (uF : 0 <= u * partial f o) by (apply Rmult_le_pos; lra).
  assert (shift : u * partial f o * (1 + u) ^ (nodes o - 1) * (1 + u) ^ 2 <= u * partial f o * K).
  { rewrite Rmult_assoc, <- pow_add. destruct o as [i|a b]; [simpl; lra|].
    apply Rmult_le_compat_l; auto. apply pow. simpl in *; lia. }
  assert (n2 : (1 + u) ^ nodes o * (1 + u) ^ 2 <= K').
  { rewrite <- pow_add. replace (nodes o + 2)%nat with (S d) by lia. auto. }
  nra. }
assert (rhs : forall a b c f, a * INR d <= u * T z * K + b -> b <= c -> c <= u * all (fun i => Rabs (z i)) * K + all e * K' ->
    0 <= f -> f <= (1 + INR d * K) * w -> a + f <= (u * T z + u * all (fun i => Rabs (z i))) * K / INR d
      + all e * K' / INR d + (1 + INR d * K) * w).
{ intros a b c f P Q S _ F. apply Rplus_le_compat; auto. apply Rmult_le_reg_r with (1 := D_pos).
  field_simplify; lra. }
unfold mean; fold (all z). set (Y := all z) in *.
assert (absY : Rabs (Y / INR d) = Rabs Y / INR d) by (unfold Rdiv; rewrite Rabs_mult, (Rabs_pos_eq (/ _)); auto;
  apply Rlt_le, Rinv_0_lt_compat; auto).
assert (I := inverse).
assert (TZ : forall o, order_of d o -> u * partial z o * K <= u * T z * K).
{ intros o P; apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; [lra|]. apply partial_any_order; auto. }
destruct A as [o s c P S C M|o c q P C Q M].
- destruct (sum2 z e t o s P S H E) as (B & _), M as (x & y & X & W & ->). specialize (TZ o P). fold Y in B.
  destruct (near_sum _ _ _ C) as (k & Kk & ->).
  replace (s * (/ INR d * (1 + k)) * (1 + x) + y - Y / INR d) with
    ((s - Y) / INR d * ((1 + k) * (1 + x)) + (k + x * (1 + k)) * (Y / INR d) + y) by (field; lra).
  assert (uY : u * (1 + u) * Rabs Y <= u * all (fun i => Rabs (z i)) * K).
  { replace (u * all (fun i => Rabs (z i)) * K) with (u * K * all (fun i => Rabs (z i))) by ring.
    assert (1 + u <= K) by (generalize (pow 1%nat d_pos); simpl; lra).
    apply Rmult_le_compat; [apply Rmult_le_pos; lra|apply Rabs_pos| |exact ZZ]. apply Rmult_le_compat_l; lra. }
  assert (L : Rabs (s - Y) / INR d * (1 + u) ^ 2 + u * (1 + u) * Rabs Y / INR d + w <=
      (u * T z + u * all (fun i => Rabs (z i))) * K / INR d + all e * K' / INR d + (1 + INR d * K) * w).
  { apply rhs with (b := all e * K' + u * (1 + u) * Rabs Y) (c := all e * K' + u * all (fun i => Rabs (z i)) * K); try lra.
    replace ((Rabs (s - Y) / INR d * (1 + u) ^ 2 + u * (1 + u) * Rabs Y / INR d) * INR d) with
      (Rabs (s - Y) * (1 + u) ^ 2 + u * (1 + u) * Rabs Y) by (field; lra). lra. }
  apply Rle_trans with (Rabs (s - Y) / INR d * ((1 + u) * (1 + u)) + (u + u * (1 + u)) * (Rabs Y / INR d) + w).
  { unfold Rdiv; size. }
  rewrite absY in *. unfold Rdiv in *. lra.
- destruct (near_sum _ _ _ C) as (k & Kk & ->). set (c := / INR d * (1 + k)) in *.
  assert (c_le : Rabs c <= / INR d * (1 + u)) by size.
  set (e' := fun i => Rabs c * ((1 + u) * e i + u * Rabs (z i)) + w).
  assert (Q' : forall i, Rabs (q i - c * z i) <= e' i).
  { intros i; destruct (Q i) as (x & y & X & W & ->).
    replace (t i * c * (1 + x) + y - c * z i) with (c * ((1 + x) * (t i - z i) + x * z i) + y) by ring.
    specialize (H i). unfold e'. clear c_le. size. }
  assert (allE : all e' = Rabs c * ((1 + u) * all e + u * all (fun i => Rabs (z i))) + INR d * w).
  { unfold e'. rewrite <- all_const. unfold all. rewrite sum_plus, sum_scale, sum_plus, !sum_scale. reflexivity. }
  destruct (sum2 (fun i => c * z i) e' q o m P M Q') as (_ & B).
  { apply all_pos; intros i; unfold e'. assert (0 <= (1 + u) * e i + u * Rabs (z i)).
    { apply Rplus_le_le_0_compat; apply Rmult_le_pos; try lra; auto; apply Rabs_pos. }
    apply Rplus_le_le_0_compat; [apply Rmult_le_pos; [apply Rabs_pos|]|]; lra. }
  assert (N := nodes_of _ _ P).
  rewrite partial_scale, allE in B. replace (all (fun i => c * z i)) with (c * Y) in B
    by (unfold Y, all; symmetry; apply sum_scale).
  replace (m - Y / INR d) with (m - c * Y + k * (Y / INR d)) by (unfold c; field; lra).
  assert (Rabs (k * (Y / INR d)) <= u * Rabs (Y / INR d)) by (apply product_le; lra).
  assert (F := partial_pos z o). specialize (TZ o P).
  assert (part1 : u * (Rabs c * partial z o) * (1 + u) ^ (nodes o - 1) <= u * T z * K / INR d).
  { apply Rle_trans with (u * partial z o * ((1 + u) * (1 + u) ^ (nodes o - 1)) * / INR d).
    - replace (u * (Rabs c * partial z o) * (1 + u) ^ (nodes o - 1)) with
        (u * partial z o * (1 + u) ^ (nodes o - 1) * Rabs c) by ring.
      replace (u * partial z o * ((1 + u) * (1 + u) ^ (nodes o - 1)) * / INR d) with
        (u * partial z o * (1 + u) ^ (nodes o - 1) * (/ INR d * (1 + u))) by ring.
      apply Rmult_le_compat_l; auto. apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply pow_le; lra].
    - apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|]. apply Rle_trans with (2 := TZ).
      change ((1 + u) * (1 + u) ^ (nodes o - 1)) with ((1 + u) ^ S (nodes o - 1)).
      apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. apply pow; lia. }
  set (W := (1 + u) * all e + u * all (fun i => Rabs (z i))) in *.
  assert (W0 : 0 <= W) by (apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra).
  assert (g0 : 0 <= (1 + u) ^ nodes o) by (apply pow_le; lra).
  assert (part2 : Rabs c * W * (1 + u) ^ nodes o <= (all e * K' + u * all (fun i => Rabs (z i)) * K) / INR d).
  { apply Rle_trans with (/ INR d * (W * ((1 + u) * (1 + u) ^ nodes o))).
    - replace (/ INR d * (W * ((1 + u) * (1 + u) ^ nodes o))) with (/ INR d * (1 + u) * W * (1 + u) ^ nodes o) by ring.
      apply Rmult_le_compat_r; auto. apply Rmult_le_compat_r; auto.
    - unfold Rdiv; rewrite Rmult_comm. apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; auto|].
      change ((1 + u) * (1 + u) ^ nodes o) with ((1 + u) ^ S (nodes o)). replace (S (nodes o)) with d by lia.
      unfold W; rewrite Rmult_plus_distr_r. apply Rplus_le_compat.
      + replace ((1 + u) * all e * (1 + u) ^ d) with (all e * (1 + u) ^ S d) by (simpl; ring).
        apply Rmult_le_compat_l; auto.
      + apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|auto]. }
  assert (part3 : INR d * w * (1 + u) ^ nodes o <= INR d * K * w).
  { replace (INR d * K * w) with (INR d * w * K) by ring. apply Rmult_le_compat_l; auto. apply pow; lia. }
  generalize (Rabs_triang (m - c * Y) (k * (Y / INR d))). unfold Rdiv in *. lra.
Qed.

(** ** The mean *)

Hypothesis w_small : w <= u * om.
Hypothesis om_pos : 0 <= om.
Hypothesis guard : INR d * guard_terms * u + guard_rest * u < / 2.

Let G : INR (S d) * u < 1.
Proof. unfold guard_terms, guard_rest in guard; rewrite S_INR; nra. Qed.

Lemma gamma_guard k : (k <= S d)%nat -> 1 <= 1 + gamma k u <= 4 / 3.
Proof.
intros L; apply le_INR in L. rewrite S_INR in L.
assert (0 <= INR k * u) by (apply Rmult_le_pos; [apply pos_INR|auto]).
assert (INR k * u <= / 4) by (unfold guard_terms, guard_rest in guard; nra).
rewrite gamma_1 by lra. split.
- rewrite <- Rinv_1 at 1. apply Rinv_le_contravar; lra.
- replace (4 / 3) with (/ (3 / 4)) by field. apply Rinv_le_contravar; lra.
Qed.

(** The error of a mean of exact terms, in any order: the page's bound. *)
Definition alpha x :=
  u * T x * (1 + gamma d u) / INR d + u * ((1 + gamma d u) * mean (fun i => Rabs (x i)) + Rabs (mean x)) + 2 * om.

Theorem mean_error x m : average x m -> Rabs (m - mean x) <= alpha x.
Proof.
intros A. eapply Rle_trans; [apply (average_error x (fun _ => 0) x m); auto|].
{ intros i; rewrite Rminus_diag_eq by auto; rewrite Rabs_R0; lra. }
destruct (gamma_guard d ltac:(lia)) as [K1 K2].
rewrite all_const. unfold alpha, mean. set (K := 1 + gamma d u) in *.
assert ((1 + INR d * K) * w <= 2 * om).
{ assert (INR d * u <= / 4) by (unfold guard_terms, guard_rest in guard; nra).
  assert (u <= / 4) by (unfold guard_terms, guard_rest in guard; generalize (pos_INR d); nra).
  apply Rle_trans with ((1 + INR d * K) * (u * om)). apply Rmult_le_compat_l; [|auto]. nra.
  replace ((1 + INR d * K) * (u * om)) with ((u + INR d * u * K) * om) by ring.
  apply Rmult_le_compat_r; auto. assert (INR d * u * K <= / 4 * (4 / 3)).
  { apply Rmult_le_compat; try lra. apply Rmult_le_pos; lra. } lra. }
unfold Rdiv in *. lra.
Qed.

(** The sum divided by d. *)
Definition divided_mean x m := exists o s, order_of d o /\ sums u x o s /\ near u w (s / INR d) m.
Definition divided_alpha x := u * T x * (1 + gamma d u) / INR d + u * Rabs (mean x) + 2 * om.

Theorem divided_mean_error x m : divided_mean x m -> Rabs (m - mean x) <= divided_alpha x.
Proof.
intros (o & s & P & Sq & e & f & E & F & ->). assert (N := nodes_of _ _ P).
assert (B := sums_error u x x (fun _ => 0) o s u_pos ltac:(intros; rewrite Rminus_diag_eq, Rabs_R0; lra) Sq).
unfold total at 2 in B; rewrite sum_const, Rmult_0_r, Rmult_0_l, Rplus_0_r, (total_of d o x P) in B. fold (all x) in B.
assert (K : u * partial x o * (1 + u) ^ (nodes o - 1) * (1 + u) <= u * T x * (1 + gamma d u)).
{ assert (F0 := partial_pos x o). rewrite Rmult_assoc. apply Rmult_le_compat.
  - apply Rmult_le_pos; auto.
  - apply Rmult_le_pos; [apply pow_le|]; lra.
  - apply Rmult_le_compat_l; auto. apply partial_any_order; auto.
  - rewrite Rmult_comm. change ((1 + u) ^ S (nodes o - 1) <= 1 + gamma d u).
    apply pow_gamma; [auto|lia|rewrite S_INR in G; lra]. }
apply (Rmult_le_compat_r (1 + u)) in B; [|lra].
replace (s / INR d * (1 + e) + f - mean x) with ((s - all x) / INR d * (1 + e) + e * mean x + f)
  by (unfold mean; field; lra).
assert (Rabs (s - all x) / INR d * (1 + u) <= u * T x * (1 + gamma d u) / INR d).
{ apply Rmult_le_reg_r with (INR d); auto. field_simplify; lra. }
assert (w <= 2 * om).
{ apply Rle_trans with (1 := w_small). assert (u <= / 2) by (unfold guard_terms, guard_rest in guard; generalize (pos_INR d); nra).
  nra. }
apply Rle_trans with (Rabs (s - all x) / INR d * (1 + u) + u * Rabs (mean x) + w); [|unfold divided_alpha; lra].
assert (I := inverse). unfold Rdiv; size.
Qed.

(** ** The mean square *)

(** v is a computed mean of the squares of x - m. *)
Definition mean_square x m v := exists c t,
  (forall i, near u 0 (x i - m) (c i)) /\ (forall i, near u w (c i * c i) (t i)) /\ average t v.

Theorem mean_square_error x m v : mean_square x m v ->
  let z i := (x i - m) ^ 2 in
  Rabs (v - mean z) <= u * T z * (1 + gamma d u) / INR d + square * u * mean z + 4 * om.
Proof.
intros (c & t & C & Q & A) z.
assert (u20 : u <= / 20).
{ unfold guard_terms, guard_rest in guard. apply le_INR in d_pos; simpl in d_pos. nra. }
assert (Z : forall i, 0 <= z i) by (intros i; unfold z; apply pow2_ge_0).
set (k := 3 * u + 3 * u ^ 2 + u ^ 3).
assert (k_pos : 0 <= k) by (unfold k; nra).
eapply Rle_trans; [apply (average_error z (fun i => k * z i + w) t v); auto|].
{ intros i; destruct (Q i) as (b & y & B & Y & ->), (near_sum _ _ _ (C i)) as (a & Aa & ->).
  replace ((x i - m) * (1 + a) * ((x i - m) * (1 + a)) * (1 + b) + y - z i)
    with (((1 + a) * (1 + a) * (1 + b) - 1) * z i + y) by (unfold z; ring).
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; auto.
  apply product_le; [|apply own_size; auto].
  replace ((1 + a) * (1 + a) * (1 + b) - 1) with (a * (1 + a) * (1 + b) + (a * (1 + b) + b)) by ring.
  replace k with (u * (1 + u) * (1 + u) + (u * (1 + u) + u)) by (unfold k; ring).
  size. }
destruct (gamma_guard d ltac:(lia)) as [K1 K2]. destruct (gamma_guard (S d) ltac:(lia)) as [K3 K4].
set (K := 1 + gamma d u) in *. set (K' := 1 + gamma (S d) u) in *.
assert (M : 0 <= mean z) by (apply mean_pos; auto).
rewrite (Rabs_pos_eq (mean z)) by auto.
replace (all (fun i => k * z i + w)) with (k * all z + INR d * w).
2: { rewrite <- all_const. unfold all; rewrite sum_plus, sum_scale; reflexivity. }
replace (all (fun i => Rabs (z i))) with (all z).
2: { unfold all; f_equal; apply map_ext; intros; rewrite Rabs_pos_eq; auto. }
replace ((u * T z + u * all z) * K / INR d) with (u * T z * K / INR d + u * K * mean z) by (unfold mean; field; lra).
replace ((k * all z + INR d * w) * K' / INR d) with (k * K' * mean z + K' * w) by (unfold mean; field; lra).
assert (k * K' + u * K + u <= square * u).
{ unfold square. assert (k <= (3 + 3 / 20 + / 400) * u) by (unfold k; nra).
  assert (k * K' <= (3 + 3 / 20 + / 400) * u * (4 / 3)) by (apply Rmult_le_compat; lra).
  assert (u * K <= u * (4 / 3)) by (apply Rmult_le_compat_l; lra). lra. }
assert ((k * K' + u * K + u) * mean z <= square * u * mean z) by (apply Rmult_le_compat_r; auto).
assert (K' * w + (1 + INR d * K) * w <= 4 * om).
{ assert (INR d * u <= / 4) by (unfold guard_terms, guard_rest in guard; nra).
  replace (K' * w + (1 + INR d * K) * w) with ((K' + 1 + INR d * K) * w) by ring.
  apply Rle_trans with ((K' + 1 + INR d * K) * (u * om)).
  { apply Rmult_le_compat_l; auto. generalize (Rmult_le_pos _ _ (pos_INR d) (Rle_trans _ _ _ Rle_0_1 K1)); lra. }
  replace ((K' + 1 + INR d * K) * (u * om)) with (((K' + 1) * u + INR d * u * K) * om) by ring.
  apply Rmult_le_compat_r; auto. nra. }
lra.
Qed.

End Means.
