(** One accusation, decided by computation: the checker, and the proof that whom it accuses is no correct kernel. *)
From Flocq Require Import Core Operations.
Require Import ZArith Mergesort Orders Sorted.
From Rounding Require Export Variances Decision Formats.
Import ListNotations.

(** ** Numbers m 2^e, exactly *)

Notation number := (float radix2).
Declare Scope number_scope.
Delimit Scope number_scope with N.
Bind Scope number_scope with float.
Infix "+" := Fplus : number_scope.
Infix "-" := Fminus : number_scope.
Infix "*" := Fmult : number_scope.
Definition whole n : number := Float radix2 n 0.
Definition power e : number := Float radix2 1 e.
Definition le (a b : number) := Zle_bool 0 (Fnum (b - a)%N).
Definition lt (a b : number) := Zlt_bool 0 (Fnum (b - a)%N).
Infix "<=?" := le : number_scope.
Infix "<?" := lt : number_scope.
Notation R_ := (@F2R radix2).

Module Descending <: TotalLeBool.
  Definition t := number.
  Definition leb (a b : number) := le b a.
  Lemma leb_total a b : leb a b = true \/ leb b a = true.
  Proof.
  unfold leb, le. rewrite !Z.leb_le.
  assert (F : forall c : number, (0 <= R_ c)%R -> (0 <= Fnum c)%Z) by (intros; apply ge_0_F2R with (1 := H)).
  destruct (Rle_lt_dec (R_ b) (R_ a)); [left|right]; apply F; rewrite F2R_minus; lra.
  Qed.
End Descending.
Module Import Descents := Sort Descending.

Fixpoint total (l : list number) : number := match l with [] => whole 0 | a :: m => (a + total m)%N end.
Definition positive a := if (whole 0 <=? a)%N then a else whole 0.
Definition largest a b := if (a <=? b)%N then b else a.
Fixpoint prefixes s l := match l with [] => [] | a :: m => let s' := (s + positive a)%N in s' :: prefixes s' m end.
Fixpoint through (f : nat -> number) n := match n with S (S _ as m) => (through f m + f n)%N | _ => whole 0 end.

(** The bound of the partial sums that no order exceeds, [Sums.any_order]. *)
Definition partial_sums l :=
  let up := prefixes (whole 0) (sort l) in let down := prefixes (whole 0) (sort (map (@Fopp radix2) l)) in
  (Fabs (total l) + through (fun k => largest (nth (k - 1) up (whole 0)) (nth (k - 1) down (whole 0))) (length l - 1))%N.

(** ** What the computation means *)

Local Open Scope R_scope.

Lemma R_whole n : R_ (whole n) = IZR n.
Proof. unfold F2R, whole; simpl; ring. Qed.

Lemma R_power e : R_ (power e) = bpow radix2 e.
Proof. unfold F2R, power; simpl; ring. Qed.

#[export] Hint Rewrite @F2R_plus @F2R_minus @F2R_mult @F2R_opp @F2R_abs R_whole R_power : numbers.

Lemma le_true a b : (a <=? b)%N = true -> R_ a <= R_ b.
Proof. intros H. apply Z.leb_le, (F2R_ge_0 radix2) in H. rewrite F2R_minus in H. lra. Qed.

Lemma le_false a b : (a <=? b)%N = false -> R_ b < R_ a.
Proof. intros H. apply Z.leb_gt, (F2R_lt_0 radix2) in H. rewrite F2R_minus in H. lra. Qed.

Lemma lt_true a b : (a <? b)%N = true -> R_ a < R_ b.
Proof. intros H. apply Z.ltb_lt, (F2R_gt_0 radix2) in H. rewrite F2R_minus in H. lra. Qed.

Lemma zero_true a : Zeq_bool (Fnum a) 0 = true -> R_ a = 0.
Proof. intros H. apply Zeq_bool_eq in H. unfold F2R; rewrite H; ring. Qed.

Lemma R_total l : R_ (total l) = Sums.sum (map R_ l).
Proof. induction l as [|c l IH]; simpl; autorewrite with numbers; [reflexivity|]. rewrite IH; reflexivity. Qed.

Lemma R_positive c : R_ (positive c) = Rmax (R_ c) 0.
Proof.
unfold positive; destruct (whole 0 <=? c)%N eqn:E; [apply le_true in E|apply le_false in E];
  rewrite R_whole in *; [rewrite Rmax_left|rewrite Rmax_right]; lra.
Qed.

Lemma R_largest c e : R_ (largest c e) = Rmax (R_ c) (R_ e).
Proof.
unfold largest; destruct (c <=? e)%N eqn:E; [apply le_true in E; rewrite Rmax_right|apply le_false in E; rewrite Rmax_left]; lra.
Qed.

Fixpoint first k (l : list number) := match k, l with S n, c :: m => Rmax (R_ c) 0 + first n m | _, _ => 0 end.

Lemma R_prefixes l s k : (k < length l)%nat -> R_ (nth k (prefixes s l) (whole 0)) = R_ s + first (S k) l.
Proof.
revert s k; induction l as [|c l IH]; intros s k L; [simpl in L; lia|].
destruct k as [|k]; [simpl nth; simpl first|simpl nth; rewrite IH by (simpl in L; lia); simpl first];
  rewrite F2R_plus, R_positive; ring.
Qed.

Lemma first_next l c k : Forall (fun e => R_ e <= R_ c) l -> first (S k) l <= Rmax (R_ c) 0 + first k l.
Proof.
intros F; revert k; induction F as [|e l E _ IH]; intros k; [simpl; destruct k; generalize (Rmax_r (R_ c) 0); simpl; lra|].
assert (Rmax (R_ e) 0 <= Rmax (R_ c) 0) by (apply Rle_max_compat_r; auto).
destruct k as [|k]; [simpl; destruct l; simpl; lra|]. specialize (IH k). simpl first in *. lra.
Qed.

Lemma top_first l k : StronglySorted (fun c e => R_ e <= R_ c) l -> top k (map R_ l) <= first k l.
Proof.
intros S; revert k; induction S as [|c l _ IH F]; intros [|k]; simpl; try lra.
apply Rmax_lub.
- apply Rle_trans with (1 := IH (S k)), first_next; auto.
- generalize (IH k) (Rmax_l (R_ c) 0); lra.
Qed.

Lemma top_sorted l k : (k < length l)%nat -> top (S k) (map R_ l) <= R_ (nth k (prefixes (whole 0) (sort l)) (whole 0)).
Proof.
intros L. assert (P := Permuted_sort l). rewrite R_prefixes by (rewrite <- (Permutation_length P); auto).
rewrite R_whole, Rplus_0_l. rewrite (top_perm _ _ (Permutation_map R_ P)). apply top_first.
assert (S := StronglySorted_sort l). apply StronglySorted_ind with (P := StronglySorted (fun c e => R_ e <= R_ c)) in S; auto.
- constructor.
- intros c m _ I F. constructor; auto. eapply Forall_impl; [|exact F]. intros e H. apply le_true; auto.
- intros c e f H K. unfold Descending.leb in *. apply le_true in H, K. destruct (le f c) eqn:E; auto. apply le_false in E. lra.
Qed.

(** No order exceeds what is computed. *)
Theorem partial_sums_above l : any_order (map R_ l) <= R_ (partial_sums l).
Proof.
unfold partial_sums. rewrite F2R_plus, F2R_abs, R_total.
set (f := fun k => _). set (n := (length l - 1)%nat).
assert (U : forall m, (m <= length l)%nat -> upto (most (map R_ l)) m <= R_ (through f m)).
{ induction m as [|[|m] IH]; intros L; [simpl; rewrite R_whole; lra..|].
  rewrite upto_S by lia. change (through f (S (S m))) with (through f (S m) + f (S (S m)))%N. rewrite F2R_plus.
  apply Rplus_le_compat; [apply IH; lia|]. unfold f, most. rewrite R_largest. simpl (S (S m) - 1)%nat.
  assert (N : map Ropp (map R_ l) = map R_ (map (@Fopp radix2) l)).
  { rewrite !map_map. apply map_ext; intros c. rewrite F2R_opp. reflexivity. }
  rewrite N. apply Rle_trans with (Rmax (R_ (nth (S m) (prefixes (whole 0) (sort l)) (whole 0))) (top (S (S m)) (map R_ (map (@Fopp radix2) l)))).
  - apply Rle_max_compat_r, top_sorted; lia.
  - apply Rle_max_compat_l, top_sorted. rewrite map_length; lia. }
assert (T0 : 0 <= R_ (through f n)).
{ clear U. assert (Q : forall m, 0 <= R_ (f m)).
  { intros m; unfold f; rewrite R_largest. eapply Rle_trans; [|apply Rmax_l].
    destruct (Nat.lt_ge_cases (m - 1) (length (sort l))) as [L|L].
    - rewrite R_prefixes, R_whole by auto. assert (F : forall k q, 0 <= first k q).
      { induction k as [|k IH]; intros [|c q]; simpl; try lra. generalize (Rmax_r (R_ c) 0) (IH q); lra. }
      generalize (F (S (m - 1)) (sort l)); lra.
    - rewrite nth_overflow; [rewrite R_whole; lra|].
      assert (P : forall q s, length (prefixes s q) = length q) by (induction q; simpl; auto). rewrite P; auto. }
  induction n as [|[|m] IH]; [simpl; rewrite R_whole; lra..|].
  change (through f (S (S m))) with (through f (S m) + f (S (S m)))%N. rewrite F2R_plus. generalize (Q (S (S m))); lra. }
specialize (U n ltac:(lia)). fold n. fold f. revert U. subst n. destruct l as [|c [|e l]]; intros U.
- simpl. rewrite R_whole, Rabs_R0; lra.
- cbn [map any_order]. generalize (Rabs_pos (Sums.sum [R_ c])); lra.
- unfold any_order. cbn [map] in *. rewrite <- (map_length R_) in U at 1. cbn [map length] in *. rewrite map_length in *. lra.
Qed.

(** ** The accusation *)

(** A row with gain, bias and what a kernel returned for it, in the format in which outputs are stored. *)
Record accusation := {
  stored_as : stored; centered : bool; place : placement; epsilon : number; row : list number; gain : list number;
  bias : list number; returned : list number }.

(** Numbers that favour the kernel, from which the decision follows: the errors of the mean and of partial means; ends of
    the mean square; ends of the divisor; a number above |mu|, √(mean x²) and √(k v); the scales, over d; and tangents,
    each by two components, of which none stands for the bound of the shift. *)
Inductive decision := tangents (middle : number) (first second : option nat * option nat) | bias_alone (i : nat).
Record reasons := {
  alpha : number; part : number; low : number; high : number; least : number; most : number; center : number;
  size : number; root : number; left : number; right : number; decided : decision }.

Local Close Scope R_scope.

Section Checker.

Variables (a : accusation) (r : reasons).

Definition d := length (row a).
Definition levels := Nat.log2_up d.
Definition roundoff := power (- prec (work (stored_as a))).
Definition normal := power (emin (work (stored_as a)) + prec (work (stored_as a)) - 1)%Z.
Definition width := whole (Z.of_nat d).
Definition depth := whole (Z.of_nat levels).
Definition row_sum := if centered a then total (row a) else whole 0.
Definition deviations := map (fun c => width * c - row_sum)%N (row a).
Definition square_sum := total (map (fun c => c * c)%N (row a)).
Definition size_sum := total (map (@Fabs radix2) (row a)).
(* d² v *)
Definition spread := (width * square_sum - row_sum * row_sum)%N.
Local Notation u := roundoff.
Local Notation om := normal.
Local Notation D := width.
Local Notation k := depth.
Local Notation sum := row_sum.
Local Notation squares := square_sum.
Local Notation V := spread.
Local Notation sizes := size_sum.
Definition orders := partial_sums (row a).
Local Notation T := orders.
Definition q n := (whole 1 - n * u)%N.

Open Scope number_scope.

Definition guarded := (whole 4 * D * u + whole 16 * u <? whole 1)%N.

Definition mean_bounded := (
  (whole 0 <=? alpha r) &&
  (u * T + u * (sizes + Fabs sum * q D) + whole 2 * om * D * q D <=? alpha r * D * q D) &&
  (whole 0 <=? root r) && (k * V <=? root r * root r * D * D) &&
  let three := u * (whole 3 + u * (whole 3 + u)) in let rest := (whole 5 * u * root r) in
  (u * T + rest * D + three * k * sizes + whole 2 * u * om * D * D <=? alpha r * D * q (whole 4 * D)) &&
  (whole 0 <=? size r) && (squares <=? size r * size r * D) &&
  (u * T + (rest + three * k * size r + whole 2 * u * om * D) * (D - whole 1) <=?
    part r * (D - whole 1) * q (whole 4 * D)))%bool.

Definition two_passes_bounded :=
  let error := (u * partial_sums (map (fun c => let z := Fabs c + D * alpha r in z * z) deviations)
    + whole 4 * om * D * D * D * q D) in
  (((low r <=? whole 0) || (low r * D * D * D * q D + error <=? D * V * q (whole 8) * q D)) &&
   (D * (V + D * D * alpha r * alpha r) * (whole 1 + whole 8 * u) * q D + error <=? high r * D * D * D * q D))%bool.

(* 1518500250 2⁻³⁰ > √2 *)
Definition merged_bounded :=
  let change := (whole 2 * part r * (Float radix2 1518500250 (-30) * root r) + whole 2 * k * part r * part r) in
  let most := V + D * D * change in let c := q (whole 2 * D + whole 8) in
  (((low r <=? whole 0) || (low r * D * D * c + most + om * D * D * c <=? whole 2 * V * c)) &&
   (most + om * D * D * c <=? high r * D * D * c))%bool.

(* root + (ε outside of it) is the divisor. *)
Definition root_below bound v := match place a with
  | inside => (bound * bound <=? v + epsilon a)
  | outside => (epsilon a <=? bound) && ((bound - epsilon a) * (bound - epsilon a) <=? v)
  end%bool.
Definition root_above bound v := match place a with
  | inside => (v + epsilon a <=? bound * bound)
  | outside => (epsilon a <=? bound) && (v <=? (bound - epsilon a) * (bound - epsilon a))
  end%bool.

Definition scale_bounded := (
  (whole 0 <=? low r) && (low r <=? high r) && (whole 0 <? least r) && (whole 0 <? most r) && (whole 0 <=? left r) &&
  root_below (least r) (low r) && root_above (most r) (high r) &&
  (D * left r * most r <=? q (whole 8)) && (whole 1 + whole 8 * u <=? D * right r * least r))%bool.

Definition at_ l i := nth i l (whole 0).
Definition half_unit (y : number) := if Zeq_bool (Fnum y) 0 then power (emin (stored_as a) + prec (stored_as a) - 1)%Z
  else power (Z.max (Digits.Zdigits2 (Fnum y) + Fexp y - prec (stored_as a)) (emin (stored_as a)) - 1)%Z.

Definition error_at i :=
  let p := D * right r in let g := Fabs (at_ (gain a) i) in let b := Fabs (at_ (bias a) i) in let c := Fabs (at_ (row a) i) in
  whole 5 * u * (g * (right r * Fabs (at_ deviations i) + p * alpha r)) + u * b
  + (if centered a then u * (g * (whole 3 * p * c + whole 4 * right r * Fabs sum)) + (whole 1 + u) * u * b else whole 0)
  + om * (c + (center r + alpha r) + g + p + whole 1) + half_unit (at_ (returned a) i).

Definition reach := D * right r * alpha r.

(** Weight, slope and height of a line: of a component, or of the bound of the shift. *)
Definition line (above : bool) (of : option nat) := match of with
  | None => (whole 1, whole 0, if above then reach else Fopp reach)
  | Some i =>
    let g := at_ (gain a) i in let off := at_ (returned a) i - at_ (bias a) i in
    let s := if whole 0 <=? g then whole 1 else whole (-1) in
    (s * g, s * g * at_ deviations i, if above then s * off + error_at i else s * off - error_at i)
  end.
Definition inside_row (of : option nat) := match of with None => true | Some i => Nat.ltb i d end.
Definition tangent_at s t (of : option nat * option nat) :=
  let '(w1, n1, k1) := line true (fst of) in let '(w2, n2, k2) := line false (snd of) in
  (inside_row (fst of) && inside_row (snd of) && (whole 0 <? w1) && (whole 0 <? w2) &&
   (whole 0 <? (s * n1 - k1) * w2 - (s * n2 - k2) * w1) && (whole 0 <? (t * n1 - k1) * w2 - (t * n2 - k2) * w1))%bool.

Definition refutes := match decided r with
  | tangents middle first second => tangent_at (left r) middle first && tangent_at middle (right r) second
  | bias_alone i => Nat.ltb i d && Zeq_bool (Fnum (at_ (gain a) i)) 0
      && (error_at i <? Fabs (at_ (returned a) i - at_ (bias a) i))
  end%bool.

Definition accepts := (
  Nat.leb 2 d && guarded && (whole 0 <=? epsilon a) && (Fabs sum <=? center r * D) && two_passes_bounded && scale_bounded
  && refutes && if centered a then mean_bounded && merged_bounded else Zeq_bool (Fnum (alpha r)) 0)%bool.

End Checker.
Close Scope number_scope.
Local Open Scope R_scope.

(** ** Soundness *)

Definition entry l i := R_ (at_ l i).

(** Every way to the mean and to the mean square for which there is a bound. *)
Definition any_mean u w d x m :=
  average u w d x m \/ exists o l, order_of d o /\ (l <= Nat.log2_up d)%nat /\ merges u w x o l m.
Definition any_square u w d x v := two_passes u w d x (any_mean u w d x) v \/ merged_variance u w x d (Nat.log2_up d) v.

(** Half a unit in the last place; at 0 the smallest normal number, as smaller ones may be flushed. *)
Definition half f y := if Req_EM_T y 0 then Floats.om (emin f) (prec f) else half_ulp (emin f) (prec f) y.

(** What an accusation denies. *)
Definition correct a w :=
  let f := work (stored_as a) in let u := Floats.u (prec f) in let n := length (row a) in let x := entry (row a) in
  let g := entry (gain a) in let b := entry (bias a) in let y := entry (returned a) in let eps := R_ (epsilon a) in
  if centered a
  then kernel u n (place a) eps (half (stored_as a)) y (any_mean u w n x) (any_square u w n x) (anyhow u w x g b)
  else rms_norm u w n (place a) eps (half (stored_as a)) x g b y.

Lemma seq_entries (h : R -> R) l : map (fun i => h (entry l i)) (seq 0 (length l)) = map (fun c => h (R_ c)) l.
Proof.
unfold entry, at_. induction l as [|c l IH]; simpl; auto. f_equal. rewrite <- seq_shift, map_map. exact IH.
Qed.

Lemma seq_entry l : map (entry l) (seq 0 (length l)) = map R_ l.
Proof. exact (seq_entries (fun c => c) l). Qed.

Lemma any_order_scale c l : 0 <= c -> any_order (map (Rmult c) l) = c * any_order l.
Proof.
intros C. assert (A : forall l, Sums.sum (map (Rmult c) l) = c * Sums.sum l) by (induction l0; simpl; [ring|rewrite IHl0; ring]).
assert (T : forall k l, top k (map (Rmult c) l) = c * top k l).
{ intros k m; revert k; induction m as [|e m IH]; intros [|k]; simpl; try ring. rewrite !IH, <- Rmult_plus_distr_l. apply RmaxRmult; auto. }
assert (M : forall k, Sums.most (map (Rmult c) l) k = c * Sums.most l k).
{ intros k; unfold Sums.most. rewrite <- RmaxRmult, <- T, <- T, !map_map by auto. do 2 f_equal.
  apply map_ext; intros; ring. }
assert (U : forall n, upto (Sums.most (map (Rmult c) l)) n = c * upto (Sums.most l) n).
{ induction n as [|[|n] IH]; [simpl; ring..|]. assert (E : forall h, upto h (S (S n)) = upto h (S n) + h (S (S n))) by reflexivity. rewrite !E, IH, M. ring. }
unfold any_order. destruct l as [|e [|e' l]]; [simpl; ring..|]. rewrite map_length, A, U, Rabs_mult, (Rabs_pos_eq c) by auto.
simpl map; cbv iota. ring.
Qed.

Lemma div_le n s t : 0 < s -> n <= t * s -> n / s <= t.
Proof. intros S H. apply Rmult_le_reg_r with s; auto. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. Qed.

Section Soundness.

Variables (a : accusation) (r : reasons) (w : R).
Let f := work (stored_as a).
Let u := Floats.u (prec f).
Let om := Floats.om (emin f) (prec f).
Let n := length (row a).
Let D := INR n.
Let k := levels a.
Let x := entry (row a).
Let mu := if centered a then mean n x else 0.
Local Notation al := (R_ (alpha r)).
Hypothesis w_pos : 0 <= w.
Hypothesis w_small : w <= u * om.
Hypothesis wide : (2 <= n)%nat.
Hypothesis guard_true : guarded a = true.

Let R_u : R_ (roundoff a) = u.
Proof. unfold roundoff, u, Floats.u. rewrite R_power, bpow_plus. change (bpow radix2 1) with 2. unfold f; field. Qed.

Let R_om : R_ (normal a) = om.
Proof. unfold normal. rewrite R_power. reflexivity. Qed.

Let R_D : R_ (width a) = D.
Proof. unfold width. rewrite R_whole, <- INR_IZR_INZ. reflexivity. Qed.

Let R_k : R_ (depth a) = INR k.
Proof. unfold depth. rewrite R_whole, <- INR_IZR_INZ. reflexivity. Qed.

Let D2 : 2 <= D.
Proof. apply le_INR in wide. exact wide. Qed.

Let u0 : 0 < u.
Proof. apply Rmult_lt_0_compat; [lra|apply bpow_gt_0]. Qed.

Let om0 : 0 < om.
Proof. apply bpow_gt_0. Qed.

Let guards : 4 * D * u + 16 * u < 1.
Proof.
assert (G := lt_true _ _ guard_true). autorewrite with numbers in G. rewrite R_u, R_D in G. exact G.
Qed.

Let guard : INR n * guard_terms * u + guard_rest * u < / 2.
Proof. fold D. unfold guard_terms, guard_rest. lra. Qed.

Let few : INR (merged_steps * n) * u < 1.
Proof. rewrite mult_INR. unfold merged_steps. replace (INR 4) with 4 by (simpl; ring). fold D. lra. Qed.

Let Du : 0 <= D * u.
Proof. apply Rmult_le_pos; lra. Qed.

Let R_q c : R_ (q a c) = 1 - R_ c * u.
Proof. unfold q. autorewrite with numbers. rewrite R_u. reflexivity. Qed.

Let R_sum : R_ (row_sum a) = D * mu.
Proof.
unfold row_sum, mu. destruct (centered a); [|rewrite R_whole; ring].
rewrite R_total. unfold mean, all, x, n. rewrite seq_entry. fold n D. field. lra.
Qed.

Let R_squares : R_ (square_sum a) = D * mean n (fun i => x i ^ 2).
Proof.
unfold square_sum. rewrite R_total, map_map. unfold mean, all, x, n. rewrite (seq_entries (fun c => c ^ 2)). fold n D.
replace (map _ (row a)) with (map (fun c => R_ c ^ 2) (row a)); [field; lra|].
apply map_ext; intros c. rewrite F2R_mult. ring.
Qed.

Let R_sizes : R_ (size_sum a) = D * mean n (fun i => Rabs (x i)).
Proof.
unfold size_sum. rewrite R_total, map_map. unfold mean, all, x, n. rewrite (seq_entries Rabs). fold n D.
replace (map _ (row a)) with (map (fun c => Rabs (R_ c)) (row a)); [field; lra|].
apply map_ext; intros c. rewrite F2R_abs. reflexivity.
Qed.

Let v := variance n x mu.

Let R_spread : R_ (spread a) = D ^ 2 * v.
Proof.
unfold spread. autorewrite with numbers. rewrite R_D, R_squares, R_sum. unfold v, mu.
destruct (centered a).
- assert (H := shifted n ltac:(lia) x 0).
  replace (mean n (fun i => (x i - 0) ^ 2)) with (mean n (fun i => x i ^ 2)) in H.
  + rewrite H. ring.
  + unfold mean, all; do 2 f_equal; apply map_ext; intros; ring.
- unfold variance, deviation. replace (mean n (fun i => (x i - 0) ^ 2)) with (mean n (fun i => x i ^ 2)); [ring|].
  unfold mean, all; do 2 f_equal; apply map_ext; intros; ring.
Qed.

Let T_le : T n x <= R_ (orders a).
Proof. unfold T, x, n. rewrite seq_entry. apply partial_sums_above. Qed.

Let R_deviation i : (i < n)%nat -> R_ (at_ (deviations a) i) = times_d n x mu i.
Proof.
intros I. unfold at_, deviations, times_d, deviation. fold D.
rewrite nth_indep with (d' := (width a * whole 0 - row_sum a)%N) by (rewrite map_length; exact I).
rewrite (map_nth (fun c => width a * c - row_sum a)%N). autorewrite with numbers. rewrite R_D, R_sum.
unfold x, entry, at_. ring.
Qed.

Ltac compute_in H := repeat progress (autorewrite with numbers in H;
  rewrite ?R_q, ?R_u, ?R_om, ?R_D, ?R_k, ?R_sum, ?R_squares, ?R_sizes, ?R_spread in H).
Ltac read := repeat match goal with
  | H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H
  | H : le _ _ = true |- _ => apply le_true in H; compute_in H
  | H : lt _ _ = true |- _ => apply lt_true in H; compute_in H
  end.

Let qD : 0 < 1 - D * u.
Proof. lra. Qed.

Let u20 : u <= / 20.
Proof. assert (2 * u <= D * u) by (apply Rmult_le_compat_r; lra). lra. Qed.

Let grown : 1 + gamma n u = / (1 - D * u).
Proof. apply gamma_1. fold D; lra. Qed.

Let grown4 : 1 + gamma (merged_steps * n) u = / (1 - 4 * D * u).
Proof.
rewrite gamma_1 by apply few. rewrite mult_INR. replace (INR merged_steps) with 4 by (unfold merged_steps; simpl; ring). fold D. reflexivity.
Qed.

Let grown8 : 1 + gamma (2 * n + 8) u = / (1 - (2 * D + 8) * u).
Proof.
assert (E : INR (2 * n + 8) = 2 * D + 8) by (rewrite plus_INR, mult_INR; fold D; simpl; ring).
rewrite gamma_1, E; auto. rewrite E. nra.
Qed.

Let enough : (n <= 2 ^ k)%nat.
Proof. apply Nat.log2_up_spec. exact wide. Qed.

Let root_le s t : 0 <= R_ t -> s * D ^ 2 <= R_ t * R_ t * D * D -> sqrt s <= R_ t.
Proof.
intros P H. rewrite <- (sqrt_square (R_ t)) by auto. apply sqrt_le_1_alt.
apply Rmult_le_reg_r with (D ^ 2); [apply pow_lt; lra|]. lra.
Qed.

Let v_pos : 0 <= v.
Proof. apply mean_pos; intros; apply pow2_ge_0. Qed.

Let wD : w * D <= u * om * D.
Proof. apply Rmult_le_compat_r; auto; lra. Qed.

Let uT : u * T n x <= u * R_ (orders a).
Proof. apply Rmult_le_compat_l; auto; lra. Qed.

Let three_is : three u = u * (3 + u * (3 + u)).
Proof. unfold three; ring. Qed.

Let three_pos : 0 <= three u.
Proof. rewrite three_is. assert (0 <= u * (3 + u)) by (apply Rmult_le_pos; lra). apply Rmult_le_pos; lra. Qed.

Lemma means_bound m : centered a = true -> mean_bounded a r = true -> any_mean u w n x m -> Rabs (m - mu) <= al.
Proof.
intros C H A. unfold mean_bounded in H. cbv zeta in H. read.
assert (mu_is : mu = mean n x) by (unfold mu; rewrite C; reflexivity).
assert (abs_mu : Rabs (D * mu) = D * Rabs (mean n x)) by (rewrite Rabs_mult, Rabs_pos_eq, mu_is; lra).
rewrite abs_mu in *. set (s := mean n (fun i => Rabs (x i))) in *.
assert (s0 : 0 <= s) by (apply mean_pos; intros; apply Rabs_pos).
destruct A as [A|(o & l & P & L & M)].
- rewrite mu_is. eapply Rle_trans; [apply (mean_error u w om n); auto; lra || lia|].
  unfold Means.alpha. fold s. rewrite grown. fold D.
  apply Rmult_le_reg_r with (D * (1 - D * u)); [apply Rmult_lt_0_compat; lra|].
  replace (_ * (D * (1 - D * u))) with (u * T n x + u * (D * s + D * Rabs (mean n x) * (1 - D * u)) + 2 * om * D * (1 - D * u))
    by (field; lra). lra.
- rewrite mu_is. eapply Rle_trans; [apply (merged_mean u w x) with (o := o) (k := k) (l := l); auto; lra|].
  unfold merged_alpha. rewrite grown4. fold D s.
  replace (mean n (fun i => (x i - mean n x) ^ 2)) with v by (unfold v, variance, deviation; rewrite mu_is; reflexivity).
  assert (R0 : sqrt (INR k * v) <= R_ (root r)) by (apply root_le; lra).
  assert (L0 : INR l <= INR k) by (apply le_INR; exact L).
  apply Rmult_le_reg_r with (D * (1 - 4 * D * u)); [apply Rmult_lt_0_compat; lra|].
  replace (_ * (D * (1 - 4 * D * u))) with (u * T n x + increment * u * sqrt (INR k * v) * D + three u * (INR l * s) * D + 2 * (w * D) * D)
    by (field; lra).
  assert (increment * u * sqrt (INR k * v) * D <= 5 * u * R_ (root r) * D).
  { unfold increment. apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; lra. }
  assert (three u * (INR l * s) * D <= three u * (INR k * s) * D).
  { apply Rmult_le_compat_r; [lra|]. apply Rmult_le_compat_l; auto. apply Rmult_le_compat_r; auto. }
  assert (w * D * D <= u * om * D * D) by (apply Rmult_le_compat_r; lra). rewrite three_is in *. lra.
Qed.

Let T_squares : 0 <= al -> T n (fun i => (Rabs (deviation x mu i) + al) ^ 2) * D ^ 2 <=
  R_ (partial_sums (map (fun c => let z := Fabs c + width a * alpha r in z * z)%N (deviations a))).
Proof.
intros A0. eapply Rle_trans; [|apply partial_sums_above]. right. unfold T.
rewrite Rmult_comm, <- any_order_scale by apply pow2_ge_0. f_equal. unfold deviations. rewrite !map_map.
rewrite <- (map_map (fun i => (Rabs (deviation x mu i) + al) ^ 2) (Rmult (D ^ 2))), !map_map.
unfold x, deviation, n. rewrite (seq_entries (fun c => D ^ 2 * (Rabs (c - mu) + al) ^ 2)). apply map_ext. intros c.
cbv zeta. autorewrite with numbers. rewrite R_D, R_sum. rewrite <- Rmult_minus_distr_l, Rabs_mult, (Rabs_pos_eq D) by lra. ring.
Qed.

Lemma two_passes_computed : 0 <= al -> two_passes_bounded a r = true ->
  R_ (low r) <= Family.low u om n x mu al /\ Family.high u om n x mu al <= R_ (high r).
Proof.
intros A0 H. unfold two_passes_bounded in H. cbv zeta in H. assert (TZ := T_squares A0). cbv zeta in TZ.
apply andb_prop in H; destruct H as [L H]. read.
set (Z := R_ (partial_sums _)) in *.
assert (E : square_error u om n x mu al * (D ^ 3 * (1 - D * u)) <= u * Z + 4 * om * D * D * D * (1 - D * u)).
{ unfold square_error. rewrite grown. fold D.
  replace (_ * (D ^ 3 * (1 - D * u))) with (u * (T n (fun i => (Rabs (deviation x mu i) + al) ^ 2) * D ^ 2) + 4 * om * D * D * D * (1 - D * u))
    by (field; lra). apply (Rmult_le_compat_l u) in TZ; lra. }
assert (D3 : 0 < D ^ 3 * (1 - D * u)) by (apply Rmult_lt_0_compat; [apply pow_lt|]; lra).
split.
- unfold Family.low. fold v. apply Bool.orb_prop in L. destruct L as [L|L]; apply le_true in L; compute_in L.
  + apply Rle_trans with (1 := L), Rmax_l.
  + eapply Rle_trans; [|apply Rmax_r]. apply Rmult_le_reg_r with (1 := D3). fold Z in L. unfold square. lra.
- unfold Family.high. fold v. apply Rmult_le_reg_r with (1 := D3). unfold square. lra.
Qed.

Lemma squares_bound z : centered a = true -> mean_bounded a r = true -> two_passes_bounded a r = true ->
  merged_bounded a r = true -> any_square u w n x z -> 0 <= z -> R_ (low r) <= z <= R_ (high r).
Proof.
intros C M Tb H S Z. assert (mu_is : mu = mean n x) by (unfold mu; rewrite C; reflexivity).
destruct S as [S|S].
- assert (A0 : 0 <= al).
  { destruct S as (m & A & _). apply (means_bound m C M) in A. eapply Rle_trans; [apply Rabs_pos|exact A]. }
  destruct (two_passes_computed A0 Tb) as [L U]. rewrite mu_is in L, U.
  assert (B := two_passes_bound u w om n ltac:(lra) w_pos ltac:(lia) w_small ltac:(lra) guard x (any_mean u w n x) al
    ltac:(intros m A; rewrite <- mu_is; apply means_bound; auto) z S Z). lra.
- assert (B := merged_variance_error u w x n k k ltac:(lra) u20 w_pos enough few guard om z ltac:(lra) w_small wide S).
  replace (mean n (fun i => (x i - mean n x) ^ 2)) with v in B by (unfold v, variance, deviation; rewrite mu_is; reflexivity).
  destruct (part_errors u w x n k k ltac:(lra) u20 w_pos enough few wide) as (_ & P0 & _).
  rewrite grown8 in B. unfold mean_bounded in M. cbv zeta in M. read.
  set (p := part_alpha u w x n k k) in *. 
  assert (R0 : sqrt (INR k * v) <= R_ (root r)) by (apply root_le; lra).
  assert (S0 : sqrt (mean n (fun i => x i ^ 2)) <= R_ (size r)).
  { rewrite <- (sqrt_square (R_ (size r))) by lra. apply sqrt_le_1_alt. apply Rmult_le_reg_r with D; lra. }
  assert (kv : 0 <= INR k * v) by (apply Rmult_le_pos; auto using pos_INR).
  assert (k0 := pos_INR k).
  assert (P : p <= R_ (part r)).
  { unfold p, part_alpha. rewrite grown4. fold D.
    replace (mean n (fun i => (x i - mean n x) ^ 2)) with v by (unfold v, variance, deviation; rewrite mu_is; reflexivity).
    apply Rmult_le_reg_r with ((D - 1) * (1 - 4 * D * u)); [apply Rmult_lt_0_compat; lra|].
    replace (_ * ((D - 1) * (1 - 4 * D * u))) with (u * T n x + (increment * u * sqrt (INR k * v)
      + three u * (INR k * sqrt (mean n (fun i => x i ^ 2))) + 2 * (w * D)) * (D - 1)) by (field; lra).
    assert ((increment * u * sqrt (INR k * v) + three u * (INR k * sqrt (mean n (fun i => x i ^ 2))) + 2 * (w * D)) * (D - 1) <=
      (5 * u * R_ (root r) + three u * INR k * R_ (size r) + 2 * u * om * D) * (D - 1)).
    { apply Rmult_le_compat_r; [lra|]. unfold increment.
      assert (5 * u * sqrt (INR k * v) <= 5 * u * R_ (root r)) by (apply Rmult_le_compat_l; lra).
      assert (three u * (INR k * sqrt (mean n (fun i => x i ^ 2))) <= three u * (INR k * R_ (size r))).
      { apply Rmult_le_compat_l; auto. apply Rmult_le_compat_l; auto. }
      lra. }
    rewrite three_is in *. lra. }
  assert (S2 : sqrt (2 * (INR k * v)) <= 1518500250 / 1073741824 * R_ (root r)).
  { rewrite sqrt_mult by lra. apply Rmult_le_compat; auto using sqrt_pos.
    rewrite <- (sqrt_square (1518500250 / 1073741824)) by lra. apply sqrt_le_1_alt; lra. }
  assert (Ch : merged_change u w x n k k <= 2 * R_ (part r) * (1518500250 / 1073741824 * R_ (root r)) + 2 * INR k * R_ (part r) * R_ (part r)).
  { unfold merged_change.
    replace (mean n (fun i => (x i - mean n x) ^ 2)) with v by (unfold v, variance, deviation; rewrite mu_is; reflexivity).
    fold p. assert (p * sqrt (2 * (INR k * v)) <= R_ (part r) * (1518500250 / 1073741824 * R_ (root r))) by (apply Rmult_le_compat; auto using sqrt_pos).
    assert (Q2 : p ^ 2 <= R_ (part r) * R_ (part r)) by (simpl; rewrite Rmult_1_r; apply Rmult_le_compat; auto).
    apply (Rmult_le_compat_l (2 * INR k)) in Q2; [|lra]. lra. }
  set (ch := merged_change u w x n k k) in *.
  unfold merged_bounded in H. cbv zeta in H. apply andb_prop in H. destruct H as [L H]. read.
  assert (F0 : R_ (Float radix2 1518500250 (-30)) = 1518500250 / 1073741824) by (unfold F2R; simpl; lra).
  rewrite F0 in *. set (c := 1 - (2 * D + 8) * u) in *.
  assert (c0 : 0 < c) by (unfold c; nra).
  assert (D2c : 0 < D * D * c) by (apply Rmult_lt_0_compat; auto; apply Rmult_lt_0_compat; lra).
  set (ch' := 2 * R_ (part r) * (1518500250 / 1073741824 * R_ (root r)) + 2 * INR k * R_ (part r) * R_ (part r)) in *.
  assert (Bz : Rabs (z - v) * (D * D * c) <= (v + ch') * (D * D) - v * (D * D * c) + om * (D * D * c)).
  { apply (Rmult_le_compat_r (D * D * c)) in B; [|lra].
    replace (((v + ch) * / c - v + om) * (D * D * c)) with ((v + ch) * (D * D) - v * (D * D * c) + om * (D * D * c)) in B by (field; lra).
    assert (ch * (D * D) <= ch' * (D * D)) by (apply Rmult_le_compat_r; auto; apply Rmult_le_pos; lra). lra. }
  assert (z - v <= Rabs (z - v) /\ v - z <= Rabs (z - v)) as [Z1 Z2] by (unfold Rabs; destruct Rcase_abs; lra).
  apply (Rmult_le_compat_r (D * D * c)) in Z1, Z2; [|lra|lra]. unfold ch' in *.
  split.
  + apply Bool.orb_prop in L. destruct L as [L|L]; apply le_true in L; compute_in L; [lra|].
    rewrite F0 in L. fold c in L. apply Rmult_le_reg_r with (1 := D2c). lra.
  + apply Rmult_le_reg_r with (1 := D2c). lra.
Qed.

Local Notation g := (entry (gain a)).
Local Notation b := (entry (bias a)).
Local Notation y := (entry (returned a)).
Local Notation eps := (R_ (epsilon a)).
Local Notation lo := (R_ (low r)).
Local Notation hi := (R_ (high r)).

Lemma scales_bound : 0 <= eps -> scale_bounded a r = true ->
  0 <= lo /\ 0 < Components.D (place a) lo eps /\ D * R_ (left r) <= (1 - scale * u) / Components.D (place a) hi eps /\
  (1 + scale * u) / Components.D (place a) lo eps <= D * R_ (right r).
Proof.
intros E0 H. unfold scale_bounded in H. read. unfold scale.
match goal with H : root_below _ _ _ = true |- _ => rename H into B end.
match goal with H : root_above _ _ _ = true |- _ => rename H into U end.
assert (L : R_ (least r) <= Components.D (place a) lo eps).
{ unfold root_below in B. destruct (place a); simpl; read.
  - rewrite <- (sqrt_square (R_ (least r))) by lra. apply sqrt_le_1_alt; auto.
  - assert (R_ (least r) - eps <= sqrt lo); [|lra]. rewrite <- (sqrt_square (R_ (least r) - eps)) by lra. apply sqrt_le_1_alt; auto. }
assert (M : Components.D (place a) hi eps <= R_ (most r)).
{ unfold root_above in U. destruct (place a); simpl; read.
  - rewrite <- (sqrt_square (R_ (most r))) by lra. apply sqrt_le_1_alt; auto.
  - assert (sqrt hi <= R_ (most r) - eps); [|lra]. rewrite <- (sqrt_square (R_ (most r) - eps)) by lra. apply sqrt_le_1_alt; auto. }
assert (LH : Components.D (place a) lo eps <= Components.D (place a) hi eps) by (apply D_le; lra).
split; [lra|]. split; [lra|]. split.
- apply Rmult_le_reg_r with (Components.D (place a) hi eps); [lra|]. unfold Rdiv. rewrite (Rmult_assoc (1 - 8 * u)), Rinv_l, Rmult_1_r by lra.
  assert (0 <= D * R_ (left r)) by (apply Rmult_le_pos; lra).
  apply Rle_trans with (D * R_ (left r) * R_ (most r)); [apply Rmult_le_compat_l; lra|lra].
- apply div_le; [lra|]. assert (0 <= D * R_ (right r)).
  { destruct (Rle_lt_dec 0 (D * R_ (right r))); auto. assert (D * R_ (right r) * R_ (least r) <= 0) by nra. lra. }
  apply Rle_trans with (D * R_ (right r) * R_ (least r)); [lra|]. apply Rmult_le_compat_l; lra.
Qed.

Lemma half_unit_is c : half (stored_as a) (R_ c) = R_ (half_unit a c).
Proof.
unfold half, half_unit. destruct (Zeq_bool (Fnum c) 0) eqn:Z.
- rewrite (zero_true _ Z). destruct (Req_EM_T 0 0); [|lra]. rewrite R_power. reflexivity.
- apply Zeq_bool_neq in Z. assert (N : R_ c <> 0) by (apply F2R_neq_0; exact Z).
  destruct (Req_EM_T (R_ c) 0); [contradiction|]. rewrite R_power. unfold half_ulp. rewrite ulp_neq_0 by exact N.
  unfold cexp, FLT_exp. destruct c as [m e]. simpl in *. rewrite mag_F2R_Zdigits, Digits.Zdigits2_Zdigits by exact Z.
  unfold Z.sub. rewrite (bpow_plus radix2 _ (Z.opp 1)). change (bpow radix2 (Z.opp 1)) with (/ 2). ring.
Qed.

Let E := if centered a then slack u om x g b mu al else subtracted_slack u om x g b mu al.

Lemma errors_bound p i : 0 <= al -> 0 <= p <= D * R_ (right r) -> (Fabs (row_sum a) <=? center r * width a)%N = true ->
  (i < n)%nat -> E p i + half (stored_as a) (y i) <= R_ (error_at a r i).
Proof.
intros A0 [P0 P] H I. read. rewrite Rabs_mult, (Rabs_pos_eq D) in H by lra.
assert (C : Rabs mu <= R_ (center r)) by (apply Rmult_le_reg_l with D; lra).
assert (Y : half (stored_as a) (y i) = R_ (half_unit a (at_ (returned a) i))) by apply half_unit_is.
rewrite Y. unfold error_at.
assert (X : R_ (at_ (row a) i) = x i) by reflexivity. assert (Gi : R_ (at_ (gain a) i) = g i) by reflexivity.
assert (Bi : R_ (at_ (bias a) i) = b i) by reflexivity.
assert (Dv : R_ (right r) * Rabs (times_d n x mu i) = D * R_ (right r) * Rabs (deviation x mu i)).
{ unfold times_d. fold D. rewrite Rabs_mult, (Rabs_pos_eq D) by lra. ring. }
set (t := D * R_ (right r)) in *. set (dv := Rabs (deviation x mu i)) in *.
assert (d0 : 0 <= dv) by apply Rabs_pos. assert (g0 := Rabs_pos (g i)). assert (x0 := Rabs_pos (x i)). assert (m0 := Rabs_pos mu).
assert (K : forall c z, 0 <= c -> 0 <= z -> c * u * (Rabs (g i) * p * z) <= c * u * (Rabs (g i) * t * z)).
{ intros c z C0 Z0. apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat_r; auto. apply Rmult_le_compat_l; auto. }
assert (K1 := K 5 (dv + al) ltac:(lra) ltac:(lra)).
assert (K2 := K 1 (3 * Rabs (x i) + 4 * Rabs mu) ltac:(lra) ltac:(lra)).
assert (Tn : tiny om (x i) (Rabs mu + al) (g i) p <= om * (Rabs (x i) + (R_ (center r) + al) + Rabs (g i) + t + 1)).
{ unfold tiny. rewrite (Rabs_pos_eq (Rabs mu + al)) by lra. apply Rmult_le_compat_l; lra. }
cbv zeta. destruct (centered a) eqn:Cn; autorewrite with numbers;
  rewrite ?R_u, ?R_om, ?R_D, ?R_sum, ?X, ?Gi, ?Bi, (R_deviation i I), ?(Rabs_mult D mu), ?(Rabs_pos_eq D) by lra; fold t.
- unfold E; rewrite ?Cn. unfold slack, component, first_input, first_mean, folded_bias. fold dv.
  replace (5 * u * (Rabs (g i) * (R_ (right r) * Rabs (times_d n x mu i) + t * al))) with (5 * u * (Rabs (g i) * t * (dv + al)))
    by (rewrite Dv; ring).
  replace (4 * R_ (right r) * (D * Rabs mu)) with (4 * t * Rabs mu) by (unfold t; ring). lra.
- unfold E; rewrite ?Cn. unfold subtracted_slack, component. fold dv.
  replace (5 * u * (Rabs (g i) * (R_ (right r) * Rabs (times_d n x mu i) + t * al))) with (5 * u * (Rabs (g i) * t * (dv + al)))
    by (rewrite Dv; ring). lra.
Qed.

Let e i := R_ (error_at a r i).
Local Notation most_shift := (R_ (reach a r)).
Local Notation above := (upper n x g b y mu most_shift e).
Local Notation below := (lower n x g b y mu most_shift e).

Lemma line_is up of w1 n1 k1 : line a r up of = (w1, n1, k1) -> inside_row a of = true ->
  if up then above (R_ w1) (R_ n1) (R_ k1) else below (R_ w1) (R_ n1) (R_ k1).
Proof.
destruct of as [i|]; simpl; intros L I.
- apply Nat.ltb_lt in I. fold n in I.
  set (s := if (whole 0 <=? at_ (gain a) i)%N then whole 1 else whole (-1)) in *.
  assert (S : R_ s = 1 \/ R_ s = -1) by (unfold s; destruct (_ <=? _)%N; rewrite R_whole; auto).
  injection L as <- <- <-. destruct up; autorewrite with numbers; rewrite (R_deviation i I).
  + exact (upper_component n x g b y mu most_shift e i (R_ s) I S).
  + exact (lower_component n x g b y mu most_shift e i (R_ s) I S).
- injection L as <- <- <-. destruct up; autorewrite with numbers; constructor.
Qed.

Lemma tangent_is s t of : tangent_at a r s t of = true -> tangent n x g b y mu most_shift e (R_ s) (R_ t).
Proof.
unfold tangent_at. destruct (line a r true (fst of)) as [[w1 n1] k1] eqn:L1, (line a r false (snd of)) as [[w2 n2] k2] eqn:L2.
intros H. repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end.
apply line_is in L1; auto. apply line_is in L2; auto.
repeat match goal with H : lt _ _ = true |- _ => apply lt_true in H; autorewrite with numbers in H end.
apply tangent_of with (R_ w1) (R_ n1) (R_ k1) (R_ w2) (R_ n2) (R_ k2); auto; unfold gap; lra.
Qed.

Lemma refuted_is : refutes a r = true -> refuted n x g b y mu (R_ (left r)) (R_ (right r)) most_shift e.
Proof.
unfold refutes. destruct (decided r) as [middle one two|i]; intros H.
- apply andb_prop in H. destruct H as [H1 H2]. apply refuted_by_tangents with (R_ middle); eapply tangent_is; eauto.
- repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end.
  apply refuted_by_bias with i; [now apply Nat.ltb_lt|apply zero_true; auto|].
  apply lt_true in H0. autorewrite with numbers in H0. exact H0.
Qed.

Let outside : 0 <= eps -> 0 <= al -> scale_bounded a r = true -> (Fabs (row_sum a) <=? center r * width a)%N = true ->
  refutes a r = true -> ~ in_family u n (place a) eps (half (stored_as a)) x g b y mu al lo hi E.
Proof.
intros E0 A0 S C F. destruct (scales_bound E0 S) as (L0 & P & Lt & Rt).
apply refuted_outside with (left := R_ (left r)) (right := R_ (right r)) (reach := most_shift) (e := e); auto.
- lia.
- unfold reach. autorewrite with numbers. rewrite R_D. fold D. lra.
- intros i I. apply errors_bound; auto. split; auto. unfold scale. apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; auto].
- apply refuted_is; auto.
Qed.

Lemma accepts_sound : accepts a r = true -> ~ correct a w.
Proof.
intros H K. unfold accepts in H. repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end.
assert (E0 : 0 <= eps) by (apply le_true in H5; rewrite R_whole in H5; exact H5).
destruct (scales_bound E0 ltac:(assumption)) as (L0 & P & _).
unfold correct in K. cbv zeta in K. fold f u n x in K.
assert (C : centered a = true \/ centered a = false) by (destruct (centered a); auto). destruct C as [C|C]; rewrite C in *.
- match goal with H : _ = true |- _ => apply andb_prop in H; destruct H as [M Mb] end.
  assert (A0 : 0 <= al) by (unfold mean_bounded in M; cbv zeta in M; read; assumption).
  apply (outside E0 A0); auto. unfold E; rewrite C.
  apply never_accused with (w := w) (means := any_mean u w n x) (squares := any_square u w n x); auto; try lra; try lia.
  + intros m. apply means_bound; auto.
  + intros z. apply squares_bound; auto.
- assert (A0 : al = 0) by (apply zero_true; auto).
  assert (m0 : mu = 0) by (unfold mu; rewrite C; reflexivity).
  destruct (two_passes_computed ltac:(lra) ltac:(assumption)) as [Lo Hi].
  apply (outside E0); auto; [lra|]. unfold E. rewrite C, A0, m0 in *.
  apply subtracting_never_accused with (w := w) (means := eq 0) (squares := mean_square u w n x 0); auto; try lra; try lia.
  + intros m <-. rewrite Rminus_0_r, Rabs_R0; lra.
  + intros z Q Z. assert (B := rms_norm_bound u w om n ltac:(lra) w_pos ltac:(lia) w_small ltac:(lra) guard x z Q Z). lra.
Qed.

End Soundness.

(** Whom the checker accuses is no correct kernel, however its products underflow. *)
Theorem accused_is_wrong a r w : let f := work (stored_as a) in
  0 <= w -> w <= Floats.u (prec f) * Floats.om (emin f) (prec f) -> accepts a r = true -> ~ correct a w.
Proof.
intros f W0 W H. apply accepts_sound with (r := r); auto; unfold accepts in H;
  repeat match goal with H : (_ && _)%bool = true |- _ => apply andb_prop in H; destruct H end; auto.
apply Nat.leb_le; auto.
Qed.
