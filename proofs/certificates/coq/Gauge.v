(** Last steps about whole networks: the shifts that change no output, and expectations. *)

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

(** ** Linear maps *)

Definition orthogonal Q : Prop := Q^T *m Q = 1%:M.

Lemma act1 v : act (1%:M : 'M[R]_n.+1) v =1 v.
Proof. by move=> i; rewrite /act mul1mx mxE. Qed.

Lemma commutes_centre Q : (forall x, centre (act Q x) =1 act Q (centre x)) <-> Pi R n *m Q = Q *m Pi R n.
Proof.
split=> [E|E x i]; first by apply: act_inj => v i; rewrite !act_mul act_Pi E; apply: eq_act => j; rewrite act_Pi.
by rewrite -act_Pi -act_mul E act_mul; apply: eq_act => j; rewrite act_Pi.
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
