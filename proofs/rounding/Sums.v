(** Computed sums: every binary tree over every permutation of the terms, to all orders in u. *)
From Rounding Require Export Constants.
Import ListNotations.

(** z rounded. Relations, not functions: every rounding mode that keeps the bounds, exact steps and wider
    formats are included. Additions have w = 0, since they do not underflow; products and quotients lose at most w. *)
Definition near (u w z r : R) := exists d e, Rabs d <= u /\ Rabs e <= w /\ r = z * (1 + d) + e.

Lemma near_sum u z r : near u 0 z r -> exists d, Rabs d <= u /\ r = z * (1 + d).
Proof.
intros (d & e & D & E & ->); exists d; split; auto.
replace e with 0; [ring|]. revert E; unfold Rabs; destruct Rcase_abs; lra.
Qed.

Lemma product_le a b x y : Rabs a <= x -> Rabs b <= y -> Rabs (a * b) <= x * y.
Proof. intros; rewrite Rabs_mult; apply Rmult_le_compat; auto; apply Rabs_pos. Qed.

Lemma sum_of_two a b x y : Rabs a <= x -> Rabs b <= y -> Rabs (a + b) <= x + y.
Proof. intros; eapply Rle_trans; [apply Rabs_triang|lra]. Qed.

Lemma difference a b x y : Rabs a <= x -> Rabs b <= y -> Rabs (a - b) <= x + y.
Proof. intros; apply sum_of_two; auto. rewrite Rabs_Ropp; auto. Qed.

Lemma own_size a : 0 <= a -> Rabs a <= a.
Proof. intros; rewrite Rabs_pos_eq; lra. Qed.

Lemma quotient_pos a b : 0 <= a -> 0 < b -> 0 <= a / b.
Proof. intros; apply Rmult_le_pos; [auto|apply Rlt_le, Rinv_0_lt_compat; auto]. Qed.

(* A bound of the same shape as the expression. *)
Ltac size := repeat first [assumption | apply difference | apply sum_of_two | apply product_le | apply own_size, Rle_0_1 | apply Rle_refl].

(** ** Trees *)

Inductive order := Leaf (i : nat) | Node (a b : order).

Fixpoint leaves o := match o with Leaf i => [i] | Node a b => leaves a ++ leaves b end.
Fixpoint nodes o := match o with Leaf _ => 0%nat | Node a b => S (nodes a + nodes b) end.
Definition order_of d o := Permutation (leaves o) (seq 0 d).

Fixpoint sum l := match l with [] => 0 | a :: l => a + sum l end.
Definition total (z : nat -> R) o := sum (map z (leaves o)).

(** Sum of the absolute partial sums. *)
Fixpoint partial z o := match o with
  | Leaf _ => 0
  | Node a b => Rabs (total z o) + (partial z a + partial z b)
  end.

(** r is a computed sum of the numbers t in the order o. *)
Inductive sums u (t : nat -> R) : order -> R -> Prop :=
  | sums_leaf i : sums u t (Leaf i) (t i)
  | sums_node a b s s' r : sums u t a s -> sums u t b s' -> near u 0 (s + s') r -> sums u t (Node a b) r.

Lemma sum_app l m : sum (l ++ m) = sum l + sum m.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sum_perm l m : Permutation l m -> sum l = sum m.
Proof. induction 1; simpl; lra. Qed.

Lemma sum_le A (f g : A -> R) l : (forall i, f i <= g i) -> sum (map f l) <= sum (map g l).
Proof. intros H; induction l as [|a l IH]; simpl; [lra|]. specialize (H a); lra. Qed.

Lemma sum_scale A k (f : A -> R) l : sum (map (fun i => k * f i) l) = k * sum (map f l).
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sum_plus A (f g : A -> R) l : sum (map (fun i => f i + g i) l) = sum (map f l) + sum (map g l).
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; ring. Qed.

Lemma sum_const A k (l : list A) : sum (map (fun _ => k) l) = INR (length l) * k.
Proof. induction l as [|a l IH]; [simpl; ring|]. simpl length; rewrite S_INR; simpl; rewrite IH; ring. Qed.

Lemma sum_abs l : Rabs (sum l) <= sum (map Rabs l).
Proof.
induction l as [|a l IH]; simpl; [rewrite Rabs_R0; lra|].
eapply Rle_trans; [apply Rabs_triang|lra].
Qed.

Lemma sum_pos A (f : A -> R) l : (forall i, 0 <= f i) -> 0 <= sum (map f l).
Proof. intros H; induction l as [|a l IH]; simpl; [lra|]. specialize (H a); lra. Qed.

Lemma total_node z a b : total z (Node a b) = total z a + total z b.
Proof. unfold total; simpl; rewrite map_app; apply sum_app. Qed.

Lemma total_of d o z : order_of d o -> total z o = sum (map z (seq 0 d)).
Proof. intros P; apply sum_perm, Permutation_map, P. Qed.

Lemma partial_pos z o : 0 <= partial z o.
Proof. induction o; simpl; [lra|]. generalize (Rabs_pos (total z (Node o1 o2))); lra. Qed.

Lemma partial_scale k z o : partial (fun i => k * z i) o = Rabs k * partial z o.
Proof.
induction o as [i|a IHa b IHb]; simpl; [ring|].
unfold total; rewrite sum_scale, Rabs_mult, IHa, IHb; unfold total; ring.
Qed.

Lemma length_leaves o : length (leaves o) = S (nodes o).
Proof. induction o; simpl; [reflexivity|]. rewrite app_length; lia. Qed.

Lemma nodes_of d o : order_of d o -> S (nodes o) = d.
Proof.
intros P; rewrite <- length_leaves, <- (seq_length d 0); apply Permutation_length, P.
Qed.

(** ** Error of a sum whose terms t are already off by e *)

Lemma sums_error u z t e o s : 0 <= u -> (forall i, Rabs (t i - z i) <= e i) -> sums u t o s ->
  Rabs (s - total z o) <= u * partial z o * (1 + u) ^ (nodes o - 1) + total e o * (1 + u) ^ nodes o.
Proof.
intros U T; assert (E0 : forall o, 0 <= total e o).
{ intros c; apply sum_pos; intros i; generalize (T i) (Rabs_pos (t i - z i)); lra. }
induction 1 as [i|a b s s' r _ IHa _ IHb R].
- unfold total; simpl; rewrite !Rplus_0_r; generalize (T i); lra.
- assert (shift : forall c, partial z c * (1 + u) ^ (nodes c - 1) * (1 + u) = partial z c * (1 + u) ^ nodes c).
  { intros [i|c c']; [simpl; ring|]. simpl nodes. replace (S (nodes c + nodes c') - 1)%nat with (nodes c + nodes c')%nat
      by lia. simpl; ring. }
  assert (grow : forall n m, (n <= m)%nat -> 0 <= (1 + u) ^ n <= (1 + u) ^ m).
  { intros n m L; split; [apply pow_le; lra|apply Rle_pow; [lra|auto]]. }
  rewrite total_node. destruct (near_sum _ _ _ R) as (d & D & ->).
  set (S := total z a + total z b) in *.
  replace ((s + s') * (1 + d) - S) with ((s - total z a + (s' - total z b)) * (1 + d) + d * S) by (unfold S; ring).
  apply Rle_trans with ((Rabs (s - total z a) + Rabs (s' - total z b)) * (1 + u) + u * Rabs S).
  { apply sum_of_two; apply product_le; size. }
  simpl nodes; replace (Datatypes.S (nodes a + nodes b) - 1)%nat with (nodes a + nodes b)%nat by lia.
  destruct (grow (nodes a) (nodes a + nodes b)%nat) as [_ Ga]; [lia|].
  destruct (grow (nodes b) (nodes a + nodes b)%nat) as [_ Gb]; [lia|].
  destruct (grow 0%nat (nodes a + nodes b)%nat) as [_ G1]; [lia|]. simpl in G1.
  set (G := (1 + u) ^ (nodes a + nodes b)) in *.
  assert (part : forall c q, (1 + u) ^ nodes c <= G ->
      q <= u * partial z c * (1 + u) ^ (nodes c - 1) + total e c * (1 + u) ^ nodes c ->
      q * (1 + u) <= (u * partial z c + total e c * (1 + u)) * G).
  { intros c q L Q. apply Rmult_le_compat_r with (r := 1 + u) in Q; [|lra]. eapply Rle_trans; [exact Q|].
    rewrite Rmult_plus_distr_r, !(Rmult_assoc u), shift. generalize (partial_pos z c) (E0 c). intros.
    assert (partial z c * (1 + u) ^ nodes c <= partial z c * G) by (apply Rmult_le_compat_l; auto).
    assert (total e c * (1 + u) ^ nodes c <= total e c * G) by (apply Rmult_le_compat_l; auto). nra. }
  apply part in IHa; auto. apply part in IHb; auto.
  assert (u * Rabs S <= u * Rabs S * G).
  { rewrite <- (Rmult_1_r (u * Rabs S)) at 1. apply Rmult_le_compat_l; [|lra].
    apply Rmult_le_pos; [lra|apply Rabs_pos]. }
  simpl partial; simpl pow. rewrite !total_node. fold S G. nra.
Qed.

(** ** The bound that no order exceeds *)

Definition any_order l := INR (length l - 1) * sum (map Rabs l).

(** A term passes through at most [height o] additions. *)
Fixpoint height o := match o with Leaf _ => 0%nat | Node a b => S (max (height a) (height b)) end.

Theorem partial_height z o : partial z o <= INR (height o) * total (fun i => Rabs (z i)) o.
Proof.
assert (pos : forall c, 0 <= total (fun i => Rabs (z i)) c) by (intros c; apply sum_pos; intros; apply Rabs_pos).
induction o as [i|a IHa b IHb]; [simpl; generalize (pos (Leaf i)); lra|]. simpl partial; simpl height.
assert (Rabs (total z (Node a b)) <= total (fun i => Rabs (z i)) (Node a b)).
{ unfold total; rewrite <- (map_map z Rabs); apply sum_abs. }
rewrite !total_node in *.
assert (INR (height a) <= INR (max (height a) (height b))) as A by (apply le_INR; lia).
assert (INR (height b) <= INR (max (height a) (height b))) as B by (apply le_INR; lia).
apply (Rmult_le_compat_r _ _ _ (pos a)) in A. apply (Rmult_le_compat_r _ _ _ (pos b)) in B. rewrite S_INR. lra.
Qed.

Lemma height_nodes o : (height o <= nodes o)%nat.
Proof. induction o; simpl; lia. Qed.

Theorem partial_any_order z d o : order_of d o -> partial z o <= any_order (map z (seq 0 d)).
Proof.
intros P; apply Rle_trans with (1 := partial_height z o). unfold any_order.
rewrite map_length, seq_length, map_map, <- (total_of d o _ P), <- (nodes_of d o P). simpl; rewrite Nat.sub_0_r.
apply Rmult_le_compat_r; [apply sum_pos; intros; apply Rabs_pos|apply le_INR, height_nodes].
Qed.

(** ** Constants of Higham *)

Definition gamma k u := INR k * u / (1 - INR k * u).

Lemma gamma_1 k u : INR k * u < 1 -> 1 + gamma k u = / (1 - INR k * u).
Proof. intros; unfold gamma; field; lra. Qed.

Lemma pow_gamma n k u : 0 <= u -> (n <= k)%nat -> INR k * u < 1 -> (1 + u) ^ n <= 1 + gamma k u.
Proof.
intros U L K; rewrite gamma_1 by auto. apply Rle_trans with ((1 + u) ^ k). apply Rle_pow; [lra|auto].
clear n L. apply Rmult_le_reg_r with (1 - INR k * u); [lra|]. rewrite Rinv_l by lra.
induction k as [|k IH]; [simpl; lra|]. rewrite S_INR in *. simpl pow.
assert (0 <= INR k * u) by (apply Rmult_le_pos; [apply pos_INR|auto]).
assert (0 <= (1 + u) ^ k) by (apply pow_le; lra).
apply Rle_trans with ((1 + u) ^ k * (1 - INR k * u)); [|apply IH; nra].
rewrite (Rmult_comm (1 + u)), Rmult_assoc. apply Rmult_le_compat_l; nra.
Qed.

(** The page's bound of a sum, for every order. *)
Theorem sum_any_order u z d o s : 0 <= u -> INR d * u < 1 -> order_of d o -> sums u z o s ->
  Rabs (s - sum (map z (seq 0 d))) <= u * any_order (map z (seq 0 d)) * (1 + gamma d u).
Proof.
intros U G P S; assert (N := nodes_of _ _ P). rewrite <- (total_of d o z P).
eapply Rle_trans; [apply (sums_error u z z (fun _ => 0)) with (o := o); auto|].
- intros i; rewrite Rminus_diag_eq by auto; rewrite Rabs_R0; lra.
- unfold total at 1; rewrite sum_const, Rmult_0_r, Rmult_0_l, Rplus_0_r.
  assert (pow := pow_gamma (nodes o - 1) d u U ltac:(lia) G).
  assert (0 <= (1 + u) ^ (nodes o - 1)) by (apply pow_le; lra).
  generalize (partial_any_order z d o P) (partial_pos z o); intros.
  apply Rmult_le_compat; auto; [|apply Rmult_le_compat_l; auto]. apply Rmult_le_pos; auto.
Qed.

(** Larger terms have the larger bound. *)
Lemma any_order_le f g l : (forall i : nat, 0 <= f i <= g i) -> any_order (map f l) <= any_order (map g l).
Proof.
intros H; unfold any_order; rewrite !map_length, !map_map. apply Rmult_le_compat_l; [apply pos_INR|].
apply sum_le; intros i; specialize (H i); rewrite !Rabs_pos_eq; lra.
Qed.
