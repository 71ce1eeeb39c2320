(** Last steps by intermediate values: roots between poles, and what a mean over states takes. *)

From LnGeom Require Export Matrices.

(** ** One root between two neighbouring poles *)

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

(** ** The mean of the angles over the gauge *)

Section MeanAngle.

Variables (R : rcfType).

(** Bounded sets have suprema, as in the real numbers. *)
Hypothesis complete : forall S : R -> Prop, (exists a, S a) -> (exists b, forall a, S a -> a <= b) ->
  exists2 s, (forall a, S a -> a <= s) & forall b, (forall a, S a -> a <= b) -> s <= b.

Implicit Types (f : R -> R) (a b c e h s v y : R).

Definition continuous (D : R -> Prop) f : Prop := forall a, D a ->
  forall e, 0 < e -> exists2 h, 0 < h & forall b, D b -> `|b - a| < h -> `|f b - f a| < e.

Lemma halved h : 0 < h -> 0 < h / 2%:R /\ h / 2%:R < h.
Proof. by move=> h0; rewrite divr_gt0 ?ltr0n // ltr_pdivr_mulr ?ltr0n // mulr_natr mulr2n ltr_addl. Qed.

Lemma intermediate f a b y : continuous (fun=> True) f -> a <= b -> f a < y -> y < f b -> exists c, f c = y.
Proof.
move=> cont ab fa fb; pose S u := u <= b /\ f u <= y.
have [|| s up least] := complete (S := S); [by exists a; split=> //; apply: ltW|by exists b => u []|].
exists s; case: (ltgtP (f s) y) => // [low|high].
  have [|h h0 near] := cont s I (y - f s); first by rewrite subr_gt0.
  have below u : `|u - s| < h -> f u < y.
    by move=> /(near u I); rewrite ltr_norml => /andP[_]; rewrite ltr_subl_addr subrK.
  have [h2 h2h] := halved h0; have sb : s < b.
    rewrite lt_neqAle; apply/andP; split; last by apply: least => u [].
    by apply/eqP => E; rewrite E ltNge (ltW fb) in low.
  have inS : S (Num.min b (s + h / 2%:R)).
    split; first by rewrite le_minl lexx.
    apply/ltW/below; have ge : s <= Num.min b (s + h / 2%:R) by rewrite le_minr (ltW sb) ler_addl ltW.
    by rewrite ger0_norm ?subr_ge0 // ltr_subl_addl (le_lt_trans _ (_ : s + h / 2%:R < _)) ?ltr_add2l // le_minl lexx orbT.
  by have := up _ inS; rewrite leNgt lt_minr sb ltr_addl h2.
have [|h h0 near] := cont s I (f s - y); first by rewrite subr_gt0.
have [h2 h2h] := halved h0; suff : s <= s - h / 2%:R by rewrite ler_subr_addr leNgt ltr_addl h2.
apply: least => u Su; rewrite leNgt; apply/negP => su; have [_ fu] := Su.
have /(near u I) : `|u - s| < h.
  by rewrite ler0_norm ?subr_le0 ?up // opprB ltr_subl_addr (lt_trans _ (_ : h / 2%:R + u < _)) ?ltr_add2r // -ltr_subl_addl.
by rewrite ltr_norml => /andP[]; rewrite opprB ltr_subr_addr subrK ltNge fu.
Qed.

(** The cosine of the angle of a state of mean m and variance v with 1. *)
Definition cosine m v : R := m / Num.sqrt (m ^+ 2 + v).

Lemma inside_gt0 m v : 0 < v -> 0 < m ^+ 2 + v.
Proof. by move=> v0; rewrite ltr_paddl ?sqr_ge0. Qed.

Lemma cosine_opp m v : cosine (- m) v = - cosine m v.
Proof. by rewrite /cosine sqrrN mulNr. Qed.

Lemma cosine_lt a b v : 0 < v -> a < b -> cosine a v < cosine b v.
Proof.
move=> v0; wlog b0 : a b / 0 <= b => [claim ab|].
  case: (lerP 0 b) => b0; first exact: claim.
  rewrite -ltr_opp2 -!cosine_opp; apply: claim; last by rewrite ltr_opp2.
  by rewrite oppr_ge0 (ltW (lt_trans ab b0)).
move=> ab; have [sa sb] : 0 < Num.sqrt (a ^+ 2 + v) /\ 0 < Num.sqrt (b ^+ 2 + v) by rewrite !sqrtr_gt0 !inside_gt0.
case: (lerP 0 a) => a0; last first.
  by apply: lt_le_trans (_ : 0 <= _); rewrite ?pmulr_llt0 ?divr_ge0 ?invr_gt0 // ltW.
rewrite /cosine ltr_pdivr_mulr // mulrAC ltr_pdivl_mulr // -(@ltr_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?(ltW sa) ?(ltW sb) //.
rewrite !exprMn !sqr_sqrtr ?ltW ?inside_gt0 // !mulrDr [b ^+ 2 * a ^+ 2]mulrC ltr_add2l ltr_pmul2r //.
by rewrite ltr_pexpn2r ?nnegrE.
Qed.

Lemma cosine_near a b v : 0 < v -> v * (cosine b v - cosine a v) ^+ 2 <= (b - a) ^+ 2.
Proof.
move=> v0; have one c : mean (fun _ : 'I_1 => c) = c by rewrite /mean big_ord1 divr1.
have := @rmsnorm__contraction R 0 (fun=> b) (fun=> a) v v0.
rewrite /= !big_ord1 !divr1 !one -!expr2; apply: le_trans.
apply: ler_wpmul2r; first exact: sqr_ge0.
have root_le c : Num.sqrt v <= Num.sqrt (c ^+ 2 + v) by rewrite ler_wsqrtr // ler_addr sqr_ge0.
rewrite -[X in X <= _](sqr_sqrtr (ltW v0)) [X in X <= _]expr2; apply: ler_pmul; rewrite ?sqrtr_ge0 ?root_le //.
Qed.

(** For large m the cosine is near 1: it is at least m/(m + √v). *)
Lemma cosine_large m v : 0 < v -> 0 < m -> 1 - Num.sqrt v / m <= cosine m v.
Proof.
move=> v0 m0; have s0 : 0 < Num.sqrt (m ^+ 2 + v) by rewrite sqrtr_gt0 inside_gt0.
rewrite ler_pdivl_mulr // mulrBl mul1r ler_subl_addr.
apply: le_trans (_ : m + Num.sqrt v <= _).
  rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?addr_ge0 ?sqrtr_ge0 ?(ltW m0) // (sqr_sqrtr (ltW (inside_gt0 m v0))).
  by rewrite sqrrD (sqr_sqrtr (ltW v0)) addrAC ler_addl mulrn_wge0 // mulr_ge0 ?sqrtr_ge0 // (ltW m0).
rewrite ler_add2l mulrAC ler_pdivl_mulr // ler_wpmul2l ?sqrtr_ge0 //.
by rewrite -[X in X <= _](ger0_norm (ltW m0)) -sqrtr_sqr ler_wsqrtr // ler_addl (ltW v0).
Qed.

Lemma cosine_bound m v : 0 < v -> -1 < cosine m v < 1.
Proof.
move=> v0; have s0 : 0 < Num.sqrt (m ^+ 2 + v) by rewrite sqrtr_gt0 inside_gt0.
have : `|m| < Num.sqrt (m ^+ 2 + v) by rewrite -sqrtr_sqr ltr_sqrt ?inside_gt0 // ltr_addl.
by rewrite ltr_norml => /andP[lo hi]; rewrite ltr_pdivl_mulr // ltr_pdivr_mulr // mulN1r mul1r lo hi.
Qed.

Variables (n p : nat) (x : 'I_p.+1 -> 'I_n.+1 -> R).
Hypothesis varies : forall t, 0 < variance (x t).

Definition angle_cosine (u : 'I_n.+1 -> R) : R := total u / (Num.sqrt (square_norm u) * Num.sqrt n.+1%:R).
Definition average f c : R := mean (fun t => f (angle_cosine (fun i => x t i + c))).
Definition closed a : Prop := -1 <= a <= 1.

Lemma closed_ends : closed 1 /\ closed (-1).
Proof. by rewrite /closed !lexx andbT /= -subr_ge0 opprK addr_ge0 ?ler01. Qed.

Lemma angle_cosineE t c : angle_cosine (fun i => x t i + c) = cosine (mean (x t) + c) (variance (x t)).
Proof.
rewrite /cosine -(gauge__mean_angle c (varies t)) /angle_cosine /total /square_norm -total_ones.
by congr (_ / (Num.sqrt _ * Num.sqrt _)); apply: eq_bigr => i _; rewrite ?mulr1.
Qed.

Lemma angle_closed t c : closed (angle_cosine (fun i => x t i + c)).
Proof. by rewrite angle_cosineE /closed; have /andP[lo hi] := cosine_bound (mean (x t) + c) (varies t); rewrite !ltW. Qed.

Lemma sum_lt (F G : 'I_p.+1 -> R) : (forall t, F t < G t) -> \sum_t F t < \sum_t G t.
Proof.
move=> lt; rewrite (bigD1 ord0) //= [X in _ < X](bigD1 ord0) //= ltr_le_add //.
by apply: ler_sum => t _; apply: ltW.
Qed.

Lemma mean_lt (F G : 'I_p.+1 -> R) : (forall t, F t < G t) -> mean F < mean G.
Proof. by move=> lt; rewrite ltr_pmul2r ?invr_gt0 ?ltr0n // sum_lt. Qed.

Lemma mean_constant a : mean (fun _ : 'I_p.+1 => a) = a.
Proof. by rewrite /mean sumr_const card_ord -[_ *+ _]mulr_natr mulfK ?pnatr_eq0. Qed.

Lemma eventually (P : 'I_p.+1 -> R -> Prop) : (forall t, exists c0, forall c, c0 <= c -> P t c) ->
  exists c0, forall c, c0 <= c -> forall t, P t c.
Proof.
move=> each; suff [c0 all] : exists c0, forall t, t \in enum 'I_p.+1 -> forall c, c0 <= c -> P t c.
  by exists c0 => c le t; apply: all => //; rewrite mem_enum.
elim: (enum _) => [|t r [c1 all]]; first by exists 0.
have [c2 own] := each t; exists (Num.max c1 c2) => u; rewrite inE => /orP[/eqP ->|ur] c; rewrite le_maxl => /andP[l1 l2].
  exact: own.
exact: all.
Qed.

Lemma average_continuous f : continuous closed f -> continuous (fun=> True) (average f).
Proof.
move=> cont a _ e e0.
have each t : exists h0, forall h, h0 <= h -> forall b, `|b - a| < h^-1 -> 0 < h ->
    `|f (angle_cosine (fun i => x t i + b)) - f (angle_cosine (fun i => x t i + a))| < e.
  have [h h0 near] := cont _ (angle_closed t a) e e0.
  pose s := Num.sqrt (variance (x t)); have s0 : 0 < s by rewrite sqrtr_gt0.
  exists (h * s)^-1 => k kh b small k0; apply: near; first exact: angle_closed.
  have small' : `|b - a| < h * s.
    by apply: lt_le_trans small _; rewrite -[h * s]invrK lef_pinv ?posrE ?invr_gt0 ?mulr_gt0.
  rewrite !angle_cosineE -(ltr_pmul2r s0); apply: le_lt_trans small'.
  rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?mulr_ge0 ?normr_ge0 ?(ltW s0) // exprMn !real_normK ?num_real //.
  rewrite (sqr_sqrtr (ltW (varies t))).
  have := cosine_near (mean (x t) + a) (mean (x t) + b) (varies t).
  by rewrite mulrC opprD addrACA subrr add0r.
have [h0 all] := eventually each; pose h := Num.max h0 1.
have h1 : 0 < h by rewrite lt_maxr ltr01 orbT.
exists h^-1 => [|b _ small]; first by rewrite invr_gt0.
rewrite /average /mean -mulrBl -sumrB normrM normfV [X in _ / X]ger0_norm ?ler0n // ltr_pdivr_mulr ?ltr0n //.
apply: le_lt_trans (ler_norm_sum _ _ _) _.
rewrite mulr_natr -[X in e *+ X](card_ord p.+1) -sumr_const; apply: sum_lt => t.
by apply: (all h) => //; rewrite le_maxr lexx.
Qed.

Lemma average_near f e : continuous closed f -> 0 < e ->
  (exists c0, forall c, c0 <= c -> f 1 - e < average f c) /\ (exists c0, forall c, c <= c0 -> average f c < f (-1) + e).
Proof.
move=> cont e0.
have side (b : bool) : let z := if b then 1 else -1 in
    exists c0, forall c, c0 <= c -> forall t, `|f (angle_cosine (fun i => x t i + z * c)) - f z| < e.
  move=> z; apply: eventually => t; have zc : closed z by rewrite /z; case: b {z}; case: closed_ends.
  have [h h0 near] := cont z zc e e0; set m := mean (x t); set v := variance (x t).
  pose s := Num.sqrt v; exists (`|m| + 1 + s / h) => c large; apply: near; first exact: angle_closed.
  have s0 : 0 <= s by apply: sqrtr_ge0.
  have sh : 0 <= s / h by rewrite divr_ge0 // ltW.
  have big k : `|k| = `|m| -> s / h < k + c.
    move=> E; apply: lt_le_trans (_ : k + (`|m| + 1 + s / h) <= _); last by rewrite ler_add2l.
    rewrite -E addrA addrA ltr_addr -addrA [`|k| + 1]addrC addrCA ltr_spaddl ?ltr01 //.
    by rewrite addrC -ler_subl_addr sub0r ler_normr lexx orbT.
  have close k : `|k| = `|m| -> `|cosine (k + c) v - 1| < h.
    move=> E; have kc := big k E; have k0 := le_lt_trans sh kc.
    rewrite distrC ger0_norm; last by rewrite subr_ge0; have /andP[_ /ltW] := cosine_bound (k + c) (varies t).
    apply: le_lt_trans (_ : s / (k + c) < _).
      by rewrite ler_subl_addr -ler_subl_addl; exact: cosine_large (varies t) k0.
    by rewrite ltr_pdivr_mulr // mulrC -ltr_pdivr_mulr.
  rewrite angle_cosineE -/m -/v /z {z zc}; case: b; first by rewrite mul1r close.
  by rewrite mulN1r -[m]opprK -opprD cosine_opp -opprD normrN close // normrN.
split.
  have [c0 all] := side true; exists c0 => c le; rewrite -[f 1 - e]mean_constant; apply: mean_lt => t.
  by have := all c le t; rewrite /= mul1r ltr_norml => /andP[lo _]; rewrite [f 1 - e]addrC -ltr_subr_addr.
have [c0 all] := side false; exists (- c0) => c le; rewrite -[f (-1) + e]mean_constant; apply: mean_lt => t.
by have := all (- c); rewrite ler_oppr => /(_ le t); rewrite /= mulrN mulN1r opprK ltr_norml => /andP[_]; rewrite ltr_subl_addl.
Qed.

Lemma reached f y : continuous closed f -> f (-1) < y -> y < f 1 -> exists c, average f c = y.
Proof.
move=> cont lo hi; have e1 : 0 < f 1 - y by rewrite subr_gt0.
have e2 : 0 < y - f (-1) by rewrite subr_gt0.
have [[c1 high] _] := average_near cont e1; have [_ [c2 low]] := average_near cont e2.
apply: (@intermediate _ (Num.min c1 c2) (Num.max c1 c2)); first exact: average_continuous.
- by rewrite le_maxr le_minl lexx.
- by have := low (Num.min c1 c2); rewrite le_minl lexx orbT addrC subrK; apply.
by have := high (Num.max c1 c2); rewrite le_maxr lexx opprB addrC subrK; apply.
Qed.

(** gauge.mean_angle: In a real closed field in which bounded sets have suprema, such as the real numbers: for any
    number of states with σ > 0 and any continuous function f on [−1, 1], such as the arc cosine, the mean of
    f(cos∠(x + c1, 1)) over the states takes every value strictly between f(−1) and f(1); if f decreases strictly it
    takes no other, and each at one c alone. *)
Theorem gauge__mean_angle__last_step f : continuous closed f ->
  (forall y, (f (-1) < y < f 1) || (f 1 < y < f (-1)) -> exists c, average f c = y)
  /\ ((forall a b, closed a -> closed b -> a < b -> f b < f a) ->
      (forall c, f 1 < average f c < f (-1)) /\ (forall c e, average f c = average f e -> c = e)).
Proof.
move=> cont; split=> [y|falls].
  case/orP=> /andP[lo hi]; first exact: reached.
  have cont' : continuous closed (fun a => - f a).
    move=> a ca e e0; have [h h0 near] := cont a ca e e0; exists h => // b cb small.
    by rewrite -opprD normrN; apply: near.
  have [||c E] := @reached _ (- y) cont'; rewrite ?ltr_opp2 //; exists c; apply: oppr_inj.
  by rewrite -E /average /mean sumrN mulNr.
have [c1 cN] := closed_ends.
split=> [c|].
  have inner t : -1 < angle_cosine (fun i => x t i + c) < 1 by rewrite angle_cosineE; apply: cosine_bound (varies t).
  apply/andP; split.
    rewrite -[f 1]mean_constant; apply: mean_lt => t; apply: falls => //; first exact: angle_closed.
    by case/andP: (inner t).
  rewrite -[f (-1)]mean_constant; apply: mean_lt => t; apply: falls => //; first exact: angle_closed.
  by case/andP: (inner t).
have strict c e : c < e -> average f e < average f c.
  move=> ce; apply: mean_lt => t; apply: falls; try exact: angle_closed.
  by rewrite !angle_cosineE cosine_lt // ltr_add2l.
by move=> c e E; case: (ltgtP c e) => // /strict; rewrite E ltxx.
Qed.

End MeanAngle.
