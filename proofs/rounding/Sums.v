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
  assert (Rabs (1 + d) <= 1 + u).
  { eapply Rle_trans; [apply Rabs_triang|]. rewrite Rabs_R1; lra. }
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  assert (Rabs d * Rabs S <= u * Rabs S) by (apply Rmult_le_compat_r; [apply Rabs_pos|auto]).
  assert (Rabs (s - total z a + (s' - total z b)) * Rabs (1 + d) <=
      (Rabs (s - total z a) + Rabs (s' - total z b)) * (1 + u)).
  { apply Rmult_le_compat; try apply Rabs_pos; [apply Rabs_triang|auto]. }
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

(** The largest sum of at most k terms. *)
Fixpoint top (k : nat) (l : list R) {struct l} := match l, k with
  | [], _ | _, O => 0
  | a :: l', S k' => Rmax (top k l') (a + top k' l')
  end.

(** f 2 + ... + f n *)
Fixpoint upto (f : nat -> R) n := match n with S (S _ as m) => upto f m + f n | _ => 0 end.

Definition most l k := Rmax (top k l) (top k (map Ropp l)).
Definition any_order l := match l with [] | [_] => 0 | _ => Rabs (sum l) + upto (most l) (length l - 1) end.

Lemma top_0 l : top 0 l = 0.
Proof. destruct l; reflexivity. Qed.

Lemma top_pos k l : 0 <= top k l.
Proof.
revert k; induction l as [|a l IH]; intros [|k]; simpl; try lra.
apply Rle_trans with (1 := IH (S k)), Rmax_l.
Qed.

Lemma top_next k l : top k l <= top (S k) l.
Proof.
revert k; induction l as [|a l IH]; intros [|k]; [simpl; lra..| |].
- rewrite top_0; apply top_pos.
- simpl; generalize (IH (S k)) (IH k); unfold Rmax; repeat destruct Rle_dec; lra.
Qed.

Lemma top_swap k a b l : top k (a :: b :: l) = top k (b :: a :: l).
Proof.
destruct k as [|[|k]]; simpl; rewrite ?top_0; [reflexivity| |]; unfold Rmax; repeat destruct Rle_dec; lra.
Qed.

Lemma top_perm l m : Permutation l m -> forall k, top k l = top k m.
Proof.
induction 1 as [|a l m _ IH|a b l|l m n _ IH _ IH']; intros k; auto.
- destruct k; simpl; rewrite ?IH; auto.
- apply top_swap.
- rewrite IH; auto.
Qed.

Lemma top_part l m : sum l <= top (length l) (l ++ m).
Proof.
induction l as [|a l IH]; simpl; [apply top_pos|].
apply Rle_trans with (2 := Rmax_r _ _); lra.
Qed.

Lemma top_le A (f g : A -> R) l : (forall i, f i <= g i) -> forall k, top k (map f l) <= top k (map g l).
Proof.
intros H; induction l as [|a l IH]; intros [|k]; simpl; try lra.
generalize (IH (S k)) (IH k) (H a); unfold Rmax; repeat destruct Rle_dec; lra.
Qed.

Lemma most_next l k : most l k <= most l (S k).
Proof.
unfold most. generalize (top_next k l) (top_next k (map Ropp l)); unfold Rmax; repeat destruct Rle_dec; lra.
Qed.

Lemma most_le l k m : (k <= m)%nat -> most l k <= most l m.
Proof. induction 1; [lra|]. eapply Rle_trans; [eassumption|apply most_next]. Qed.

Lemma upto_S f n : (1 <= n)%nat -> upto f (S n) = upto f n + f (S n).
Proof. destruct n; [lia|reflexivity]. Qed.

Lemma upto_shift f a b : (forall k m, (k <= m)%nat -> f k <= f m) -> (1 <= a)%nat -> (1 <= b)%nat ->
  upto f a + upto f b <= upto f (a + b - 1).
Proof.
intros M A; induction 1 as [|b B IH].
- simpl; replace (a + 1 - 1)%nat with a by lia; lra.
- rewrite upto_S by auto. replace (a + S b - 1)%nat with (S (a + b - 1)) by lia.
  rewrite upto_S by lia. assert (f (S b) <= f (S (a + b - 1))) by (apply M; lia). lra.
Qed.

(** A partial sum of k terms lies between the sums of the k largest positive and negative parts. *)
Lemma total_most z o l m : Permutation (map z (leaves o) ++ m) l -> Rabs (total z o) <= most l (length (leaves o)).
Proof.
intros P; unfold most, total; rewrite <- (map_length z (leaves o)).
rewrite <- (top_perm _ _ P), <- (top_perm _ _ (Permutation_map Ropp P)), map_app.
set (c := map z (leaves o)). generalize (top_part c m) (top_part (map Ropp c) (map Ropp m)).
rewrite map_length. replace (sum (map Ropp c)) with (- sum c) by (induction c; simpl; lra).
intros; apply Rabs_le; generalize (Rmax_l (top (length c) (c ++ m)) (top (length c) (map Ropp c ++ map Ropp m))).
generalize (Rmax_r (top (length c) (c ++ m)) (top (length c) (map Ropp c ++ map Ropp m))). lra.
Qed.

Lemma partial_upto z l o : forall m, Permutation (map z (leaves o) ++ m) l -> partial z o <= upto (most l) (S (nodes o)).
Proof.
induction o as [i|a IHa b IHb]; intros m P; [simpl; lra|].
simpl partial. simpl nodes. rewrite upto_S by lia.
generalize (total_most z (Node a b) l m P). rewrite length_leaves; simpl nodes. simpl leaves in P.
rewrite map_app, <- app_assoc in P.
specialize (IHa _ P). specialize (IHb (map z (leaves a) ++ m)).
assert (upto (most l) (S (nodes a)) + upto (most l) (S (nodes b)) <= upto (most l) (S (nodes a + nodes b))).
{ replace (S (nodes a + nodes b)) with (S (nodes a) + S (nodes b) - 1)%nat by lia.
  apply upto_shift; try lia. apply most_le. }
assert (partial z b <= upto (most l) (S (nodes b))); [apply IHb|intros; lra].
eapply Permutation_trans; [apply Permutation_app_comm|]. rewrite <- app_assoc.
eapply Permutation_trans; [|exact P]. apply Permutation_app_head, Permutation_app_comm.
Qed.

Theorem partial_any_order z d o : order_of d o -> partial z o <= any_order (map z (seq 0 d)).
Proof.
intros P; assert (N := nodes_of _ _ P). destruct o as [i|a b].
- simpl in N; subst d; simpl; lra.
- assert (Q : Permutation (map z (leaves a ++ leaves b)) (map z (seq 0 d))) by (apply Permutation_map, P).
  assert (L : length (map z (seq 0 d)) = d) by (rewrite map_length; apply seq_length).
  unfold any_order. destruct (map z (seq 0 d)) as [|x [|y l]] eqn:E; simpl in L, N; [lia..|]. rewrite <- E in Q |- *.
  clear x y l E L.
  simpl partial. replace (total z (Node a b)) with (sum (map z (seq 0 d))) by (symmetry; apply sum_perm, Q).
  apply Rplus_le_compat_l. rewrite map_app in Q.
  assert (A := partial_upto z _ a _ Q). assert (B := partial_upto z (map z (seq 0 d)) b (map z (leaves a))).
  rewrite map_length, seq_length. replace (d - 1)%nat with (S (nodes a) + S (nodes b) - 1)%nat by lia.
  eapply Rle_trans; [|apply upto_shift; [apply most_le|lia..]].
  apply Rplus_le_compat; [exact A|apply B]. eapply Permutation_trans; [apply Permutation_app_comm|exact Q].
Qed.

(** A term passes through at most [height o] additions. *)
Fixpoint height o := match o with Leaf _ => 0%nat | Node a b => S (max (height a) (height b)) end.

Theorem partial_height z o : partial z o <= Rabs (total z o) + INR (height o - 1) * total (fun i => Rabs (z i)) o.
Proof.
set (size := total (fun i => Rabs (z i))).
assert (size_pos : forall c, 0 <= size c) by (intros c; apply sum_pos; intros; apply Rabs_pos).
assert (node : forall a b, size (Node a b) = size a + size b) by (intros; apply total_node).
assert (below : forall c, partial z c <= INR (height c) * size c).
{ induction c as [i|a IHa b IHb]; [simpl; generalize (size_pos (Leaf i)); lra|]. simpl partial; simpl height.
  assert (Rabs (total z (Node a b)) <= size (Node a b)).
  { unfold size, total; rewrite <- (map_map z Rabs); apply sum_abs. }
  rewrite node in *.
  assert (INR (height a) <= INR (max (height a) (height b))) as A by (apply le_INR; lia).
  assert (INR (height b) <= INR (max (height a) (height b))) as B by (apply le_INR; lia).
  apply (Rmult_le_compat_r (size a)) in A; auto. apply (Rmult_le_compat_r (size b)) in B; auto.
  rewrite S_INR. lra. }
destruct o as [i|a b].
{ apply Rplus_le_le_0_compat; [apply Rabs_pos|apply Rmult_le_pos; [apply pos_INR|apply size_pos]]. }
simpl partial. simpl height. replace (S (max (height a) (height b)) - 1)%nat with (max (height a) (height b)) by lia.
rewrite node.
assert (INR (height a) <= INR (max (height a) (height b))) as A by (apply le_INR; lia).
assert (INR (height b) <= INR (max (height a) (height b))) as B by (apply le_INR; lia).
apply (Rmult_le_compat_r (size a)) in A; auto. apply (Rmult_le_compat_r (size b)) in B; auto.
generalize (below a) (below b); lra.
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

(** And the classical one. *)
Theorem sum_classical u z d o s : 0 <= u -> INR (d - 1) * u < 1 -> order_of d o -> sums u z o s ->
  Rabs (s - sum (map z (seq 0 d))) <= gamma (d - 1) u * sum (map (fun i => Rabs (z i)) (seq 0 d)).
Proof.
intros U G P S. assert (N := nodes_of _ _ P).
rewrite <- (total_of d o z P), <- (total_of d o (fun i => Rabs (z i)) P).
replace (d - 1)%nat with (nodes o) in * by lia.
assert (E := pow_gamma _ _ u U (le_n _) G). apply Rle_trans with (((1 + u) ^ nodes o - 1) * total (fun i => Rabs (z i)) o).
2: { apply Rmult_le_compat_r; [|lra]. apply sum_pos; intros; apply Rabs_pos. }
clear P N G E. induction S as [i|a b s s' r _ IHa _ IHb R].
- unfold total; simpl. rewrite Rplus_0_r, Rminus_diag_eq by auto. rewrite Rabs_R0; lra.
- destruct (near_sum _ _ _ R) as (t & D & ->).
  assert (A : forall c, Rabs (total z c) <= total (fun i => Rabs (z i)) c).
  { intros c; unfold total; rewrite <- (map_map z Rabs); apply sum_abs. }
  rewrite !total_node. generalize (A a) (A b).
  set (p := total (fun i => Rabs (z i)) a) in *; set (q := total (fun i => Rabs (z i)) b) in *; intros PA PB.
  replace ((s + s') * (1 + t) - _) with ((s - total z a + (s' - total z b)) * (1 + t) + t * (total z a + total z b))
    by ring.
  eapply Rle_trans; [apply Rabs_triang|]. rewrite !Rabs_mult.
  generalize (Rabs_triang (s - total z a) (s' - total z b)) (Rabs_triang (total z a) (total z b)); intros.
  assert (Rabs (1 + t) <= 1 + u) by (eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_R1; lra).
  generalize (Rabs_pos (total z a)) (Rabs_pos (total z b)) (Rabs_pos t) (Rabs_pos (1 + t)); intros.
  assert (Rabs t * Rabs (total z a + total z b) <= u * (p + q)).
  { apply Rmult_le_compat; try apply Rabs_pos; lra. }
  assert (mono : forall n m, (n <= m)%nat -> (1 + u) ^ n <= (1 + u) ^ m) by (intros; apply Rle_pow; [lra|auto]).
  generalize (mono (nodes a) (nodes a + nodes b)%nat ltac:(lia)) (mono (nodes b) (nodes a + nodes b)%nat ltac:(lia)).
  simpl nodes; simpl pow. set (G := (1 + u) ^ (nodes a + nodes b)); intros.
  assert (Rabs (s - total z a + (s' - total z b)) <= (G - 1) * (p + q)).
  { assert (((1 + u) ^ nodes a - 1) * p <= (G - 1) * p) by (apply Rmult_le_compat_r; lra).
    assert (((1 + u) ^ nodes b - 1) * q <= (G - 1) * q) by (apply Rmult_le_compat_r; lra). lra. }
  assert (Rabs (s - total z a + (s' - total z b)) * Rabs (1 + t) <= (G - 1) * (p + q) * (1 + u)).
  { apply Rmult_le_compat; auto; apply Rabs_pos. }
  lra.
Qed.

(** Larger terms of one sign have the larger bound. *)
Lemma any_order_le f g l : (forall i : nat, 0 <= f i <= g i) -> any_order (map f l) <= any_order (map g l).
Proof.
intros H; assert (top_neg : forall h, (forall i : nat, 0 <= h i) -> forall k, top k (map Ropp (map h l)) = 0).
{ intros h P; induction l as [|a m IH]; intros [|k]; simpl; auto. rewrite !IH; specialize (P a).
  unfold Rmax; destruct Rle_dec; lra. }
assert (M : forall k, most (map f l) k <= most (map g l) k).
{ intros k; unfold most. rewrite !top_neg by (intros i; specialize (H i); lra).
  apply Rle_max_compat_r, top_le; intros i; apply H. }
assert (U : forall n, upto (most (map f l)) n <= upto (most (map g l)) n).
{ induction n as [|[|n] IH]; simpl in *; try lra. generalize (M (S (S n))); lra. }
assert (S : Rabs (sum (map f l)) <= Rabs (sum (map g l))).
{ assert (0 <= sum (map f l)) by (apply sum_pos; intros; apply H).
  assert (sum (map f l) <= sum (map g l)) by (apply sum_le; intros; apply H). rewrite !Rabs_pos_eq; lra. }
specialize (U (length l - 1)%nat). revert S U; destruct l as [|a [|b l]]; intros S U; try (simpl; lra).
unfold any_order. cbv beta iota delta [map] in *. fold (map f l) (map g l) in *.
simpl length in *; rewrite !map_length in *; lra.
Qed.
