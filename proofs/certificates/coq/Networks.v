(** Last steps about gradients and distances of whole networks, and about what commutes with a norm. *)

From LnGeom Require Export Gauge.

(** ** Gradients of writers *)

Section Gradients.

Variables (R : rcfType) (n p q : nat).
Local Notation V := ('I_n.+1 -> R).
Local Notation stream := ('I_p -> V).
Variables (eps : nat -> R) (hidden : nat -> 'M[R]_(p, n.+1) -> 'I_p -> 'I_q -> R) (loss : 'M[R]_(p, n.+1) -> R).
Implicit Types (W : nat -> 'I_n.+1 -> 'I_q -> R) (x : stream) (k l : nat).

Fixpoint written W x l : stream :=
  if l is k.+1 then fun t i => written W x k t i + \sum_m W k i m * hidden k (read (LN (eps k)) (written W x k)) t m
  else x.

Definition lost W x l : R := loss (read (LN (eps l)) (written W x l)).

(** The derivative of a function of one number at 0. *)
Definition slope (f : R -> R) s : Prop :=
  forall a, 0 < a -> exists2 b, 0 < b & forall h, h != 0 -> `|h| < b -> `|(f h - f 0) / h - s| < a.

Lemma slope_constant f s : (forall h, f h = f 0) -> slope f s -> s = 0.
Proof.
move=> same E; apply/eqP/negPn/negP => s0.
have [|b b0 near] := E `|s|; first by rewrite normr_gt0.
have b2 : 0 < b / 2%:R by rewrite divr_gt0 ?ltr0n.
have := near (b / 2%:R); rewrite same subrr mul0r sub0r normrN ltxx gt_eqF // => /(_ isT).
by rewrite gtr0_norm // ltr_pdivr_mulr ?ltr0n // mulr_natr mulr2n ltr_addl => /(_ b0).
Qed.

Lemma lost_shift W W' x x' l (v : nat -> 'I_q -> R) c : (forall k i m, W' k i m = W k i m + v k m) ->
  (forall t, x' t =1 fun i => x t i + c t) -> lost W' x' l = lost W x l.
Proof.
move=> EW Ex; apply: (@gauge__writers__last_step R n p q R eps W v hidden loss c) => //= k t i.
by congr (_ + _); apply: eq_bigr => m _; rewrite EW.
Qed.

(** training.writer_gradient: Of a network of any number of branches, each any function of what a LayerNorm with an ε
    of its own returns at all positions, followed by a matrix W_k, and of a loss, any function of what a final
    LayerNorm returns, neither of which depends on any W_k or on the embedding x: if a matrix D_k is a gradient of the
    loss at W_k, then 1ᵀD_k = 0; if vectors D_t are one at x, then 1·D_t = 0 at each position. *)
Theorem training__writer_gradient__last_step W x l :
  (forall k D, (forall M, slope (fun h => lost (fun j i m => W j i m + (j == k)%:R * h * M i m) x l)
                                (\sum_m \sum_i D i m * M i m)) ->
     forall m, \sum_i D i m = 0)
  /\ (forall D, (forall M : stream, slope (fun h => lost W (fun t i => x t i + h * M t i) l)
                                          (\sum_t \sum_i D t i * M t i)) ->
     forall t, \sum_i D t i = 0).
Proof.
split=> [k D grad m|D grad t].
  apply: slope_constant (_ : slope _ _) => [|]; last first.
    have := grad (fun _ m' => (m' == m)%:R); rewrite (bigD1 m) //= [X in _ + X]big1 ?addr0 => [|m' /negPf mm].
      by under eq_bigr do rewrite eqxx mulr1; exact.
    by rewrite big1 // => i _; rewrite mm mulr0.
  move=> h; transitivity (lost W x l); [|symmetry].
    by apply: (@lost_shift _ _ _ _ _ (fun j m' => (j == k)%:R * h * (m' == m)%:R) (fun=> 0)) => // t i; rewrite addr0.
  by apply: (@lost_shift _ _ _ _ _ (fun j m' => (j == k)%:R * 0 * (m' == m)%:R) (fun=> 0)) => // t i; rewrite addr0.
apply: slope_constant (_ : slope _ _) => [|]; last first.
  have := grad (fun t' _ => (t' == t)%:R); rewrite (bigD1 t) //= [X in _ + X]big1 ?addr0 => [|t' /negPf tt].
    by under eq_bigr do rewrite eqxx mulr1; exact.
  by rewrite big1 // => i _; rewrite tt mulr0.
move=> h; transitivity (lost W x l); [|symmetry].
  by apply: (@lost_shift _ _ _ _ _ (fun _ _ => 0) (fun t' => h * (t' == t)%:R)) => // k i m; rewrite addr0.
by apply: (@lost_shift _ _ _ _ _ (fun _ _ => 0) (fun t' => 0 * (t' == t)%:R)) => // k i m; rewrite addr0.
Qed.

End Gradients.

(** ** One norm for the other in a whole network *)

Section Swap.

Variables (R : rcfType) (n p : nat).
Local Notation V := ('I_n.+1 -> R).
Local Notation stream := ('I_p -> V).
Implicit Types (u v w : V) (k l : nat) (t : 'I_p) (a b r : R).

Lemma square_norm_zero v : ~~ (0 < square_norm v) -> v =1 fun=> 0.
Proof.
rewrite lt_neqAle square_norm_ge0 andbT negbK eq_sym => /eqP zero i.
have ge0 j : true -> 0 <= v j * v j by rewrite -expr2 sqr_ge0.
by have /eqP := @psumr_eq0P _ _ _ _ ge0 zero i isT; rewrite mulf_eq0 orbb => /eqP.
Qed.

Definition size v : R := Num.sqrt (square_norm v).

Lemma eq_size u v : u =1 v -> size u = size v.
Proof. by move=> E; congr Num.sqrt; apply: eq_bigr => j _; rewrite E. Qed.

Lemma size_add u v : size (fun i => u i + v i) <= size u + size v.
Proof.
case: (boolP (0 < square_norm u)) => [pu|/square_norm_zero E]; last first.
  by rewrite (@eq_size (fun i => u i + v i) v) ?ler_addr ?sqrtr_ge0 // => i; rewrite E add0r.
case: (boolP (0 < square_norm v)) => [pv|/square_norm_zero E]; last first.
  by rewrite (@eq_size (fun i => u i + v i) u) ?ler_addl ?sqrtr_ge0 // => i; rewrite E addr0.
rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?addr_ge0 ?sqrtr_ge0 // sqr_sqrtr ?square_norm_ge0 //.
exact: residual__worst_growth.
Qed.

Lemma size_split u v w : size (fun i => u i - w i) <= size (fun i => u i - v i) + size (fun i => v i - w i).
Proof. by apply: le_trans (size_add _ _); rewrite (eq_size (v := fun i => u i - v i + (v i - w i))) // => i; rewrite addrA subrK. Qed.

Lemma size_le v a : 0 <= a -> square_norm v <= a ^+ 2 -> size v <= a.
Proof. by move=> a0 small; rewrite -(@ler_pexpn2r _ 2) ?nnegrE ?sqrtr_ge0 // sqr_sqrtr ?square_norm_ge0. Qed.

Definition root_mean e v : R := Num.sqrt (mean (fun j => v j * v j) + e).

Lemma RMS_near e a u v : 0 < e -> 0 < a -> a <= root_mean e u -> a <= root_mean e v ->
  size (fun i => RMS e u i - RMS e v i) <= size (fun i => u i - v i) / a.
Proof.
move=> e0 a0 au av; apply: size_le; first by rewrite divr_ge0 ?sqrtr_ge0 // ltW.
rewrite expr_div_n /size sqr_sqrtr ?square_norm_ge0 // ler_pdivl_mulr ?exprn_gt0 // mulrC.
have := rmsnorm__contraction u v e0; rewrite !total_ones; apply: le_trans.
by apply: ler_wpmul2r; [apply: square_norm_ge0 | rewrite expr2; apply: ler_pmul => //; apply: ltW].
Qed.

(** What dropping the projection changes at one norm. *)
Definition gap (a : R) : R := Num.sqrt n.+1%:R * a * Num.sqrt (1 + a ^+ 2).

Lemma swap_near e a u : 0 < e -> 0 <= a -> mean u ^+ 2 <= a ^+ 2 * mean (fun j => u j * u j) ->
  size (fun i => LN e u i - RMS e u i) <= gap a.
Proof.
move=> e0 a0 flat; apply: size_le; first by rewrite !mulr_ge0 ?sqrtr_ge0.
rewrite !exprMn !sqr_sqrtr ?ler0n ?addr_ge0 ?ler01 ?sqr_ge0 // -total_ones.
apply: (@rmsnorm__swap R n u (a ^+ 2) e); rewrite ?sqr_ge0 // total_ones.
by rewrite subr_ge0.
Qed.

(** rmsnorm.swap: Let two networks begin with the same states and have the same branches, each any function of what its
    norm returns at all positions that changes at each position by at most B_k times the largest change at any; let
    the first read through LayerNorms, the second through RMSNorms with the same ε, and let cos²θ ≤ δ_k² at the k-th
    norm of the first and √(‖x‖²/d + ε) ≥ s_k > 0 at the k-th of both. Then what the l-th norms return differs at each
    position by at most η_l + Δ_l/s_l, with η_k = √d δ_k√(1 + δ_k²), Δ_0 = 0 and
    Δ_{k+1} = Δ_k + B_k(η_k + Δ_k/s_k). *)
Theorem rmsnorm__swap__last_step (eps B delta s Delta : nat -> R) (branch : nat -> 'M[R]_(p, n.+1) -> stream)
    (x y : nat -> stream) l t :
  (forall k, [/\ 0 < eps k, 0 < s k & 0 <= delta k]) ->
  (forall k (a b : 'M[R]_(p, n.+1)) r, (forall t, size (fun i => a t i - b t i) <= r) ->
     forall t, size (fun i => branch k a t i - branch k b t i) <= B k * r) ->
  (forall k t, x k.+1 t =1 fun i => x k t i + branch k (read (LN (eps k)) (x k)) t i) ->
  (forall k t, y k.+1 t =1 fun i => y k t i + branch k (read (RMS (eps k)) (y k)) t i) ->
  (forall t, y 0%N t =1 x 0%N t) ->
  (forall k t, mean (x k t) ^+ 2 <= delta k ^+ 2 * mean (fun j => x k t j * x k t j)) ->
  (forall k t, s k <= root_mean (eps k) (x k t) /\ s k <= root_mean (eps k) (y k t)) ->
  Delta 0%N = 0 -> (forall k, Delta k.+1 = Delta k + B k * (gap (delta k) + Delta k / s k)) ->
  size (fun i => LN (eps l) (x l t) i - RMS (eps l) (y l t) i) <= gap (delta l) + Delta l / s l.
Proof.
move=> pos bounded step_x step_y start flat large D0 D1.
have norms k (u : 'I_p) : (forall t, size (fun i => x k t i - y k t i) <= Delta k) ->
    size (fun i => LN (eps k) (x k u) i - RMS (eps k) (y k u) i) <= gap (delta k) + Delta k / s k.
  have [e0 s0 d0] := pos k; move=> near; apply: le_trans (size_split _ (RMS (eps k) (x k u)) _) _.
  apply: ler_add; first exact: swap_near.
  have [lx ly] := large k u; apply: le_trans (RMS_near e0 s0 lx ly) _.
  by rewrite ler_pmul2r ?invr_gt0.
apply: (norms l t); elim: l {t} => [|l IH] u.
  by rewrite D0 (@eq_size _ (fun=> 0)) /size ?/square_norm ?big1 ?sqrtr0 // => i; rewrite ?mul0r // start subrr.
rewrite D1; set f := fun i => branch l (read (LN (eps l)) (x l)) u i - branch l (read (RMS (eps l)) (y l)) u i.
rewrite (@eq_size _ (fun i => (x l u i - y l u i) + f i)) => [|i]; last first.
  by rewrite step_x step_y /f opprD addrACA.
apply: le_trans (size_add _ _) _; apply: ler_add; first exact: IH.
apply: bounded => m; rewrite (@eq_size _ (fun i => LN (eps l) (x l m) i - RMS (eps l) (y l m) i)); first exact: norms.
by move=> i; rewrite !mxE.
Qed.

End Swap.
