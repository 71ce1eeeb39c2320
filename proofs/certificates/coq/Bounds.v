(** Last steps about best constants, multiplicities and keys. *)

From LnGeom Require Export Networks.

(** ** Best Lipschitz constants *)

Section Lipschitz.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (x z v w g : V) (a b c h K L eps : R) (i j : 'I_n.+1).

Lemma size_scale a x : size (fun i => a * x i) = `|a| * size x.
Proof.
rewrite /size -sqrtr_sqr -sqrtrM ?sqr_ge0 //; congr Num.sqrt; rewrite /square_norm mulr_sumr.
by apply: eq_bigr => i _; rewrite expr2 mulrACA.
Qed.

Lemma centre_scale h x : centre (fun i => h * x i) =1 fun i => h * centre x i.
Proof. by move=> i; rewrite /centre /mean -mulr_sumr -mulrA mulrBr. Qed.

Lemma variance_scale h x : variance (fun i => h * x i) = h ^+ 2 * variance x.
Proof.
rewrite /variance /mean mulrA; congr (_ / _); rewrite mulr_sumr; apply: eq_bigr => i _.
by rewrite !centre_scale expr2 mulrACA.
Qed.

Lemma size_ge0 x : 0 <= size x.
Proof. exact: sqrtr_ge0. Qed.

Lemma size_sqr x : size x ^+ 2 = square_norm x.
Proof. by rewrite sqr_sqrtr // square_norm_ge0. Qed.

Lemma squares_le a b : 0 <= a -> 0 <= b -> a ^+ 2 <= b ^+ 2 -> a <= b.
Proof. by move=> a0 b0; rewrite ler_pexpn2r ?nnegrE. Qed.

Lemma limit_le K a b : (forall h, 0 < h -> K <= a + h * b) -> K <= a.
Proof.
move=> all; rewrite leNgt; apply/negP => aK; have d0 : 0 < K - a by rewrite subr_gt0.
have m0 : 0 < `|b| + 1 by rewrite ltr_spaddr.
pose h := (K - a) / 2%:R / (`|b| + 1); have h0 : 0 < h by rewrite !divr_gt0 ?ltr0n.
have := all h h0; rewrite -ler_subl_addl leNgt => /negP; apply.
apply: le_lt_trans (_ : h * (`|b| + 1) < _).
  by rewrite ler_wpmul2l ?(ltW h0) // (le_trans (ler_norm b)) // ler_addl ler01.
by rewrite /h mulfVK ?gt_eqF // ltr_pdivr_mulr ?ltr0n // mulr_natr mulr2n ltr_addl.
Qed.

(** A norm that divides Πx by D(x), where D is at least D_0, and at multiples of a vector near 0 not much more. *)
Lemma best_constant (D : V -> R) D0 g L : 0 < D0 -> 0 <= L -> (forall x, 0 < D x) ->
  (forall h v, 0 < h -> D (fun i => h * v i) <= D0 + h * Num.sqrt (variance v)) ->
  (forall c x z, let w := fun i => centre x i / D x - centre z i / D z in
     square_norm (fun i => g i * w i) <= c ^+ 2 * square_norm w ->
     D0 ^+ 2 * square_norm (fun i => g i * w i) <= c ^+ 2 * square_norm (fun i => x i - z i)) ->
  (forall x z, size (fun i => g i * (centre x i / D x - centre z i / D z)) <= L * size (fun i => x i - z i))
  <-> (forall v, size (fun i => g i * centre v i) <= L * D0 * size v).
Proof.
move=> D00 L0 pos near kernel; have LD : 0 <= L * D0 by rewrite mulr_ge0 ?(ltW D00).
split=> [bound v|bound x z].
  rewrite -mulrA [D0 * _]mulrC mulrA; apply: (@limit_le _ _ (L * size v * Num.sqrt (variance v))) => h h0.
  have := bound (fun i => h * v i) (fun=> 0).
  have zero : centre (fun=> 0 : R) =1 (fun=> 0) by move=> i; rewrite /centre /mean big1 ?mul0r ?subr0.
  pose d := D (fun i => h * v i); have d0 : 0 < d by apply: pos.
  rewrite (@eq_size _ _ _ (fun i => h / d * (g i * centre v i))) => [|i]; last first.
    by rewrite zero mul0r subr0 centre_scale -!mulrA mulrCA; congr (_ * _); rewrite [RHS]mulrCA; congr (_ * _); exact: mulrC.
  rewrite [X in _ <= L * X](@eq_size _ _ _ (fun i => h * v i)) => [|i]; last by rewrite subr0.
  rewrite !size_scale normrM normfV !gtr0_norm // mulrAC ler_pdivr_mulr // mulrCA -!mulrA ler_pmul2l // => le.
  apply: le_trans le _; rewrite !mulrA [X in _ <= _ + X](_ : _ = L * size v * (h * Num.sqrt (variance v))).
    by rewrite -mulrDr ler_wpmul2l ?mulr_ge0 ?size_ge0 // near.
  by rewrite !mulrA; congr (_ * _); rewrite -mulrA mulrC.
set w := fun i => centre x i / D x - centre z i / D z.
have flat : centre w =1 w.
  apply: balanced; rewrite /total /w sumrB -!mulr_suml.
  by rewrite [X in X / _ - _]centred [X in _ - X / _]centred !mul0r subrr.
apply: squares_le; rewrite ?size_ge0 ?mulr_ge0 ?size_ge0 // exprMn !size_sqr.
rewrite -(@ler_pmul2l _ (D0 ^+ 2)) ?exprn_gt0 // mulrA -exprMn [D0 * L]mulrC; apply: kernel.
rewrite -!size_sqr -exprMn ler_pexpn2r ?nnegrE ?mulr_ge0 ?size_ge0 ?(ltW D00) //.
by have := bound w; rewrite (@eq_size _ _ _ (fun i => g i * w i)) // => i; rewrite flat.
Qed.

(** jacobian.lipschitz: For ε > 0 and L ≥ 0: ‖LN_ε(x; g) − LN_ε(x′; g)‖ ≤ L‖x − x′‖ for all x and x′ if and only if
    ‖g∘Πv‖ ≤ L√ε‖v‖ for all v; so the Lipschitz constant is ‖GΠ‖₂/√ε. *)
Theorem jacobian__lipschitz__last_step eps g L : 0 < eps -> 0 <= L ->
  (forall x z, size (fun i => g i * (LN eps x i - LN eps z i)) <= L * size (fun i => x i - z i))
  <-> (forall v, size (fun i => g i * centre v i) <= L * Num.sqrt eps * size v).
Proof.
move=> e0 L0; apply: (@best_constant (fun x => Num.sqrt (variance x + eps))) => //; rewrite ?sqrtr_gt0 //.
- by move=> x; rewrite sqrtr_gt0 ltr_paddl ?variance_ge0.
- move=> h v h0; rewrite variance_scale; apply: squares_le; rewrite ?sqrtr_ge0 ?addr_ge0 ?mulr_ge0 ?sqrtr_ge0 ?(ltW h0) //.
  rewrite sqr_sqrtr; last by apply: addr_ge0 (ltW e0); apply: mulr_ge0; [apply: sqr_ge0|apply: variance_ge0].
  rewrite sqrrD exprMn !sqr_sqrtr ?variance_ge0 ?(ltW e0) //.
  by rewrite addrC ler_add2r ler_addl mulrn_wge0 // !mulr_ge0 ?sqrtr_ge0 ?(ltW h0).
move=> c x z w within; rewrite sqr_sqrtr ?(ltW e0) //.
apply: le_trans (jacobian__lipschitz e0 within); rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (_ * _).
by apply: eq_bigr => i _; rewrite -!mulrBl ![_ * g i]mulrC.
Qed.

End Lipschitz.

(** ** Multiplicities of the Jacobian *)

Section Spectrum.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Local Notation Pi := (Pi R n).
Implicit Types (x v w : V) (eps : R) (i j : 'I_n.+1).

Definition tangent eps x v : V := fun i =>
  (centre v i - 1 * mean (fun j => LN eps x j * centre v j) * LN eps x i) / Num.sqrt (variance x + eps).

Definition jacobian eps x : 'M[R]_n.+1 :=
  (Num.sqrt (variance x + eps))^-1 *: (Pi - n.+1%:R^-1 *: ((\col_i LN eps x i) *m (\row_j LN eps x j))).

Lemma Pi_entry i j : Pi i j = (i == j)%:R - n.+1%:R^-1.
Proof. by rewrite !mxE big_ord1 !mxE !mulr1. Qed.

Lemma jacobian_entry eps x i j :
  jacobian eps x i j = (Pi i j - n.+1%:R^-1 * (LN eps x i * LN eps x j)) / Num.sqrt (variance x + eps).
Proof. by rewrite /jacobian mxE mulrC; congr (_ / _); rewrite !mxE; congr (_ - _ * _); rewrite big_ord1 !mxE. Qed.

Lemma act_jacobian eps x v : act (jacobian eps x) v =1 tangent eps x v.
Proof.
move=> i; rewrite actE; under eq_bigr do rewrite jacobian_entry mulrAC mulrBl.
rewrite -mulr_suml sumrB -actE act_Pi /tangent mul1r; congr ((_ - _) / _).
have -> : \sum_j n.+1%:R^-1 * (LN eps x i * LN eps x j) * v j = n.+1%:R^-1 * (LN eps x i * \sum_j LN eps x j * v j).
  by rewrite !mulr_sumr; apply: eq_bigr => j _; rewrite !mulrA.
rewrite /mean mulrC [RHS]mulrC mulrA; congr (_ * _ / _).
under [RHS]eq_bigr do rewrite /centre mulrBr.
by rewrite sumrB -mulr_suml [X in _ - X * _]LN_centred mul0r subr0.
Qed.

Lemma jacobian_symmetric eps x : (jacobian eps x)^T = jacobian eps x.
Proof.
apply/matrixP => i j; rewrite mxE !jacobian_entry !Pi_entry eq_sym.
by rewrite [LN eps x j * _]mulrC.
Qed.

(** jacobian.trace: For σ > 0 and ε ≥ 0 the Jacobian is a symmetric matrix J₀, J₀1 = 0, J₀Πx = ε/s³ Πx for
    s = √(σ² + ε), and the eigenspace of 1/s has dimension d − 2. *)
Theorem jacobian__trace__last_step eps x : 0 < variance x -> 0 <= eps -> let s := Num.sqrt (variance x + eps) in
  [/\ (forall v, act (jacobian eps x) v =1 tangent eps x v) /\ (jacobian eps x)^T = jacobian eps x,
      act (jacobian eps x) (fun=> 1) =1 (fun=> 0),
      act (jacobian eps x) (centre x) =1 (fun i => eps / s ^+ 3 * centre x i)
    & \rank (eigenspace (jacobian eps x) s^-1) = (n.+1 - 2)%N].
Proof.
move=> v0 e0 s; have p0 : 0 < variance x + eps by rewrite ltr_spaddl.
have s0 : 0 < s by rewrite sqrtr_gt0.
pose y := \col_i LN eps x i; pose one : 'cV[R]_n.+1 := const_mx 1.
have flat : total (LN eps x) = 0 by exact: LN_centred.
have acts := act_jacobian eps x; have sym := jacobian_symmetric eps x.
split=> //.
- move=> i; rewrite acts /tangent.
  have zero j : centre (fun=> 1 : R) j = 0 by rewrite /centre /mean total_ones divff ?subrr // gt_eqF ?dim_gt0.
  rewrite zero /mean big1 => [|j _]; first by rewrite !mul0r mulr0 mul0r subr0 mul0r.
  by rewrite zero mulr0.
- move=> i; have own : centre (centre x) =1 centre x by apply: balanced; exact: centred.
  have same : variance (centre x) = variance x by apply: eq_mean => j; rewrite own.
  have p1 : 0 < variance (centre x) + eps by rewrite same.
  have E : 1 * tangent eps (centre x) (centre x) i
      = eps * 1 * centre (centre x) i / Num.sqrt (variance (centre x) + eps) ^+ 3 := jacobian__radial (fun=> 1) p1 i.
  have L : LN eps (centre x) =1 LN eps x by move=> j; rewrite /LN own same.
  move: E; rewrite mul1r mulr1 own same -/s mulrAC => <-; rewrite acts /tangent L own same.
  by congr ((_ - _ * _ * _) / _); apply: eq_mean => j; rewrite L own.
have twoc : n.+1%:R *: ((jacobian eps x) - s^-1%:M) = - s^-1 *: (one *m one^T + y *m y^T).
  apply/matrixP => i j; have E := jacobian_entry eps x i j; rewrite Pi_entry in E.
  rewrite [LHS]mxE [X in _ * X]mxE E [(- _%:M) i j]mxE [(s^-1%:M) i j]mxE [RHS]mxE [X in _ = _ * X]mxE.
  rewrite [(one *m one^T) i j]mxE [(y *m y^T) i j]mxE !big_ord1 !mxE mulr1 -[s^-1 *+ _]mulr_natr.
  set b := (i == j)%:R; set w := LN eps x i * LN eps x j; rewrite [s^-1 * b]mulrC -mulrBl.
  have -> : b - n.+1%:R^-1 - n.+1%:R^-1 * w - b = - (n.+1%:R^-1 * (1 + w)).
    by rewrite addrAC [b - _ - b]addrAC subrr sub0r mulrDr mulr1 opprD.
  by rewrite mulNr mulrN -mulrA mulrA divff ?gt_eqF ?dim_gt0 // mul1r mulrC mulNr.
have ker : \rank (jacobian eps x - s^-1%:M) = 2%N.
  have -> : \rank (jacobian eps x - s^-1%:M) = \rank (one *m one^T + y *m y^T)%R.
    have scaled a (M : 'M[R]_n.+1) : a != 0 -> \rank (a *: M) = \rank M by move=> nz; rewrite (eqmx_scale M nz).
    have nz : - s^-1 != 0 by rewrite oppr_eq0 invr_eq0 gt_eqF.
    by rewrite -(@scaled n.+1%:R) ?gt_eqF ?dim_gt0 // twoc; exact: scaled nz.
  pose C := row_mx one y; have CC : one *m one^T + y *m y^T = C *m C^T by rewrite tr_row_mx mul_row_col.
  have len : y^T *m y = (square_norm (LN eps x))%:M.
    by apply/matrixP => i j; rewrite !ord1 !mxE mulr1n; apply: eq_bigr => k _; rewrite !mxE.
  have oneone : one^T *m one = (n.+1%:R)%:M.
    by apply/matrixP => i j; rewrite !ord1 !mxE mulr1n -[RHS](total_ones R n); apply: eq_bigr => k _; rewrite !mxE mulr1.
  have oney : one^T *m y = 0.
    by apply/matrixP => i j; rewrite !ord1 !mxE -[RHS]flat; apply: eq_bigr => k _; rewrite !mxE mul1r.
  have yone : y^T *m one = 0 by rewrite -[LHS]trmxK trmx_mul trmxK oney trmx0.
  have long : square_norm (LN eps x) != 0.
    have -> : square_norm (LN eps x) = square_norm (centre x) / (variance x + eps).
      rewrite /square_norm mulr_suml; apply: eq_bigr => j _; rewrite /LN mulrACA -invfM; congr (_ * _^-1).
      by rewrite -[LHS]expr2 sqr_sqrtr // ltW.
    rewrite mulf_neq0 ?invr_eq0 ?gt_eqF //; move: v0; rewrite /variance /mean pmulr_lgt0 ?invr_gt0 ?dim_gt0 //.
  have gram : C^T *m C = block_mx (n.+1%:R)%:M 0 0 (square_norm (LN eps x))%:M.
    by rewrite tr_row_mx mul_col_row oneone oney yone len.
  have unit : C^T *m C \in unitmx.
    by rewrite gram unitmxE det_ublock !det_scalar1 unitfE mulf_neq0 // gt_eqF ?dim_gt0.
  rewrite CC; apply/eqP; rewrite eqn_leq; apply/andP; split.
    by apply: leq_trans (mxrankM_maxl _ _) (rank_leq_col _).
  have full : \rank (C^T *m C *m (C^T *m C)) = 2%N by rewrite mxrank_unit // unitmx_mul unit.
  rewrite -{1}full -mulmxA [C *m _]mulmxA; apply: leq_trans (mxrankM_maxr _ _) _.
  exact: mxrankM_maxl.
by rewrite /eigenspace mxrank_ker ker.
Qed.

End Spectrum.

(** ** Keys *)

Section Keys.

Variables (R : rcfType) (n p : nat).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (q : V) (t : 'I_p) (i : 'I_n.+1).

Definition key (g b x : V) : V := fun i => RMS 0 x i * g i + b i.

(** attention.selectable: Of any number of keys that are all different each has one query that prefers it to all
    others. *)
Theorem attention__selectable__last_step (x : 'I_p -> V) g b : (forall i, g i != 0) ->
  (forall t, 0 < square_norm (x t)) ->
  (forall t t', t' != t -> 0 < square_norm (fun i => RMS 0 (x t) i - RMS 0 (x t') i)) ->
  forall t, exists q, forall t', t' != t -> \sum_i q i * key g b (x t') i < \sum_i q i * key g b (x t) i.
Proof.
move=> g0 x0 differ t; exists (fun i => RMS 0 (x t) i / g i) => t' tt.
exact: attention__selectable (differ t t' tt) (x0 t) (x0 t') g0.
Qed.

(** attention.hull: The same for a key in the convex hull of any number of keys: it is never preferred to all. *)
Theorem attention__hull__last_step (k : 'I_p -> V) (w : 'I_p -> R) q m : (forall t, 0 <= w t) -> \sum_t w t = 1 ->
  (forall t, \sum_i q i * k t i <= m) -> \sum_i q i * (\sum_t w t * k t i) <= m.
Proof.
move=> w0 w1 le; have -> : \sum_i q i * (\sum_t w t * k t i) = \sum_t w t * \sum_i q i * k t i.
  under eq_bigr do rewrite mulr_sumr; rewrite exchange_big; apply: eq_bigr => t _ /=.
  by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite mulrCA.
rewrite -[m]mul1r -w1 mulr_suml; apply: ler_sum => t _.
by rewrite ler_wpmul2l.
Qed.

End Keys.
