(** Last step by intermediate values: a root between two poles. *)

From LnGeom Require Export Matrices.

Section Interlacing.

Variables (R : rcfType) (n : nat).
Implicit Types (a : 'I_n.+1 -> R) (lam mu : R) (i j k : 'I_n.+1).

Definition poles a lam : R := \sum_k 1 / (a k - lam).
Definition neighbours a i j : Prop := a i < a j /\ forall k, a k <= a i \/ a j <= a k.
Definition share a i j : R := (a j - a i) / n.+1%:R.

Lemma share_gt0 a i j : neighbours a i j -> 0 < share a i j.
Proof. by case=> lt _; rewrite divr_gt0 ?subr_gt0 ?ltr0n. Qed.

Lemma poles_opp a lam : poles (fun k => - a k) (- lam) = - poles a lam.
Proof. by rewrite /poles -sumrN; apply: eq_bigr => k _; rewrite -opprD invrN mulrN. Qed.

(** A d-th of the gap above the lower pole the sum is not positive yet: its term is -1/h, each other at most 1/((d - 1)h). *)
Lemma poles_low a i j : neighbours a i j -> poles a (a i + share a i j) <= 0.
Proof.
move=> nb; have h0 := share_gt0 nb; have [lt off] := nb; set h := share a i j in h0 *.
have n0 : (0 < n)%N.
  rewrite lt0n; apply/negP => /eqP n0; have ij : i = j; last by rewrite ij ltxx in lt.
  by apply: val_inj; case: i j {lt off nb h h0} => [i il] [j jl] /=; rewrite n0 !ltnS !leqn0 in il jl; rewrite (eqP il) (eqP jl).
have wide : a j - a i = h * n.+1%:R by rewrite /h /share mulfVK ?pnatr_eq0.
rewrite /poles (bigD1 i) //=; have -> : a i - (a i + h) = - h by rewrite opprD addrA subrr sub0r.
rewrite invrN mulrN mul1r addrC subr_le0.
apply: le_trans (_ : \sum_(k | k != i) 1 / (h * n%:R) <= _).
  apply: ler_sum => k ki; rewrite !div1r; case: (off k) => [low|high].
    apply: le_trans (_ : 0 <= _); last by rewrite invr_ge0 mulr_ge0 ?ler0n ?ltW.
    by rewrite invr_le0 opprD addrA subr_le0 ltW // (le_lt_trans _ h0) // subr_le0.
  have nh : 0 < h * n%:R by rewrite mulr_gt0 ?ltr0n.
  have le : h * n%:R <= a k - (a i + h).
    apply: le_trans (_ : a j - (a i + h) <= _); last by rewrite ler_add2r.
    by rewrite opprD addrA wide -addn1 natrD mulrDr mulr1 addrK.
  by rewrite lef_pinv ?posrE // (lt_le_trans nh).
rewrite sumr_const cardC1 card_ord /= -[_ *+ n]mulr_natr mul1r invfM -mulrA mulVf ?mulr1 // pnatr_eq0.
by rewrite -lt0n.
Qed.

Lemma poles_high a i j : neighbours a i j -> 0 <= poles a (a j - share a i j).
Proof.
move=> [lt off]; rewrite -oppr_le0 -poles_opp opprD opprK.
have -> : share a i j = share (fun k => - a k) j i by rewrite /share opprK addrC.
apply: (@poles_low (fun k => - a k)); split=> [|k]; first by rewrite ltr_opp2.
by rewrite !ler_opp2; case: (off k); [right|left].
Qed.

(** ellipsoid.interlacing: If p < q are two components of a with none between them, then there is one λ with
    p < λ < q and Σ 1/(a_i − λ) = 0, and (q − p)/d ≤ λ − p and (q − p)/d ≤ q − λ hold of it. *)
Theorem ellipsoid__interlacing__last_step a i j : neighbours a i j ->
  (exists lam, [/\ a i < lam < a j, \sum_k 1 / (a k - lam) = 0, (a j - a i) / n.+1%:R <= lam - a i
                 & (a j - a i) / n.+1%:R <= a j - lam])
  /\ (forall lam mu, a i < lam < a j -> a i < mu < a j -> \sum_k 1 / (a k - lam) = 0 -> \sum_k 1 / (a k - mu) = 0 ->
        lam = mu).
Proof.
move=> nb; have h0 := share_gt0 nb; have [lt off] := nb.
have apart lam k : a i < lam < a j -> a k != lam.
  by case/andP=> il lj; case: (off k) => ak; [rewrite lt_eqF ?(le_lt_trans ak)|rewrite gt_eqF ?(lt_le_trans lj)].
have one lam mu : a i < lam -> lam < mu -> mu < a j -> poles a lam < poles a mu.
  move=> il lm mj; apply: ellipsoid__interlacing; last by rewrite subr_gt0.
  move=> k; case: (off k) => ak; last by rewrite mulr_gt0 // subr_gt0 (lt_le_trans _ ak) // (lt_trans lm).
  by rewrite nmulr_rgt0 subr_lt0 (le_lt_trans ak) // (lt_trans il).
split; last first.
  move=> lam mu /andP[il lj] /andP[im mj] zl zm; case: (ltgtP lam mu) => // order.
    by have := one _ _ il order mj; rewrite /poles zl zm ltxx.
  by have := one _ _ im order lj; rewrite /poles zl zm ltxx.
pose h := share a i j; pose q : {poly R} := \prod_k ('X - (a k)%:P).
have value lam : a i < lam < a j -> (- (q * q^`())).[lam] = q.[lam] ^+ 2 * poles a lam.
  move=> between; have away : forall m, m \in index_enum (ordinal_finType n.+1) -> a m != lam by move=> m _; exact: apart.
  rewrite hornerN hornerM (deriv_product away) mulrA -expr2 -mulrN; congr (_ * _).
  by rewrite -sumrN; apply: eq_bigr => k _; rewrite -invrN opprB div1r.
have two : h + h <= a j - a i.
  have -> : a j - a i = h * n.+1%:R by rewrite /h /share mulfVK ?pnatr_eq0.
  rewrite -[h + h]mulr2n -[h *+ 2]mulr_natr ler_pmul2l // ler_nat ltnS lt0n; apply/negP => /eqP n0.
  have ij : i = j; last by rewrite ij ltxx in lt.
  by apply: val_inj; case: i j {lt off nb h h0 apart one value} => [i il] [j jl] /=; rewrite n0 !ltnS !leqn0 in il jl; rewrite (eqP il) (eqP jl).
have order : a i + h <= a j - h by rewrite ler_subr_addr -addrA -ler_subr_addl.
have in1 : a i < a i + h < a j by rewrite ltr_addl h0 (le_lt_trans order) // ltr_subl_addr ltr_addl.
have in2 : a i < a j - h < a j by rewrite (lt_le_trans _ order) ?ltr_addl //= ltr_subl_addr ltr_addl.
have [|lam] := @poly_ivt R (- (q * q^`())) _ _ order.
  rewrite !value // mulr_ge0_le0 ?sqr_ge0 ?poles_low //=.
  by rewrite mulr_ge0 ?sqr_ge0 ?poles_high.
move=> /andP[lo hi] /eqP zero; exists lam.
have between : a i < lam < a j.
  by case/andP: in1 => i1 _; case/andP: in2 => _ i2; rewrite (lt_le_trans i1) // (le_lt_trans hi).
split=> //; last 2 first.
- by rewrite ler_subr_addl.
- by rewrite ler_subr_addl -ler_subr_addr.
have away : forall m, m \in index_enum (ordinal_finType n.+1) -> a m != lam by move=> m _; exact: apart.
move: zero; rewrite value // => /eqP; rewrite mulf_eq0 sqrf_eq0 => /orP[|/eqP //].
by rewrite (negPf (product_away away)).
Qed.

End Interlacing.
