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
apply: (@rmsnorm__swap R n u (a ^+ 2) e 0 0 0 0); rewrite ?sqr_ge0 // total_ones.
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

(** ** What commutes with a norm *)

Section Commutant.

Variables (R : rcfType) (n : nat) (eps : R).
Local Notation V := ('I_n.+1 -> R).
Local Notation Pi := (Pi R n).
Implicit Types (x y u : V) (A P : 'M[R]_n.+1) (i j : 'I_n.+1).
Hypothesis eps0 : 0 < eps.

Definition commutes (N : V -> V) A : Prop := forall x, N (act A x) =1 act A (N x).

Lemma act_add A x y : act A (fun i => x i + y i) =1 fun i => act A x i + act A y i.
Proof. by move=> i; rewrite !actE -big_split; apply: eq_bigr => j _; rewrite mulrDr. Qed.

Lemma act_scale A c x : act A (fun i => x i * c) =1 fun i => act A x i * c.
Proof. by move=> i; rewrite !actE mulr_suml; apply: eq_bigr => j _; rewrite mulrA. Qed.

Lemma act_opp A x : act A (fun i => - x i) =1 fun i => - act A x i.
Proof. by move=> i; rewrite !actE -sumrN; apply: eq_bigr => j _; rewrite mulrN. Qed.

Lemma act0 A x : x =1 (fun=> 0) -> act A x =1 fun=> 0.
Proof. by move=> E i; rewrite actE big1 // => j _; rewrite E mulr0. Qed.

Lemma eq_square_norm x y : x =1 y -> square_norm x = square_norm y.
Proof. by move=> E; apply: eq_bigr => j _; rewrite E. Qed.

Lemma square_norm0 x : x =1 (fun=> 0) -> square_norm x = 0.
Proof. by move=> E; rewrite /square_norm big1 // => j _; rewrite E mul0r. Qed.

Lemma isometric A x : square_norm (act A x) = square_norm x -> RMS eps (act A x) =1 act A (RMS eps x).
Proof.
move=> long i; rewrite /RMS act_scale -/(RMS eps (act A x) i) /RMS.
by congr (_ / Num.sqrt (_ / _ + eps)); exact: long.
Qed.

(** A linear map that commutes with RMSNorm on the range of P vanishes there or keeps inner products there. *)
Lemma zero_or_isometric A P : (forall x, RMS eps (act A (act P x)) =1 act A (RMS eps (act P x))) ->
  A *m P = 0 \/ (A *m P)^T *m (A *m P) = P^T *m P.
Proof.
move=> comm; case: (eqVneq (A *m P) 0) => [|AP0]; [by left|right].
have keeps x : 0 < square_norm (act A (act P x)) -> square_norm (act A (act P x)) = square_norm (act P x).
  move=> pos; apply: (rotations__rms_only_isometries (eps := eps)) pos (ltW eps0) => i.
  by have := comm x i; rewrite /RMS act_scale total_ones.
have sums x y : act A (act P (fun i => x i + y i)) =1 fun i => act A (act P x) i + act A (act P y) i.
  by move=> i; rewrite (eq_act _ (act_add P x y)) act_add.
have [y y0] : exists y, 0 < square_norm (act A (act P y)).
  case: (pickP (fun j => 0 < square_norm (act A (act P (basis R j))))) => [j pos|none]; first by exists (basis R j).
  case/eqP: AP0; apply/matrixP => i j; rewrite -act_basis act_mul mxE.
  by apply: square_norm_zero; rewrite none.
have all x : square_norm (act A (act P x)) = square_norm (act P x).
  case: (boolP (0 < square_norm (act A (act P x)))) => [/keeps //|/square_norm_zero zero].
  have plus : act A (act P (fun i => y i + x i)) =1 act A (act P y) by move=> i; rewrite sums zero addr0.
  have less : act A (act P (fun i => y i + - x i)) =1 act A (act P y).
    by move=> i; rewrite sums (eq_act A (act_opp P x)) act_opp zero oppr0 addr0.
  rewrite (square_norm0 zero); apply/esym/square_norm0; apply: (@rotations__no_kernel R n (act A (act P y)) _ (act P y)).
  - exact: keeps.
  - rewrite -[LHS]/(square_norm _) -(eq_square_norm plus) keeps ?(eq_square_norm plus) //.
    by apply: eq_square_norm; exact: act_add.
  - rewrite -[LHS]/(square_norm _) -(eq_square_norm less) keeps ?(eq_square_norm less) //.
    by apply: eq_square_norm => i; rewrite act_add act_opp.
apply/matrixP => i j; rewrite !mxE.
have entry (B : 'M[R]_n.+1) k l : B k l = act B (basis R l) k by rewrite act_basis.
under eq_bigr => k _ do rewrite mxE (entry (A *m P)) (entry (A *m P)) !act_mul.
under [RHS]eq_bigr => k _ do rewrite mxE (entry P) (entry P).
apply: rotations__orthogonal; try exact: all.
rewrite -[LHS]/(square_norm _) -(eq_square_norm (sums _ _)); rewrite [LHS]all.
by apply: eq_square_norm; exact: act_add.
Qed.

(** rotations.rms_commutes: For ε > 0 a linear map A commutes with RMSNorm if and only if A = 0 or AᵀA = I. *)
Theorem rotations__rms_commutes__last_step A : commutes (RMS eps) A <-> A = 0 \/ A^T *m A = 1%:M.
Proof.
split=> [comm|[->|long] x i].
- have := @zero_or_isometric A 1%:M; rewrite mulmx1 trmx1 mulmx1; apply=> x i.
  have one := act1 (R := R) x; rewrite (eq_RMS _ (eq_act A one)) comm; apply: eq_act => j.
  by rewrite (eq_RMS _ one).
- have zero y : act (0 : 'M[R]_n.+1) y =1 fun=> 0 by move=> k; rewrite /act mul0mx mxE.
  by rewrite zero /RMS zero mul0r.
exact: act_RMS.
Qed.

Lemma act_one_constant A : centre (act A (fun=> 1)) =1 (fun=> 0) -> forall x,
  (forall u, total (act A (centre u)) = 0) -> centre (act A x) =1 act A (centre x).
Proof.
move=> flat x kept i.
have split : act A x =1 fun j => act A (centre x) j + act A (fun=> 1) j * mean x.
  move=> j; rewrite -act_scale -act_add; apply: eq_act => k; rewrite mul1r /centre subrK //.
rewrite (eq_centre split) centre_add balanced ?kept //.
have -> : centre (fun j => act A (fun=> 1) j * mean x) i = centre (act A (fun=> 1)) i * mean x.
  by rewrite /centre mulrBl; congr (_ - _); rewrite /mean -mulr_suml mulrAC.
by rewrite flat mul0r addr0.
Qed.

Lemma commutes_centre A : (forall x, centre (act A x) =1 act A (centre x)) <-> Pi *m A = A *m Pi.
Proof.
split=> [E|E x i]; first by apply: act_inj => v i; rewrite !act_mul act_Pi E; apply: eq_act => j; rewrite act_Pi.
by rewrite -act_Pi -act_mul E act_mul; apply: eq_act => j; rewrite act_Pi.
Qed.

(** rotations.layer_commutes: For ε > 0 a linear map A commutes with LayerNorm if and only if AΠ = ΠA and AΠ = 0 or
    (AΠ)ᵀAΠ = Π; an orthogonal one if and only if it sends 1 to a multiple of 1. *)
Theorem rotations__layer_commutes__last_step A :
  (commutes (LN eps) A <-> Pi *m A = A *m Pi /\ (A *m Pi = 0 \/ (A *m Pi)^T *m (A *m Pi) = Pi))
  /\ (A^T *m A = 1%:M -> commutes (LN eps) A <-> exists c, act A (fun=> 1) =1 fun=> c).
Proof.
have idem : Pi^T *m Pi = Pi.
  apply: act_inj => v i; rewrite act_mul.
  have sym : Pi^T = Pi by apply/matrixP => k l; rewrite !mxE !big_ord1 !mxE eq_sym.
  by rewrite sym act_Pi (eq_centre (act_Pi v)) act_Pi balanced // centred.
have LN_RMS x : LN eps x =1 RMS eps (centre x) by [].
have root0 x : 0 < Num.sqrt (variance x + eps) by rewrite sqrtr_gt0 ltr_paddl ?variance_ge0.
have constant A' : commutes (LN eps) A' -> centre (act A' (fun=> 1)) =1 fun=> 0.
  move=> comm i; have one0 : centre (fun=> 1 : R) =1 (fun=> 0) by move=> j; rewrite /centre /mean total_ones divff ?subrr // gt_eqF ?dim_gt0.
  have /eqP := comm (fun=> 1) i; rewrite act0 => [|j]; last by rewrite /LN one0 mul0r.
  by rewrite mulf_eq0 invr_eq0 [X in _ || X]gt_eqF ?root0 // orbF => /eqP.
have kept A' : commutes (LN eps) A' -> forall u, total (act A' (centre u)) = 0.
  move=> comm u; have E : LN eps (act A' u) =1 fun i => act A' (centre u) i / Num.sqrt (variance u + eps).
    by move=> i; rewrite comm /LN act_scale.
  have /eqP := LN_centred eps (act A' u); rewrite (eq_total E) /total -mulr_suml mulf_eq0 invr_eq0.
  by rewrite [X in _ || X]gt_eqF ?root0 // orbF => /eqP.
have first : commutes (LN eps) A <-> Pi *m A = A *m Pi /\ (A *m Pi = 0 \/ (A *m Pi)^T *m (A *m Pi) = Pi).
  split=> [comm|[/commutes_centre E cases] x i].
    have E x : centre (act A x) =1 act A (centre x) by apply: act_one_constant; [exact: constant|exact: kept].
    split; first exact/commutes_centre.
    rewrite -[X in _ \/ _ = X]idem; apply: zero_or_isometric => x i.
    have P := act_Pi x; rewrite (eq_RMS _ (eq_act A P)) -(eq_RMS _ (E x)) -LN_RMS comm.
    by apply: eq_act => j; rewrite LN_RMS (eq_RMS _ P).
  rewrite LN_RMS (eq_RMS _ (E x)); case: cases => [zero|long].
    have Z : act A (centre x) =1 fun=> 0.
      by move=> j; rewrite -(eq_act A (act_Pi x)) -act_mul zero /act mul0mx mxE.
    by rewrite /LN act_scale Z mul0r /RMS Z mul0r.
  rewrite isometric //; apply: etrans (_ : square_norm (act (A *m Pi) x) = _).
    by apply: eq_square_norm => j; rewrite act_mul; apply: eq_act => k; rewrite act_Pi.
  rewrite -(eq_square_norm (act_Pi x)) !square_norm_mx.
  have col B : \col_j act B x j = B *m \col_j x j by apply/colP => j; rewrite mxE.
  rewrite !col; move: (A *m Pi) long => M long; set w := \col_j x j.
  by rewrite !trmx_mul -!mulmxA [M^T *m (M *m w)]mulmxA long [Pi^T *m (Pi *m w)]mulmxA idem.
split=> // long; split=> [comm|[c one]].
  by exists (mean (act A (fun=> 1))) => i; apply/eqP; rewrite -subr_eq0; apply/eqP; exact: constant comm i.
apply/first; have dual u : total (act A (centre u)) = 0.
  have onex : square_norm (act A (fun=> 1)) = n.+1%:R.
    by rewrite act_length // /square_norm; under eq_bigr do rewrite mulr1; rewrite total_ones.
  have c0 : c != 0.
    apply: contraTneq (dim_gt0 R n) => c0; rewrite -onex (square_norm0 (x := act A _)) ?ltxx // => j.
    by rewrite one c0.
  have inner : \sum_i act A (fun=> 1) i * act A (centre u) i = \sum_i 1 * centre u i.
    have lens x : square_norm (act A x) = square_norm x by exact: act_length.
    apply: rotations__orthogonal; try exact: lens.
    by rewrite -[LHS]/(square_norm _) -(eq_square_norm (act_add _ _ _)) lens.
  apply: (mulfI c0); rewrite mulr0 mulr_sumr -[RHS](centred u) -total1 -inner.
  by apply: eq_bigr => i _; rewrite one.
have E x : centre (act A x) =1 act A (centre x).
  apply: act_one_constant => // i; rewrite (eq_centre one) /centre /mean sumr_const card_ord.
  by rewrite -[_ *+ _]mulr_natr mulfK ?subrr // gt_eqF ?dim_gt0.
split; first exact/commutes_centre.
by right; rewrite trmx_mul -mulmxA [A^T *m _]mulmxA long mul1mx idem.
Qed.

End Commutant.
