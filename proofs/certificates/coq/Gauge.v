(** Last steps about whole networks: the shifts and rotations that change no output, and expectations. *)

From LnGeom Require Export Matrices.

Section Gauge.

Variables (R : rcfType) (n p : nat).
Local Notation V := ('I_n.+1 -> R).
Local Notation stream := ('I_p -> V).
Implicit Types (u v w x : V) (k l : nat) (t : 'I_p) (i j : 'I_n.+1) (Q : 'M[R]_n.+1).

(** What the vectors of all positions are behind a norm. *)
Definition read (norm : V -> V) (x : stream) : 'M[R]_(p, n.+1) := \matrix_(t, i) norm (x t) i.

(** ** Shifts along 1 *)

Lemma read_shift e (x y : stream) (c : 'I_p -> R) :
  (forall t, y t =1 fun i => x t i + c t) -> read (LN e) y = read (LN e) x.
Proof. by move=> E; apply/matrixP => t i; rewrite !mxE (eq_LN _ (E t)) LN_shift. Qed.

(** gauge.writers: Of a network of any number of branches, each any function of what a LayerNorm with an ε of its
    own returns at all positions, followed by a matrix W_k, and of a final LayerNorm and a head: with W_k + 1v_kᵀ in
    the place of every W_k and x + c1 in the place of the embedding, v_k any vectors and c any number for each
    position, the output is the same, whatever the head. *)
Theorem gauge__writers__last_step (q : nat) (T : Type) (eps : nat -> R) (W : nat -> 'I_n.+1 -> 'I_q -> R)
    (v : nat -> 'I_q -> R) (hidden : nat -> 'M[R]_(p, n.+1) -> 'I_p -> 'I_q -> R) (head : 'M[R]_(p, n.+1) -> T)
    (c : 'I_p -> R) (x y : nat -> stream) (l : nat) :
  (forall k t, x k.+1 t =1 fun i => x k t i + \sum_m W k i m * hidden k (read (LN (eps k)) (x k)) t m) ->
  (forall k t, y k.+1 t =1 fun i => y k t i + \sum_m (W k i m + v k m) * hidden k (read (LN (eps k)) (y k)) t m) ->
  (forall t, y 0%N t =1 fun i => x 0%N t i + c t) ->
  head (read (LN (eps l)) (y l)) = head (read (LN (eps l)) (x l)).
Proof.
move=> step_x step_y start; congr head.
suff [s E] : exists s : 'I_p -> R, forall t, y l t =1 fun i => x l t i + s t by exact: read_shift E.
elim: l => [|l [s E]]; first by exists c.
exists (fun t => s t + \sum_m v l m * hidden l (read (LN (eps l)) (x l)) t m) => t i.
rewrite step_y step_x E (read_shift _ E) addrACA; congr (_ + _).
by rewrite -big_split; apply: eq_bigr => m _; rewrite mulrDl.
Qed.

(** ** Rotations *)

Definition orthogonal Q : Prop := Q^T *m Q = 1%:M.

Lemma act1 v : act (1%:M : 'M[R]_n.+1) v =1 v.
Proof. by move=> i; rewrite /act mul1mx mxE. Qed.

Lemma act_back Q v : orthogonal Q -> act Q^T (act Q v) =1 v.
Proof. by move=> E i; rewrite -act_mul E act1. Qed.

Lemma square_norm_mx v : square_norm v = ((\col_j v j)^T *m (\col_j v j)) 0 0.
Proof. by rewrite mxE; apply: eq_bigr => j _; rewrite !mxE. Qed.

Lemma act_length Q v : orthogonal Q -> square_norm (act Q v) = square_norm v.
Proof.
move=> E; rewrite !square_norm_mx.
have -> : \col_j act Q v j = Q *m \col_j v j by apply/colP => j; rewrite mxE.
by rewrite trmx_mul mulmxA -[_ *m Q^T *m Q]mulmxA E mulmx1.
Qed.

Lemma act_RMS e Q v : orthogonal Q -> RMS e (act Q v) =1 act Q (RMS e v).
Proof.
move=> E i; rewrite /RMS actE -[mean _]/(square_norm (act Q v) / _) act_length // -/(mean _).
by rewrite actE mulr_suml; apply: eq_bigr => j _; rewrite mulrA.
Qed.

(** gauge.rotation: Of a network of any number of branches, each any function of what an RMSNorm without gain and
    with an ε of its own returns at all positions, and of a final RMSNorm and a head: with an orthogonal Q, the
    embedding Qx, all writers multiplied by Q and all readers by Qᵀ, the states are multiplied by Q and the output
    is the same. *)
Theorem gauge__rotation__last_step (T : Type) Q (eps : nat -> R) (branch : nat -> 'M[R]_(p, n.+1) -> stream)
    (head : 'M[R]_(p, n.+1) -> T) (x y : nat -> stream) (l : nat) :
  let back e u := act Q^T (RMS e u) in
  orthogonal Q ->
  (forall k t, x k.+1 t =1 fun i => x k t i + branch k (read (RMS (eps k)) (x k)) t i) ->
  (forall k t, y k.+1 t =1 fun i => y k t i + act Q (branch k (read (back (eps k)) (y k)) t) i) ->
  (forall t, y 0%N t =1 act Q (x 0%N t)) ->
  (forall t, y l t =1 act Q (x l t)) /\ head (read (back (eps l)) (y l)) = head (read (RMS (eps l)) (x l)).
Proof.
move=> back EQ step_x step_y start.
have same e (a b : stream) : (forall t, b t =1 act Q (a t)) -> read (back e) b = read (RMS e) a.
  move=> E; apply/matrixP => t i; rewrite !mxE -[RHS](act_back _ EQ); apply: eq_act => j.
  by rewrite (eq_RMS _ (E t)) act_RMS.
suff turned : forall t, y l t =1 act Q (x l t) by split=> //; rewrite (same _ _ _ turned).
elim: l => [//|l IH] t i; rewrite step_y IH (same _ _ _ IH).
by rewrite !actE -big_split; apply: eq_bigr => j _; rewrite step_x mulrDr.
Qed.

(** ** Every direction in the place of 1 *)

Definition mirror w : 'M[R]_n.+1 := \matrix_(i, j) ((i == j)%:R - 2 * w i * w j / square_norm w).

Lemma act_mirror w v : act (mirror w) v =1 fun i => v i - 2 * w i * (\sum_j w j * v j) / square_norm w.
Proof.
move=> i; rewrite actE; under eq_bigr do rewrite mxE mulrBl.
rewrite sumrB; congr (_ - _).
  by rewrite -[RHS](sum_basis v i); apply: eq_bigr => j _; rewrite /basis eq_sym.
by rewrite mulr_sumr mulr_suml; apply: eq_bigr => j _; rewrite -!mulrA; congr (_ * (_ * _)); rewrite mulrCA mulrC -mulrA.
Qed.

(** gauge.any_direction: For every u with ‖u‖² = d there is an orthogonal Q with (Qx)·1 = x·u and ‖Qx‖ = ‖x‖ for all x. *)
Theorem gauge__any_direction__last_step u : square_norm u = n.+1%:R ->
  exists2 Q, orthogonal Q & forall x, total (act Q x) = \sum_i x i * u i /\ square_norm (act Q x) = square_norm x.
Proof.
move=> long; suff [Q EQ turns] : exists2 Q, orthogonal Q & forall x, total (act Q x) = \sum_i x i * u i.
  by exists Q => // x; rewrite turns act_length.
pose w : V := fun i => u i - 1.
case: (eqVneq (square_norm w) 0) => [zero|w0].
  have one i : u i = 1.
    have ge0 j : true -> 0 <= w j * w j by rewrite -expr2 sqr_ge0.
    have /eqP := @psumr_eq0P _ _ _ _ ge0 zero i isT.
    by rewrite mulf_eq0 orbb subr_eq0 => /eqP.
  exists 1%:M => [|x]; first by rewrite /orthogonal trmx1 mul1mx.
  by apply: eq_bigr => i _; rewrite act1 one mulr1.
have pos : 0 < square_norm w by rewrite lt_neqAle eq_sym w0 square_norm_ge0.
exists (mirror w) => [|x].
  apply/matrixP => i j; rewrite !mxE.
  under eq_bigr => k _ do rewrite mxE -!act_basis !act_mirror.
  have := rotations__reflection (basis R i) (basis R j) pos => /= ->.
  by rewrite sum_basis /basis.
have exchange := rotations__exchange u.
have one i : 1 - 2 * w i * (\sum_j w j * 1) / square_norm w = u i.
  by apply: exchange; rewrite ?total_ones.
rewrite /total; under eq_bigr do rewrite act_mirror.
under [RHS]eq_bigr do rewrite -one mulrBr mulr1.
rewrite !sumrB; congr (_ - _).
set S := \sum_j w j * x j; set T := \sum_j w j * 1; set N := square_norm w.
have -> : T = \sum_i w i by apply: eq_bigr => i _; rewrite mulr1.
have -> : \sum_i 2 * w i * S / N = \sum_i (w i * (2 * S / N)).
  by apply: eq_bigr => i _; rewrite [2 * w i]mulrC -!mulrA.
rewrite -mulr_suml; set U := \sum_i w i.
have -> : \sum_i x i * (2 * w i * U / N) = \sum_i (w i * x i) * (2 * U / N).
  by apply: eq_bigr => i _; rewrite [2 * w i]mulrC -!mulrA mulrCA.
by rewrite -mulr_suml -/S !mulrA [U * 2]mulrC [S * 2]mulrC; congr (_ / _); rewrite mulrAC.
Qed.

(** ** Expectations *)

(** An expectation is any linear functional on the random variables, that is functions of an outcome. *)
Variables (Omega : Type) (E : (Omega -> R) -> R).
Hypothesis E_add : forall f h, E (fun o => f o + h o) = E f + E h.
Hypothesis E_scale : forall c f, E (fun o => c * f o) = c * E f.
Hypothesis E_same : forall f h, f =1 h -> E f = E h.

Lemma E_sum (I : Type) (r : seq I) (f : I -> Omega -> R) :
  E (fun o => \sum_(i <- r) f i o) = \sum_(i <- r) E (f i).
Proof.
elim: r => [|i r IH]; last by rewrite big_cons -IH -E_add; apply: E_same => o; rewrite big_cons.
rewrite big_nil -[RHS](mul0r (E (fun=> 0))) -E_scale; apply: E_same => o.
by rewrite big_nil mul0r.
Qed.

Lemma quadratic (x : Omega -> V) (M S : 'M[R]_n.+1) : (forall i j, E (fun o => x o i * x o j) = S i j) ->
  E (fun o => \sum_i x o i * act M (x o) i) = \tr (M *m S).
Proof.
move=> moments; rewrite E_sum; apply: eq_bigr => i _; rewrite mxE.
rewrite (E_same (h := fun o => \sum_j M i j * (x o j * x o i))); last first.
  by move=> o; rewrite actE mulr_sumr; apply: eq_bigr => j _; rewrite mulrCA [x o i * _]mulrC.
by rewrite E_sum; apply: eq_bigr => j _; rewrite E_scale moments.
Qed.

(** training.share: For every expectation E and every matrix M, E[x·Mx] = tr(MΣ) if E[x_i x_j] = Σ_ij; with M =
    11ᵀ/d, d·E[μ²] = 1ᵀΣ1/d. *)
Theorem training__share__last_step (x : Omega -> V) (M S : 'M[R]_n.+1) :
  (forall i j, E (fun o => x o i * x o j) = S i j) ->
  E (fun o => \sum_i x o i * act M (x o) i) = \tr (M *m S)
  /\ E (fun o => n.+1%:R * mean (x o) ^+ 2) = (\sum_i \sum_j S i j) / n.+1%:R.
Proof.
move=> moments; split; first exact: quadratic.
rewrite (E_same (h := fun o => n.+1%:R^-1 * \sum_i \sum_j x o i * x o j)); last first.
  move=> o; rewrite /mean expr2 mulrCA [n.+1%:R * _]mulrC mulfVK ?gt_eqF ?dim_gt0 // mulrAC mulrC.
  by congr (_ * _); rewrite mulr_suml; apply: eq_bigr => i _; rewrite mulr_sumr.
rewrite E_scale mulrC; congr (_ / _); rewrite E_sum; apply: eq_bigr => i _.
by rewrite E_sum; apply: eq_bigr => j _; rewrite moments.
Qed.

(** angles.null_mean_square: For a direction b with ‖b‖ = 1 whose second moments do not change where two components
    are exchanged or one changes its sign, E(x·b)² = ‖x‖²/d. *)
Theorem angles__null_mean_square__last_step (b : Omega -> V) (x : V) :
  (forall i j, E (fun o => b o i * b o i) = E (fun o => b o j * b o j)) ->
  (forall i j, i != j -> E (fun o => b o i * b o j) = - E (fun o => b o i * b o j)) ->
  (forall o, square_norm (b o) = 1) -> E (fun=> 1) = 1 ->
  E (fun o => (\sum_i x i * b o i) ^+ 2) = square_norm x / n.+1%:R.
Proof.
move=> exchange sign unit whole.
have off i j : i != j -> E (fun o => b o i * b o j) = 0.
  by move=> /sign /eqP; rewrite -addr_eq0 -mulr2n mulrn_eq0 => /eqP.
have on i : E (fun o => b o i * b o i) = n.+1%:R^-1.
  have : \sum_j E (fun o => b o j * b o j) = 1 by rewrite -E_sum -[RHS]whole; apply: E_same => o; exact: unit.
  rewrite (eq_bigr (fun=> E (fun o => b o i * b o i))) => [|j _]; last exact: exchange.
  rewrite sumr_const card_ord -[_ *+ _]mulr_natr => one.
  by apply: (mulIf (x := n.+1%:R)); rewrite ?gt_eqF ?dim_gt0 // one mulVf // gt_eqF ?dim_gt0.
rewrite (E_same (h := fun o => \sum_i \sum_j (x i * x j) * (b o i * b o j))); last first.
  move=> o; rewrite expr2 mulr_suml; apply: eq_bigr => i _; rewrite mulr_sumr.
  by apply: eq_bigr => j _; rewrite mulrACA.
rewrite E_sum mulr_suml; apply: eq_bigr => i _; rewrite E_sum (bigD1 i) //= E_scale on big1 ?addr0 // => j ji.
by rewrite E_scale off ?mulr0 // eq_sym.
Qed.

End Gauge.
