(** Merged means (Welford; Chan, Golub and LeVeque), in any tree, to all orders in u. *)
From Rounding Require Export Means.

Section Merging.

Variables (u w : R) (x : nat -> R).
Hypothesis u_pos : 0 <= u.
Hypothesis u_small : u <= / 20.
Hypothesis w_pos : 0 <= w.

Definition size o := INR (S (nodes o)).
Definition part_mean o := total x o / size o.
Definition part_abs o := total (fun i => Rabs (x i)) o.

(** m is a computed mean of the terms of the order o, with at most l levels of weighted merges above each term.
    A part that is not larger is merged into another by an increment; or the means are weighted, (n_a/n) m_a + (n_b/n) m_b. *)
Inductive merges : order -> nat -> R -> Prop :=
  | merges_leaf i : merges (Leaf i) 0 (x i)
  | merges_into a b l l' ma mb c delta step m : merges a l ma -> merges b l' mb -> (nodes b <= nodes a)%nat ->
      near u 0 (mb - ma) delta -> near u 0 (size b / size (Node a b)) c -> near u w (delta * c) step ->
      near u 0 (ma + step) m -> merges (Node a b) (max l l') m
  | merges_weighted a b l l' ma mb c ca cb pa pb m : merges a l ma -> merges b l' mb ->
      near u 0 (/ size (Node a b)) c -> near u 0 (size a * c) ca -> near u 0 (size b * c) cb ->
      near u w (ca * ma) pa -> near u w (cb * mb) pb -> near u 0 (pa + pb) m -> merges (Node a b) (S (max l l')) m.

(** Three roundings. *)
Definition three := (1 + u) ^ 3 - 1.

(** Sums over the nodes: of n_b |m_b - m_a| for the smaller part b, of its size, of n_b (m_b - m_a)^2, and of n. *)
Fixpoint smaller o := match o with Leaf _ => 0 | Node a b => Rmin (size a) (size b) + (smaller a + smaller b) end.
Fixpoint apart o := match o with
  Leaf _ => 0 | Node a b => Rmin (size a) (size b) * Rabs (part_mean b - part_mean a) + (apart a + apart b) end.
Fixpoint squares o := match o with
  Leaf _ => 0 | Node a b => Rmin (size a) (size b) * (part_mean b - part_mean a) ^ 2 + (squares a + squares b) end.
Fixpoint sizes o := match o with Leaf _ => 0 | Node a b => size o + (sizes a + sizes b) end.

Lemma size_pos o : 1 <= size o.
Proof. unfold size. rewrite S_INR. generalize (pos_INR (nodes o)); lra. Qed.

Lemma size_node a b : size (Node a b) = size a + size b.
Proof. unfold size; simpl nodes. rewrite <- plus_INR. f_equal; lia. Qed.

Lemma total_size o : total x o = size o * part_mean o.
Proof. unfold part_mean; field. generalize (size_pos o); lra. Qed.

Lemma least_pos a b : 0 <= Rmin (size a) (size b).
Proof. generalize (size_pos a) (size_pos b). unfold Rmin; destruct Rle_dec; lra. Qed.

Lemma smaller_pos o : 0 <= smaller o.
Proof. induction o as [|a IHa b IHb]; simpl; [lra|]. generalize (least_pos a b); lra. Qed.

Lemma apart_pos o : 0 <= apart o.
Proof.
induction o as [|a IHa b IHb]; simpl; [lra|].
generalize (Rmult_le_pos _ _ (least_pos a b) (Rabs_pos (part_mean b - part_mean a))); lra.
Qed.

Lemma squares_pos o : 0 <= squares o.
Proof.
induction o as [|a IHa b IHb]; simpl squares; [lra|].
generalize (Rmult_le_pos _ _ (least_pos a b) (pow2_ge_0 (part_mean b - part_mean a))); lra.
Qed.

Lemma sizes_pos o : 0 <= sizes o.
Proof. induction o as [|a IHa b IHb]; simpl sizes; [lra|]. generalize (size_pos (Node a b)); lra. Qed.

Lemma part_abs_pos o : 0 <= part_abs o.
Proof. apply sum_pos; intros; apply Rabs_pos. Qed.

Lemma total_abs o : Rabs (total x o) <= part_abs o.
Proof. unfold total, part_abs, total; rewrite <- (map_map x Rabs); apply sum_abs. Qed.


Let three_pos : 0 <= three.
Proof. unfold three; simpl; nra. Qed.

Let theta a b c : Rabs a <= u -> Rabs b <= u -> Rabs c <= u -> Rabs ((1 + a) * (1 + b) * (1 + c) - 1) <= three.
Proof.
intros A B C. replace ((1 + a) * (1 + b) * (1 + c) - 1) with (a * (1 + b) * (1 + c) + (b * (1 + c) + c)) by ring.
replace three with (u * (1 + u) * (1 + u) + (u * (1 + u) + u)) by (unfold three; ring).
size.
Qed.

Let budget o l := u * partial x o + three * apart o + three * (INR l * part_abs o) + 2 * w * sizes o.

Let budget_pos o l : 0 <= budget o l.
Proof.
unfold budget. repeat apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try lra;
  auto using partial_pos, apart_pos, part_abs_pos, sizes_pos, pos_INR.
Qed.

(* One more node: the errors of both parts, what the node adds with one more rounding, and its last rounding. *)
Let node a b l l' h ea eb t : Rabs ea <= budget a l * (1 + u) ^ (4 * nodes a) -> Rabs eb <= budget b l' * (1 + u) ^ (4 * nodes b) ->
  0 <= t -> budget a l + budget b l' + t + u * Rabs (total x (Node a b)) <= budget (Node a b) h ->
  ((1 + three) * (Rabs ea + Rabs eb) + t) * (1 + u) + u * Rabs (total x (Node a b)) <=
    budget (Node a b) h * (1 + u) ^ (4 * nodes (Node a b)).
Proof.
intros A B T H. assert (mono : forall n k, (n <= k)%nat -> (1 + u) ^ n <= (1 + u) ^ k) by (intros; apply Rle_pow; [lra|auto]).
set (G := (1 + u) ^ (4 * (nodes a + nodes b))).
assert (A' : Rabs ea <= budget a l * G).
{ apply Rle_trans with (1 := A), Rmult_le_compat_l; auto. apply mono; lia. }
assert (B' : Rabs eb <= budget b l' * G).
{ apply Rle_trans with (1 := B), Rmult_le_compat_l; auto. apply mono; lia. }
assert (G1 : 1 <= G) by (apply (mono 0%nat); lia).
assert (g4 : (1 + three) * (1 + u) = (1 + u) ^ 4) by (unfold three; ring).
assert (g1 : 1 + u <= (1 + u) ^ 4) by (rewrite <- (pow_1 (1 + u)) at 1; apply mono; lia).
replace ((1 + u) ^ (4 * nodes (Node a b))) with ((1 + u) ^ 4 * G) by (unfold G; rewrite <- pow_add; f_equal; simpl nodes; lia).
set (q := (1 + u) ^ 4) in *. assert (U := Rabs_pos (total x (Node a b))).
assert (small : (t + u * Rabs (total x (Node a b))) * (1 + u) <= (t + u * Rabs (total x (Node a b))) * (q * G)).
{ apply Rmult_le_compat_l; [nra|]. apply Rle_trans with (1 := g1). rewrite <- (Rmult_1_r q) at 1. apply Rmult_le_compat_l; lra. }
assert (large : (Rabs ea + Rabs eb) * q <= (budget a l + budget b l') * (q * G)).
{ apply Rle_trans with ((budget a l * G + budget b l' * G) * q); [apply Rmult_le_compat_r; lra|]. apply Req_le; ring. }
apply Rle_trans with ((budget a l + budget b l' + t + u * Rabs (total x (Node a b))) * (q * G)).
2: { apply Rmult_le_compat_r; auto. apply Rmult_le_pos; lra. }
assert (0 <= u * Rabs (total x (Node a b)) * u) by (repeat apply Rmult_le_pos; auto).
replace (((1 + three) * (Rabs ea + Rabs eb) + t) * (1 + u)) with ((Rabs ea + Rabs eb) * ((1 + three) * (1 + u)) + t * (1 + u)) by ring.
rewrite g4. lra.
Qed.

(** The error of n m, to all orders. *)
Theorem merged_error o l m : merges o l m ->
  Rabs (size o * m - total x o) <=
    (u * partial x o + three * apart o + three * (INR l * part_abs o) + 2 * w * sizes o) * (1 + u) ^ (4 * nodes o).
Proof.
assert (levels : forall a b n k, INR n * part_abs a + INR k * part_abs b <= INR (max n k) * part_abs (Node a b)).
{ intros a b n k. replace (part_abs (Node a b)) with (part_abs a + part_abs b) by (unfold part_abs; rewrite total_node; auto).
  assert (INR n <= INR (max n k) /\ INR k <= INR (max n k)) as [L L'] by (split; apply le_INR; lia).
  apply (Rmult_le_compat_r (part_abs a)) in L; [|apply part_abs_pos].
  apply (Rmult_le_compat_r (part_abs b)) in L'; [|apply part_abs_pos]. lra. }
induction 1 as [i|a b l l' ma mb c delta step m _ IHa _ IHb N D C S M|a b l l' ma mb c ca cb pa pb m _ IHa _ IHb C CA CB PA PB M].
- unfold size, total, part_abs, total; simpl. rewrite !Rmult_0_r, !Rmult_0_l, !Rplus_0_r, Rmult_1_l, Rminus_diag_eq, Rabs_R0 by ring. lra.
- destruct (near_sum _ _ _ D) as (d1 & D1 & ->), (near_sum _ _ _ C) as (d2 & D2 & ->), (near_sum _ _ _ M) as (d4 & D4 & ->).
  destruct S as (d3 & e & D3 & E & ->).
  assert (sa := size_pos a). assert (sb := size_pos b). assert (sn := size_node a b).
  assert (nb : size b <= size a) by (apply le_INR; lia).
  set (n := size (Node a b)) in *. set (th := (1 + d1) * (1 + d2) * (1 + d3) - 1). assert (TH := theta d1 d2 d3 D1 D2 D3). fold th in TH.
  set (ea := size a * ma - total x a) in *. set (eb := size b * mb - total x b) in *.
  set (gap := part_mean b - part_mean a).
  replace (n * ((ma + ((mb - ma) * (1 + d1) * (size b / n * (1 + d2)) * (1 + d3) + e)) * (1 + d4)) - total x (Node a b)) with
    ((ea + eb + (th * (size b * gap + (eb - size b / size a * ea)) + n * e)) * (1 + d4) + d4 * total x (Node a b)).
  2: { unfold ea, eb, th, gap; rewrite total_node, !total_size. field_simplify; [|lra|lra]. rewrite sn. field. lra. }
  assert (R : Rabs (size b / size a * ea) <= Rabs ea).
  { rewrite Rabs_mult. rewrite <- (Rmult_1_l (Rabs ea)) at 2. apply Rmult_le_compat_r; [apply Rabs_pos|].
    rewrite Rabs_pos_eq; [|apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]].
    apply Rmult_le_reg_r with (size a); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. }
  eapply Rle_trans; [|apply (node a b l l' (max l l') ea eb (three * (size b * Rabs gap) + n * w) IHa IHb)].
  + assert (Sb := own_size (size b) ltac:(lra)). assert (Sn := own_size n ltac:(lra)).
    apply Rle_trans with ((Rabs ea + Rabs eb + (three * (size b * Rabs gap + (Rabs eb + Rabs ea)) + n * w)) * (1 + u)
      + u * Rabs (total x (Node a b))); [size|]. apply Rplus_le_compat_r, Rmult_le_compat_r; lra.
  + apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; try lra. apply Rabs_pos.
  + unfold budget; simpl partial; simpl apart; simpl sizes. fold n gap. rewrite Rmin_right by lra.
    generalize (Rmult_le_compat_l _ _ _ three_pos (levels a b l l')) (Rmult_le_pos n w ltac:(lra) w_pos). lra.
- destruct (near_sum _ _ _ C) as (d1 & D1 & ->), (near_sum _ _ _ CA) as (d2 & D2 & ->), (near_sum _ _ _ CB) as (d3 & D3 & ->).
  destruct (near_sum _ _ _ M) as (d4 & D4 & ->), PA as (d5 & e & D5 & E & ->), PB as (d6 & f & D6 & F & ->).
  assert (sa := size_pos a). assert (sb := size_pos b). assert (sn := size_node a b).
  set (n := size (Node a b)) in *.
  set (ta := (1 + d1) * (1 + d2) * (1 + d5) - 1). assert (TA := theta d1 d2 d5 D1 D2 D5). fold ta in TA.
  set (tb := (1 + d1) * (1 + d3) * (1 + d6) - 1). assert (TB := theta d1 d3 d6 D1 D3 D6). fold tb in TB.
  set (ea := size a * ma - total x a) in *. set (eb := size b * mb - total x b) in *.
  replace (_ - total x (Node a b)) with ((ea + eb + (ta * (ea + total x a) + tb * (eb + total x b) + n * (e + f))) * (1 + d4)
      + d4 * total x (Node a b)) by (unfold ea, eb, ta, tb; rewrite total_node; field; lra).
  eapply Rle_trans; [|apply (node a b l l' (S (max l l')) ea eb (three * (part_abs a + part_abs b) + n * (w + w)) IHa IHb)].
  + assert (Sn := own_size n ltac:(lra)). assert (Ta := total_abs a). assert (Tb := total_abs b).
    apply Rle_trans with ((Rabs ea + Rabs eb + (three * (Rabs ea + part_abs a) + three * (Rabs eb + part_abs b)
      + n * (w + w))) * (1 + u) + u * Rabs (total x (Node a b))); [size|]. apply Rplus_le_compat_r, Rmult_le_compat_r; lra.
  + generalize (part_abs_pos a) (part_abs_pos b); intros.
    apply Rplus_le_le_0_compat; repeat apply Rmult_le_pos; lra.
  + unfold budget; simpl partial; simpl apart; simpl sizes. fold n. rewrite S_INR.
    assert (part : part_abs (Node a b) = part_abs a + part_abs b) by (unfold part_abs; apply total_node).
    generalize (Rmult_le_pos _ _ (least_pos a b) (Rabs_pos (part_mean b - part_mean a))); intros.
    generalize (Rmult_le_compat_l _ _ _ three_pos (levels a b l l')). rewrite part. nra.
Qed.

(** ** The sums over the nodes *)

(** Each term is in the smaller part at most once a doubling. *)
Lemma smaller_le o k : (S (nodes o) <= 2 ^ k)%nat -> smaller o <= size o * INR k.
Proof.
revert k; induction o as [i|a IHa b IHb]; intros k K.
- simpl. unfold size; simpl. generalize (pos_INR k); lra.
- simpl nodes in K. destruct k as [|k]; [simpl in K; lia|].
  simpl smaller. rewrite size_node. simpl Nat.pow in K.
  assert (sa := size_pos a). assert (sb := size_pos b). generalize (pos_INR k); intros.
  destruct (Nat.le_ge_cases (nodes b) (nodes a)) as [N|N].
  + assert (size b <= size a) by (apply le_INR; lia). rewrite Rmin_right by lra.
    specialize (IHa (S k) ltac:(simpl Nat.pow; lia)). specialize (IHb k ltac:(lia)). rewrite S_INR in *. lra.
  + assert (size a <= size b) by (apply le_INR; lia). rewrite Rmin_left by lra.
    specialize (IHb (S k) ltac:(simpl Nat.pow; lia)). specialize (IHa k ltac:(lia)). rewrite S_INR in *. lra.
Qed.

Definition scatter o := total (fun i => (x i - part_mean o) ^ 2) o.

Lemma scatter_about o m : total (fun i => (x i - m) ^ 2) o = scatter o + size o * (part_mean o - m) ^ 2.
Proof.
unfold scatter, total. transitivity (sum (map (fun i => (x i - part_mean o) ^ 2 +
  (2 * (part_mean o - m) * x i + - ((part_mean o - m) * (part_mean o + m)))) (leaves o))).
- f_equal; apply map_ext; intros; ring.
- rewrite (sum_plus _ (fun i => (x i - part_mean o) ^ 2)), (sum_plus _ (fun i => 2 * (part_mean o - m) * x i)).
  rewrite sum_scale, (sum_const _ (- ((part_mean o - m) * (part_mean o + m)))), length_leaves.
  fold (total x o). fold (size o). rewrite total_size. ring.
Qed.

Lemma scatter_node a b : scatter (Node a b) =
  scatter a + scatter b + size a * size b / size (Node a b) * (part_mean b - part_mean a) ^ 2.
Proof.
assert (sa := size_pos a). assert (sb := size_pos b). unfold scatter at 1. rewrite total_node, !scatter_about.
assert (P : part_mean (Node a b) = (size a * part_mean a + size b * part_mean b) / (size a + size b)).
{ unfold part_mean at 1. rewrite total_node, !total_size, size_node. reflexivity. }
rewrite P, size_node. field. lra.
Qed.

(** The squares of the differences of means, weighted, are at most twice the sum of squares. *)
Lemma squares_le o : squares o <= 2 * scatter o.
Proof.
induction o as [i|a IHa b IHb].
- simpl. unfold scatter, part_mean, total, size; simpl. right; field.
- assert (sa := size_pos a). assert (sb := size_pos b). simpl squares. rewrite scatter_node, size_node.
  assert (Rmin (size a) (size b) * (part_mean b - part_mean a) ^ 2 <=
      2 * (size a * size b / (size a + size b) * (part_mean b - part_mean a) ^ 2)); [|lra].
  rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply pow2_ge_0|].
  apply Rmult_le_reg_r with (size a + size b); [lra|]. unfold Rdiv. rewrite !Rmult_assoc, Rinv_l by lra.
  unfold Rmin; destruct Rle_dec; nra.
Qed.

(** Cauchy and Schwarz. *)
Lemma two_squares a c p q r s : 0 <= a -> 0 <= c -> 0 <= p -> 0 <= q -> 0 <= r -> 0 <= s ->
  a ^ 2 <= p * q -> c ^ 2 <= r * s -> (a + c) ^ 2 <= (p + r) * (q + s).
Proof.
intros A C P Q R S H K. assert (2 * (a * c) <= p * s + r * q); [|nra].
apply Rsqr_incr_0_var; [|apply Rplus_le_le_0_compat; apply Rmult_le_pos; auto]. unfold Rsqr.
assert (a ^ 2 * c ^ 2 <= (p * q) * (r * s)) by (apply Rmult_le_compat; auto; apply pow2_ge_0).
assert (0 <= (p * s - r * q) ^ 2) by apply pow2_ge_0. nra.
Qed.

Lemma apart_le o : apart o ^ 2 <= smaller o * squares o.
Proof.
induction o as [|a IHa b IHb]; [simpl; lra|]. simpl apart; simpl smaller; simpl squares.
assert (M := least_pos a b).
apply two_squares; try (apply Rplus_le_le_0_compat; auto using apart_pos, smaller_pos, squares_pos); auto.
- apply Rmult_le_pos; auto using Rabs_pos.
- apply Rmult_le_pos; [auto|apply (pow2_ge_0 (part_mean b - part_mean a))].
- right. change ((part_mean b - part_mean a) * ((part_mean b - part_mean a) * 1)) with ((part_mean b - part_mean a) ^ 2).
  rewrite Rpow_mult_distr, pow2_abs. ring.
- apply two_squares; auto using apart_pos, smaller_pos, squares_pos.
Qed.

Lemma sizes_le o : sizes o <= size o * INR (nodes o).
Proof.
induction o as [|a IHa b IHb]; simpl sizes; [simpl; lra|]. rewrite size_node. simpl nodes. rewrite S_INR, plus_INR.
generalize (size_pos a) (size_pos b) (pos_INR (nodes a)) (pos_INR (nodes b)); nra.
Qed.

(** ** The bound of the page *)

Definition merged_alpha d k l :=
  (u * T d x / INR d + increment * u * sqrt (INR k * mean d (fun i => (x i - mean d x) ^ 2))
    + three * INR l * mean d (fun i => Rabs (x i)) + 2 * w * INR d) * (1 + gamma (merged_steps * d) u).

Theorem merged_mean d o k l m : order_of d o -> (d <= 2 ^ k)%nat -> INR (merged_steps * d) * u < 1 -> merges o l m ->
  Rabs (m - mean d x) <= merged_alpha d k l.
Proof.
intros P K G M. assert (N := nodes_of _ _ P). assert (sd : size o = INR d) by (unfold size; rewrite N; auto).
assert (D1 := size_pos o). rewrite sd in D1.
assert (pm : part_mean o = mean d x) by (unfold part_mean, mean, all; rewrite sd, (total_of d o x P); auto).
assert (S : scatter o = INR d * mean d (fun i => (x i - mean d x) ^ 2)).
{ unfold scatter. rewrite pm, (total_of d o _ P). unfold mean at 2, all. field. lra. }
set (v := mean d (fun i => (x i - mean d x) ^ 2)) in *.
assert (A : apart o <= INR d * (14143 / 10000 * sqrt (INR k * v))).
{ assert (V : 0 <= INR k * v).
  { apply Rmult_le_pos; [apply pos_INR|]. apply mean_pos; intros; apply pow2_ge_0. }
  apply Rsqr_incr_0_var; [|repeat apply Rmult_le_pos; try lra; apply sqrt_pos]. rewrite Rsqr_pow2.
  apply Rle_trans with (1 := apart_le o).
  apply Rle_trans with ((INR d * INR k) * (2 * (INR d * v))).
  { apply Rmult_le_compat; auto using smaller_pos, squares_pos.
    - rewrite <- sd. apply smaller_le. lia.
    - rewrite <- S. apply squares_le. }
  replace (Rsqr (INR d * (14143 / 10000 * sqrt (INR k * v)))) with
    ((INR d) ^ 2 * ((14143 / 10000) ^ 2 * (sqrt (INR k * v) * sqrt (INR k * v)))) by (unfold Rsqr; ring).
  rewrite sqrt_sqrt by auto. replace (INR d * INR k * (2 * (INR d * v))) with (INR d ^ 2 * (2 * (INR k * v))) by ring.
  apply Rmult_le_compat_l; [apply pow2_ge_0|]. apply Rmult_le_compat_r; auto. lra. }
assert (E := merged_error o l m M).
assert (abs : part_abs o = INR d * mean d (fun i => Rabs (x i))).
{ unfold part_abs. rewrite (total_of d o _ P). unfold mean, all. field; lra. }
assert (g : (1 + u) ^ (4 * nodes o) <= 1 + gamma (merged_steps * d) u) by (apply pow_gamma; auto; unfold merged_steps; lia).
assert (pt := partial_any_order x d o P). fold (T d x) in pt. assert (sz := sizes_le o). rewrite sd in sz.
assert (szd : sizes o <= INR d * INR d).
{ apply Rle_trans with (1 := sz), Rmult_le_compat_l; [lra|]. apply le_INR; lia. }
apply Rmult_le_reg_l with (INR d); [lra|].
replace (INR d * Rabs (m - mean d x)) with (Rabs (size o * m - total x o)).
2: { rewrite sd, total_size, sd, pm, <- Rmult_minus_distr_l, Rabs_mult, (Rabs_pos_eq (INR d)); lra. }
apply Rle_trans with (1 := E). unfold merged_alpha; fold v. rewrite <- (Rmult_assoc (INR d)).
apply Rmult_le_compat; auto.
{ apply (budget_pos o l). } { apply pow_le; lra. }
assert (three <= 316 / 100 * u) by (unfold three; nra).
assert (0 <= sqrt (INR k * v)) by apply sqrt_pos.
assert (three * apart o <= INR d * (increment * u * sqrt (INR k * v))).
{ apply Rle_trans with (316 / 100 * u * (INR d * (14143 / 10000 * sqrt (INR k * v)))).
  { apply Rmult_le_compat; auto using apart_pos. }
  unfold increment. assert (0 <= u * (INR d * sqrt (INR k * v))) by (repeat apply Rmult_le_pos; lra). lra. }
rewrite abs. assert (u * partial x o <= u * T d x) by (apply Rmult_le_compat_l; auto).
assert (2 * w * sizes o <= 2 * w * (INR d * INR d)) by (apply Rmult_le_compat_l; lra).
replace (INR d * (u * T d x / INR d + increment * u * sqrt (INR k * v) + three * INR l * mean d (fun i => Rabs (x i))
  + 2 * w * INR d)) with (u * T d x + INR d * (increment * u * sqrt (INR k * v))
  + three * (INR l * (INR d * mean d (fun i => Rabs (x i)))) + 2 * w * (INR d * INR d)) by (field; lra).
lra.
Qed.

End Merging.
