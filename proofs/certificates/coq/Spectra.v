(** Last steps about the singular values of the Jacobian with a gain. *)

From LnGeom Require Export Bounds.

(** ** A diagonal matrix, less one of rank r *)

Section Counting.

Variables (R : rcfType) (n r : nat) (N Q : 'M[R]_n.+1) (a L : 'I_n.+1 -> R) (W : 'M[R]_(r, n.+1)).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (v c p q : V) (t : R) (i j k : 'I_n.+1).

Hypothesis ortho : Q^T *m Q = 1%:M.
Hypothesis diagonal : N = Q *m diag_mx (\row_i L i) *m Q^T.
Hypothesis below : forall v, \sum_i v i * act N v i <= \sum_i a i * (v i * v i).
Hypothesis equal : forall v, (forall m, (W *m \col_i v i) m 0 = 0) -> \sum_i v i * act N v i = \sum_i a i * (v i * v i).

Lemma orthoT : Q^T^T *m Q^T = 1%:M.
Proof. by rewrite trmxK; apply: mulmx1C. Qed.

(** Fewer equations than unknowns. *)
Lemma solution m (E : 'M[R]_(m, n.+1)) : (m < n.+1)%N -> exists2 v, 0 < square_norm v & E *m \col_i v i = 0.
Proof.
move=> mn; have : kermx E^T != 0.
  by rewrite -mxrank_eq0 mxrank_ker -lt0n subn_gt0 (leq_ltn_trans (rank_leq_col _)).
rewrite -nz_row_eq0 => nz; exists (fun i => nz_row (kermx E^T) 0 i).
  apply: contraT => /square_norm_zero zero; case/negP: nz; apply/eqP/rowP => i.
  by rewrite (zero i) mxE.
have /sub_kermxP zero := nz_row_sub (kermx E^T).
apply: trmx_inj; rewrite trmx_mul trmx0 -[RHS]zero; congr (_ *m _).
by apply/rowP => i; rewrite !mxE.
Qed.

Lemma form v : \sum_i v i * act N v i = \sum_j L j * (act Q^T v j * act Q^T v j).
Proof.
have acts i : act N v i = \sum_j Q i j * (L j * act Q^T v j).
  by rewrite diagonal !act_mul actE; apply: eq_bigr => j _; rewrite act_diag.
under eq_bigr do rewrite acts mulr_sumr; rewrite exchange_big; apply: eq_bigr => j _ /=.
rewrite [RHS]mulrA [in RHS]mulrC [in X in _ = X * _]actE mulr_suml; apply: eq_bigr => i _.
by rewrite mxE mulrA [v i * _]mulrC.
Qed.

(** A form is not below another one with signs that are opposite, one of them strictly. *)
Lemma clash p q c v : \sum_j p j * (c j * c j) <= \sum_i q i * (v i * v i) -> square_norm c = square_norm v ->
  (forall j, c j != 0 -> 0 <= p j) -> (forall i, v i != 0 -> q i <= 0) ->
  (forall j, c j != 0 -> p j != 0) \/ (forall i, v i != 0 -> q i != 0) -> square_norm v = 0.
Proof.
move=> le same p0 q0 strict.
have up j : true -> 0 <= p j * (c j * c j).
  by move=> _; case: (eqVneq (c j) 0) => [->|/p0 pj]; [rewrite !mulr0|rewrite mulr_ge0 // -expr2 sqr_ge0].
have down i : true -> 0 <= - q i * (v i * v i).
  move=> _; case: (eqVneq (v i) 0) => [->|/q0 qi]; first by rewrite !mulr0.
  by rewrite mulr_ge0 ?oppr_ge0 // -expr2 sqr_ge0.
have bottom : \sum_i q i * (v i * v i) <= 0.
  by rewrite -oppr_ge0 -sumrN; apply: sumr_ge0 => i _; rewrite -mulNr down.
have zero1 : \sum_j p j * (c j * c j) = 0.
  by apply/eqP; rewrite eq_le (le_trans le bottom) sumr_ge0.
have zero2 : \sum_i - q i * (v i * v i) = 0.
  under eq_bigr do rewrite mulNr; rewrite sumrN; apply/eqP; rewrite oppr_eq0 eq_le bottom /=.
  by apply: le_trans le; rewrite zero1.
case: strict => nz; [rewrite -same|]; apply: big1 => i _; apply/eqP; rewrite mulf_eq0 orbb; apply: contraT => ci.
  have /eqP := @psumr_eq0P _ _ _ _ up zero1 i isT.
  by rewrite !mulf_eq0 orbb (negPf ci) orbF (negPf (nz _ ci)).
have /eqP := @psumr_eq0P _ _ _ _ down zero2 i isT.
by rewrite mulNr oppr_eq0 !mulf_eq0 orbb (negPf ci) orbF (negPf (nz _ ci)).
Qed.

(** Rows of a matrix that a predicate chooses. *)
Definition chosen (P : pred 'I_n.+1) (A : 'M[R]_n.+1) : 'M[R]_(#|P|, n.+1) := \matrix_(k, j) A (enum_val k) j.

Lemma chosen0 P A v : chosen P A *m \col_i v i = 0 -> forall i, P i -> act A v i = 0.
Proof.
move=> zero i Pi; have := congr1 (fun M : 'cV_ _ => M (enum_rank_in Pi i) 0) zero; rewrite !mxE => E.
rewrite actE -[RHS]E; apply: eq_bigr => j _; rewrite !mxE enum_rankK_in //.
Qed.

Variable up : R -> bool.
Variable t : R.
Hypothesis above : forall u, up u -> t <= u.
Hypothesis rest : forall u, ~~ up u -> u <= t.
Hypothesis strict : (forall u, up u -> u != t) \/ (forall u, ~~ up u -> u != t).

Lemma weighted (f : V) v : \sum_i (f i - t) * (v i * v i) = \sum_i f i * (v i * v i) - t * square_norm v.
Proof. by rewrite mulr_sumr -sumrB; apply: eq_bigr => i _; rewrite mulrBl. Qed.

Lemma at_most : (#|[pred i | up (L i)]| <= #|[pred i | up (a i)]|)%N.
Proof.
rewrite leqNgt; apply/negP => lt.
pose E := col_mx (chosen [pred i | up (a i)] 1%:M) (chosen [pred j | ~~ up (L j)] Q^T).
have [|v v0] := @solution _ E.
  rewrite -[X in (_ < X)%N](card_ord n.+1) -(cardC [pred i | up (L i)]).
  by rewrite (_ : #|[pred j | ~~ up (L j)]| = #|[predC [pred i | up (L i)]]|) ?ltn_add2r //; apply: eq_card.
rewrite mul_col_mx -[0]vsubmxK => /eq_col_mx[]; rewrite !linear0 => za zL.
suff zero : square_norm v = 0 by rewrite zero ltxx in v0.
pose c := act Q^T v; have same : square_norm c = square_norm v by apply: act_length orthoT.
apply: (@clash (fun j => L j - t) (fun i => a i - t) c v _ same).
- by rewrite !weighted same ler_add2r -form.
- move=> j cj; rewrite subr_ge0 above //; apply: contraT => nup.
  by have := chosen0 zL (i := j) nup; rewrite -/(c j) => /eqP; rewrite (negPf cj).
- move=> i vi; rewrite subr_le0 rest //; apply/negP => isup.
  by have := chosen0 za (i := i) isup; rewrite act1 => /eqP; rewrite (negPf vi).
case: strict => nt; [left=> j cj|right=> i vi]; rewrite subr_eq0 nt //.
  apply: contraT => nup; have := chosen0 zL (i := j) nup.
  by rewrite -/(c j) => /eqP; rewrite (negPf cj).
by apply/negP => isup; have := chosen0 za (i := i) isup; rewrite act1 => /eqP; rewrite (negPf vi).
Qed.

Lemma at_least : (#|[pred i | up (a i)]| <= #|[pred i | up (L i)]| + r)%N.
Proof.
rewrite leqNgt; apply/negP => lt.
pose E := col_mx (col_mx (chosen [pred i | ~~ up (a i)] 1%:M) (chosen [pred j | up (L j)] Q^T)) W.
have [|v v0] := @solution _ E.
  rewrite -[X in (_ < X)%N](card_ord n.+1) -(cardC [pred i | up (a i)]) -addnA addnC.
  by rewrite (_ : #|[pred i | ~~ up (a i)]| = #|[predC [pred i | up (a i)]]|) ?ltn_add2r //; apply: eq_card.
rewrite !mul_col_mx -[0]vsubmxK => /eq_col_mx[]; rewrite -[usubmx 0]vsubmxK => /eq_col_mx[].
rewrite !linear0 => za zL zW; suff zero : square_norm v = 0 by rewrite zero ltxx in v0.
pose c := act Q^T v; have same : square_norm c = square_norm v by apply: act_length orthoT.
rewrite -same; apply: (@clash (fun i => a i - t) (fun j => L j - t) v c).
- by rewrite !weighted same ler_add2r -form equal // => k; rewrite zW mxE.
- by [].
- move=> i vi; rewrite subr_ge0 above //; apply: contraT => nup.
  by have := chosen0 za (i := i) nup; rewrite act1 => /eqP; rewrite (negPf vi).
- move=> j cj; rewrite subr_le0 rest //; apply/negP => isup.
  by have := chosen0 zL (i := j) isup; rewrite -/(c j) => /eqP; rewrite (negPf cj).
case: strict => nt; [left=> i vi|right=> j cj]; rewrite subr_eq0 nt //.
  apply: contraT => nup; have := chosen0 za (i := i) nup.
  by rewrite act1 => /eqP; rewrite (negPf vi).
by apply/negP => isup; have := chosen0 zL (i := j) isup; rewrite -/(c j) => /eqP; rewrite (negPf cj).
Qed.

End Counting.

(** ** The Jacobian with a gain *)

Section Gains.

Variables (R : rcfType) (n : nat) (x g : 'I_n.+1 -> R) (eps : R).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (v w y : V) (lam t k s : R) (i j : 'I_n.+1).

(** The same of RMSNorm. *)
Definition rms_divisor : R := mean (fun j => x j * x j) + eps.

Definition rms_tangent v : V := fun i =>
  (v i - 1 * mean (fun j => RMS eps x j * v j) * RMS eps x i) / Num.sqrt rms_divisor.

Definition rms_jacobian : 'M[R]_n.+1 :=
  (Num.sqrt rms_divisor)^-1 *: (1%:M - n.+1%:R^-1 *: ((\col_i RMS eps x i) *m (\row_j RMS eps x j))).

Lemma rms_entry i j :
  rms_jacobian i j = ((i == j)%:R - n.+1%:R^-1 * (RMS eps x i * RMS eps x j)) / Num.sqrt rms_divisor.
Proof. by rewrite /rms_jacobian mxE mulrC; congr (_ / _); rewrite !mxE; congr (_ - _ * _); rewrite big_ord1 !mxE. Qed.

Lemma act_rms_jacobian v : act rms_jacobian v =1 rms_tangent v.
Proof.
move=> i; rewrite actE; under eq_bigr do rewrite rms_entry mulrAC mulrBl.
rewrite -mulr_suml sumrB /rms_tangent mul1r; congr ((_ - _) / _).
  by rewrite -[RHS](sum_basis v i); apply: eq_bigr => j _; rewrite /basis eq_sym.
rewrite /mean !mulr_suml; apply: eq_bigr => j _.
by rewrite [RHS]mulrAC [RHS]mulrC -mulrA; congr (_ * _); rewrite -mulrA mulrC.
Qed.

Lemma rms_symmetric : rms_jacobian^T = rms_jacobian.
Proof. by apply/matrixP => i j; rewrite mxE !rms_entry eq_sym [RMS eps x j * _]mulrC. Qed.

Definition squared s (J : 'M[R]_n.+1) : 'M[R]_n.+1 := s *: ((G g *m J) *m (G g *m J)^T).

Lemma act_squared s J v : J^T = J ->
  act (squared s J) v =1 fun i => s * (g i * act J (act J (fun j => v j * g j)) i).
Proof.
move=> sym i; have scaled (A : 'M[R]_n.+1) w : act (s *: A) w i = s * act A w i by rewrite /act -scalemxAl mxE.
rewrite scaled trmx_mul sym tr_diag_mx act_mul act_mul act_diag; congr (_ * (_ * _)).
apply: eq_act => j; rewrite act_mul; apply: eq_act => m.
by rewrite act_diag mulrC.
Qed.

Definition kappa s : R := (1 + eps / s) / n.+1%:R.

(** What jacobian.gain_interlacing says of the matrices. *)
Lemma act_layer v : 0 < variance x + eps -> let s := variance x + eps in
  act (squared s (jacobian eps x)) v =1 fun i =>
    g i * (centre (fun j => g j * v j) i - kappa s * LN eps x i * \sum_j LN eps x j * (g j * v j)).
Proof.
move=> s0 s i; have twice w : act (jacobian eps x) (act (jacobian eps x) w) =1 tangent eps x (tangent eps x w).
  by move=> j; rewrite (eq_act _ (act_jacobian eps x w)) act_jacobian.
rewrite act_squared ?jacobian_symmetric // twice /kappa -(total_ones R n).
exact: (jacobian__gain_interlacing_1 v g s0 i).
Qed.

Lemma act_rms v : 0 < variance x + eps -> let s := rms_divisor in
  act (squared s rms_jacobian) v =1 fun i =>
    g i * (g i * v i - kappa s * RMS eps x i * \sum_j RMS eps x j * (g j * v j)).
Proof.
move=> s0 s i; have twice w : act rms_jacobian (act rms_jacobian w) =1 rms_tangent (rms_tangent w).
  by move=> j; rewrite (eq_act _ (act_rms_jacobian w)) act_rms_jacobian.
rewrite act_squared ?rms_symmetric // twice /kappa /s /rms_divisor /mean -(total_ones R n).
exact: (jacobian__gain_interlacing v g s0 i).
Qed.

Definition gains i : R := g i * g i.

Lemma kappa_ge0 s : 0 < s -> 0 <= eps -> 0 <= kappa s.
Proof. by move=> s0 e0; rewrite divr_ge0 ?addr_ge0 ?ler01 ?ler0n // divr_ge0 // ltW. Qed.

Lemma radial_form k y v :
  \sum_i v i * g i * (k * y i * \sum_j y j * (g j * v j)) = k * (\sum_i y i * (g i * v i)) ^+ 2.
Proof.
rewrite expr2 mulrA mulr_sumr; apply: eq_bigr => i _.
by rewrite [k * y i * _]mulrAC [LHS]mulrC -[LHS]mulrA [v i * g i]mulrC.
Qed.

Lemma layer_form v : 0 < variance x + eps -> let s := variance x + eps in
  \sum_i v i * act (squared s (jacobian eps x)) v i
  = \sum_i gains i * (v i * v i) - (\sum_i g i * v i) ^+ 2 / n.+1%:R
    - kappa s * (\sum_i LN eps x i * (g i * v i)) ^+ 2.
Proof.
move=> s0 s; under eq_bigr do rewrite act_layer // mulrA mulrBr.
rewrite sumrB radial_form; congr (_ - _).
rewrite /centre; under eq_bigr do rewrite mulrBr; rewrite sumrB; congr (_ - _).
  by apply: eq_bigr => i _; rewrite [v i * _]mulrC mulrACA.
rewrite -mulr_suml expr2 mulrA; congr (_ * _ / _); apply: eq_bigr => i _; exact: mulrC.
Qed.

Lemma rms_form v : 0 < variance x + eps -> let s := rms_divisor in
  \sum_i v i * act (squared s rms_jacobian) v i
  = \sum_i gains i * (v i * v i) - kappa s * (\sum_i RMS eps x i * (g i * v i)) ^+ 2.
Proof.
move=> s0 s; under eq_bigr do rewrite act_rms // mulrA mulrBr.
rewrite sumrB radial_form; congr (_ - _).
by apply: eq_bigr => i _; rewrite [v i * _]mulrC mulrACA.
Qed.

Lemma rms_gt0 : 0 < variance x + eps -> 0 < rms_divisor.
Proof.
move=> s0; apply: lt_le_trans s0 _; rewrite ler_add2r /variance /mean ler_pmul2r ?invr_gt0 ?dim_gt0 //.
suff -> : \sum_i x i * x i = \sum_i centre x i * centre x i + n.+1%:R * mean x ^+ 2.
  by rewrite ler_addl mulr_ge0 ?ler0n ?sqr_ge0.
have E i : x i * x i = centre x i * centre x i + (mean x * centre x i *+ 2 + mean x ^+ 2).
  have {1 2}-> : x i = centre x i + mean x by rewrite subrK.
  by rewrite -expr2 sqrrD -addrA [centre x i * mean x]mulrC [centre x i ^+ 2]expr2.
under eq_bigr do rewrite E; rewrite big_split /= [X in _ + X = _]big_split /= sumrMnl -mulr_sumr [X in _ * X *+ 2]centred mulr0 mul0rn add0r.
by rewrite sumr_const card_ord mulr_natl.
Qed.

Section Decomposed.

Variables (r : nat) (N Q : 'M[R]_n.+1) (L : V) (W : 'M[R]_(r, n.+1)).
Hypothesis ortho : Q^T *m Q = 1%:M.
Hypothesis diagonal : N = Q *m diag_mx (\row_i L i) *m Q^T.
Hypothesis below : forall v, \sum_i v i * act N v i <= \sum_i gains i * (v i * v i).
Hypothesis equal : forall v, (forall m, (W *m \col_i v i) m 0 = 0) ->
  \sum_i v i * act N v i = \sum_i gains i * (v i * v i).

Lemma interlaced t :
  [/\ (#|[pred i | (t < L i)%R]| <= #|[pred i | (t < gains i)%R]|)%N,
      (#|[pred i | (t < gains i)%R]| <= #|[pred i | (t < L i)%R]| + r)%N
    & (#|[pred i | gains i == t]| <= #|[pred i | L i == t]| + r)%N].
Proof.
have most := at_most ortho diagonal below (up := fun u => t < u) (t := t).
have least := at_least ortho diagonal equal (up := fun u => t <= u) (t := t).
have le : (#|[pred i | (t < L i)%R]| <= #|[pred i | (t < gains i)%R]|)%N.
  by apply: most => [u /ltW|u|] //; [rewrite -leNgt|left=> u; rewrite lt_neqAle eq_sym => /andP[]].
have ge : (#|[pred i | (t <= gains i)%R]| <= #|[pred i | (t <= L i)%R]| + r)%N.
  by apply: least => [u|u|] //; [rewrite -ltNge => /ltW|right=> u; rewrite -ltNge => /lt_eqF ->].
split=> //.
  apply: (at_least ortho diagonal equal (up := fun u => t < u) (t := t)) => [u /ltW|u|] //; first by rewrite -leNgt.
  by left=> u; rewrite lt_neqAle eq_sym => /andP[].
have cut (f : V) : #|[pred i | (t <= f i)%R]| = (#|[pred i | f i == t]| + #|[pred i | (t < f i)%R]|)%N.
  rewrite -(cardID [pred i | f i == t]); congr (_ + _)%N; apply: eq_card => i; rewrite !inE.
    by rewrite andbC; case: eqVneq => [->|//]; rewrite lexx.
  by rewrite lt_neqAle eq_sym.
by move: ge; rewrite !cut -addnA [(_ + r)%N]addnC addnA => ge; rewrite -(leq_add2r #|[pred i | (t < gains i)%R]|) (leq_trans ge) // leq_add2l.
Qed.

End Decomposed.

(** jacobian.gain_interlacing: For σ² + ε > 0 and ε ≥ 0 let Q be orthogonal and Λ diagonal with s²JJᵀ = QΛQᵀ, and θ any
    number. Of the Λ_ii as many as of the g_i² are above θ at most, and at most two fewer; and a number that is m of the
    g_i² is m − 2 of the Λ_ii at least. Of RMSNorm it is one fewer, and m − 1. *)
Theorem jacobian__gain_interlacing__last_step (Q : 'M[R]_n.+1) (L : V) t : 0 < variance x + eps -> 0 <= eps -> Q^T *m Q = 1%:M ->
  let between r :=
    [/\ (#|[pred i | (t < L i)%R]| <= #|[pred i | (t < g i * g i)%R]|)%N,
        (#|[pred i | (t < g i * g i)%R]| <= #|[pred i | (t < L i)%R]| + r)%N
      & (#|[pred i | (g i * g i)%R == t]| <= #|[pred i | L i == t]| + r)%N] in
  (squared (variance x + eps) (jacobian eps x) = Q *m diag_mx (\row_i L i) *m Q^T -> between 2%N)
  /\ (squared rms_divisor rms_jacobian = Q *m diag_mx (\row_i L i) *m Q^T -> between 1%N).
Proof.
move=> s0 e0 ortho between; have r0 := rms_gt0 s0.
split=> diagonal.
  pose W : 'M[R]_(2, n.+1) := \matrix_(m, j) (if m == 0 then g j else LN eps x j * g j).
  apply: (interlaced (W := W) ortho diagonal) => v; rewrite layer_form //.
    rewrite -addrA ler_naddr // -oppr_ge0 opprD !opprK addr_ge0 //.
      by rewrite divr_ge0 ?sqr_ge0 ?ler0n.
    by rewrite mulr_ge0 ?kappa_ge0 ?sqr_ge0.
  move=> zero; have := zero 0; have := zero 1; rewrite !mxE.
  under eq_bigr do rewrite !mxE /= -mulrA; under [in X in _ -> X -> _]eq_bigr do rewrite !mxE /=.
  by move=> -> ->; rewrite !expr0n /= mul0r mulr0 !subr0.
pose W : 'M[R]_(1, n.+1) := \row_j (RMS eps x j * g j).
apply: (interlaced (W := W) ortho diagonal) => v; rewrite rms_form //.
  by rewrite ler_naddr // oppr_le0 mulr_ge0 ?kappa_ge0 ?sqr_ge0.
move=> /(_ 0); rewrite !mxE; under eq_bigr do rewrite !mxE -mulrA.
by move=> ->; rewrite expr0n /= mulr0 subr0.
Qed.

(** ** The sum of the squares *)

Lemma squares s J : s * (\sum_i \sum_j (G g *m J) i j ^+ 2) = \sum_m act (squared s J) (basis R m) m.
Proof.
rewrite mulr_sumr; apply: eq_bigr => m _; rewrite act_basis !mxE; congr (_ * _).
by apply: eq_bigr => j _; rewrite expr2 [(G g *m J)^T _ _]mxE.
Qed.

Lemma eigenvalues N (Q : 'M[R]_n.+1) (L : V) : Q^T *m Q = 1%:M -> N = Q *m diag_mx (\row_i L i) *m Q^T ->
  \sum_m act N (basis R m) m = \sum_i L i.
Proof.
move=> ortho ->; under eq_bigr do rewrite act_basis.
rewrite -[LHS]/(\tr _) mxtrace_mulC mulmxA ortho mul1mx.
by apply: eq_bigr => i _; rewrite !mxE eqxx.
Qed.

Definition layer_sum : R :=
  \sum_i g i * g i * (1 - 1 / n.+1%:R - kappa (variance x + eps) * LN eps x i * LN eps x i).
Definition rms_sum : R := \sum_i g i * g i * (1 - kappa rms_divisor * RMS eps x i * RMS eps x i).

(** jacobian.frobenius: For σ² + ε > 0 it is s²Σ J_ij², and the sum of all Λ_ii if s²JJᵀ = QΛQᵀ with Q orthogonal and Λ
    diagonal. *)
Theorem jacobian__frobenius__last_step : 0 < variance x + eps ->
  let sums s J value :=
    s * (\sum_i \sum_j (G g *m J) i j ^+ 2) = value
    /\ forall (Q : 'M[R]_n.+1) (L : V), Q^T *m Q = 1%:M -> squared s J = Q *m diag_mx (\row_i L i) *m Q^T ->
         \sum_i L i = value in
  sums (variance x + eps) (jacobian eps x) layer_sum /\ sums rms_divisor rms_jacobian rms_sum.
Proof.
move=> s0 sums.
have whole s J value : \sum_m act (squared s J) (basis R m) m = value -> sums s J value.
  by move=> E; split=> [|Q L ortho /(eigenvalues ortho) <- //]; rewrite squares.
split; apply: whole.
  rewrite /layer_sum /kappa -(total_ones R n); apply: etrans (jacobian__frobenius_1 g s0).
  apply: eq_bigr => m _; rewrite act_squared ?jacobian_symmetric //.
  by rewrite (eq_act _ (act_jacobian eps x _)) act_jacobian.
have E : kappa rms_divisor = (1 + eps / ((\sum_i x i * x i) / (\sum_(j < n.+1) 1) + eps)) / \sum_(j < n.+1) 1.
  by rewrite /kappa total_ones.
rewrite /rms_sum E; apply: etrans (jacobian__frobenius g s0).
apply: eq_bigr => m _; rewrite act_squared ?rms_symmetric //.
by rewrite (eq_act _ (act_rms_jacobian _)) act_rms_jacobian total_ones.
Qed.

(** ** The secular equations *)

Variable lam : R.
Hypothesis away : forall i, g i * g i != lam.

Definition eigenvalue N : Prop := exists2 v, (exists i, v i != 0) & act N v =1 fun i => lam * v i.
Definition gap i : R := g i * g i - lam.

Lemma gap0 i : gap i != 0.
Proof. by rewrite subr_eq0. Qed.

Lemma rest_of_square (u : V) s : 0 < s -> mean (fun j => u j * u j) + eps = s ->
  kappa s * (\sum_j u j / Num.sqrt s * (u j / Num.sqrt s)) = 1 - (eps / s) ^+ 2.
Proof.
move=> s0 E; have sn : s != 0 by rewrite gt_eqF.
have -> : \sum_j u j / Num.sqrt s * (u j / Num.sqrt s) = n.+1%:R * (1 - eps / s).
  under eq_bigr do rewrite mulrACA -invfM -[Num.sqrt s * _]expr2 sqr_sqrtr ?(ltW s0) //.
  rewrite -mulr_suml; have -> : 1 - eps / s = mean (fun j => u j * u j) / s.
    by rewrite -[1](divff sn) -mulrBl -{1}E addrK.
  by rewrite /mean mulrA [n.+1%:R * _]mulrC divfK // gt_eqF ?dim_gt0.
by rewrite /kappa mulrA divfK ?gt_eqF ?dim_gt0 // mulrC -subr_sqr expr1n.
Qed.

(** Where g∘u/(g² − λ) is 0, u/(g² − λ) is −u/λ. *)
Lemma hidden (u : V) i : lam != 0 -> g i * (u i / gap i) = 0 -> u i / gap i = - (u i / lam).
Proof.
move=> l0 /eqP; rewrite mulf_eq0 => /orP[/eqP gi|/eqP E]; first by rewrite /gap gi mul0r sub0r invrN mulrN.
by move/eqP: (E); rewrite mulf_eq0 invr_eq0 (negPf (gap0 i)) orbF => /eqP ->; rewrite !mul0r oppr0.
Qed.

Lemma turned_square (a b c l : R) : a * b / c = - (a * b / l) -> a * (b * b / c) = - (a / l * (b * b)).
Proof.
move=> E; have -> : a * (b * b / c) = a * b / c * b by rewrite mulrA mulrA mulrAC.
by rewrite E mulNr mulrA; congr (- (_ * _)); exact: mulrAC.
Qed.

Lemma positive_norm v i : v i != 0 -> 0 < \sum_j v j * v j.
Proof.
move=> vi; rewrite (bigD1 i) //= ltr_paddr ?sumr_ge0 // => [j _|]; first by rewrite -expr2 sqr_ge0.
by rewrite lt_neqAle eq_sym mulf_neq0 // -expr2 sqr_ge0.
Qed.

Lemma nonzero v : (v =1 (fun=> 0) -> False) -> exists i, v i != 0.
Proof.
move=> nz; case: (pickP (fun i => v i != 0)) => [i vi|none]; first by exists i.
by case: nz => i; apply/eqP/negbFE/none.
Qed.

(** jacobian.gain_secular_converse: With jacobian.gain_secular, for σ² + ε > 0: a λ ≠ 0 that is not a squared gain is an
    eigenvalue of s²JJᵀ if and only if κλ(S₀S₂ − S₁²) = ρ²S₀. *)
Theorem jacobian__gain_secular_converse__last_step : 0 < variance x + eps -> lam != 0 ->
  let s := variance x + eps in let y := LN eps x in
  let S0 := \sum_i 1 / (g i * g i - lam) in let S1 := \sum_i y i / (g i * g i - lam) in
  let S2 := \sum_i y i * y i / (g i * g i - lam) in
  eigenvalue (squared s (jacobian eps x)) <-> kappa s * lam * (S0 * S2 - S1 * S1) = (eps / s) ^+ 2 * S0.
Proof.
move=> s0 l0 s y S0 S1 S2.
have acts v i : act (squared s (jacobian eps x)) v i
    = s * (g i * tangent eps x (tangent eps x (fun j => v j * g j)) i).
  rewrite act_squared ?jacobian_symmetric //.
  by rewrite (eq_act _ (act_jacobian eps x _)) act_jacobian.
split=> [[v [i vi] E]|zero].
  have E' j : s * (g j * tangent eps x (tangent eps x (fun m => v m * g m)) j) = lam * v j by rewrite -acts E.
  by rewrite /kappa -(total_ones R n); exact: (@jacobian__gain_secular_converse R n x v g x x lam eps 0 0 gap0 s0 E' l0 (positive_norm vi)).
have [r [t [nz e f]]] : exists r t, [/\ (r != 0) || (t != 0), r * S0 + t * S1 = 0
    & kappa s * lam * (r * S1 + t * S2) = (eps / s) ^+ 2 * t].
  case: (boolP ((S0 == 0) && (S1 == 0))) => [/andP[/eqP z0 /eqP z1]|].
    by exists 1, 0; rewrite oner_eq0 z0 z1 !mul0r !mulr0 addr0 mulr0; split.
  rewrite negb_and => some; exists S1, (- S0); split; first by rewrite oppr_eq0 orbC.
    by rewrite mulrC mulNr subrr.
  by rewrite mulNr -opprB mulrN zero mulrN.
pose u i := r + t * y i; pose v i := g i * (u i / gap i); exists v.
  apply: nonzero => flat; have turned i := hidden l0 (flat i).
  have flat_y : \sum_i y i = 0 by exact: LN_centred.
  have r0 : r = 0.
    have : \sum_i u i / gap i = 0.
      apply: etrans e; rewrite /S0 /S1 !mulr_sumr -big_split; apply: eq_bigr => i _ /=.
      by rewrite /u mulrDl div1r mulrA.
    under eq_bigr do rewrite turned; rewrite sumrN -mulr_suml /u big_split /= -mulr_sumr flat_y mulr0 addr0.
    move/eqP; rewrite oppr_eq0 sumr_const card_ord mulf_eq0 invr_eq0 (negPf l0) orbF -mulr_natr mulf_eq0.
    by rewrite pnatr_eq0 orbF => /eqP.
  have sum : r * S1 + t * S2 = - (t / lam * \sum_i y i * y i).
    rewrite r0 mul0r add0r /S2 mulr_sumr mulr_sumr -sumrN; apply: eq_bigr => i _.
    by apply: turned_square; have := turned i; rewrite /u r0 add0r.
  have size : kappa s * (\sum_i y i * y i) = 1 - (eps / s) ^+ 2 by apply: rest_of_square.
  move: f; rewrite sum mulrN [kappa s * lam]mulrC mulrACA [lam * _]mulrC divfK // size mulrBr mulr1 opprB [_ ^+ 2 * t]mulrC.
  move/eqP; rewrite -subr_eq0 addrAC subrr sub0r oppr_eq0 => t0.
  by move: nz; rewrite r0 t0 eqxx.
move=> i; rewrite acts; rewrite /kappa -(total_ones R n) in f.
apply: etrans (@jacobian__gain_secular R n x g x x lam r t eps 0 0 gap0 s0 e f i) _.
by rewrite -mulrA.
Qed.

(** jacobian.rms_gain_secular_converse: With jacobian.rms_gain_secular, for s² > 0: a λ that is not a squared gain is an
    eigenvalue of s²JJᵀ if and only if κλΣ y_i²/(g_i² − λ) = ρ². *)
Theorem jacobian__rms_gain_secular_converse__last_step : 0 < rms_divisor ->
  let s := rms_divisor in let y := RMS eps x in
  eigenvalue (squared s rms_jacobian) <-> kappa s * lam * (\sum_i y i * y i / (g i * g i - lam)) = (eps / s) ^+ 2.
Proof.
move=> s0 s y; have s0' : 0 < (\sum_i x i * x i) / (\sum_(j < n.+1) 1) + eps by rewrite total_ones.
have acts v i : act (squared s rms_jacobian) v i = s * (g i * rms_tangent (rms_tangent (fun j => v j * g j)) i).
  by rewrite act_squared ?rms_symmetric // (eq_act _ (act_rms_jacobian _)) act_rms_jacobian.
have fact v i : ((\sum_i x i * x i) / (\sum_(j < n.+1) 1) + eps)
    * (g i * rms_tangent (rms_tangent (fun j => v j * g j)) i) = act (squared s rms_jacobian) v i.
  by rewrite acts total_ones.
have kappaE : kappa s = (1 + eps / ((\sum_i x i * x i) / (\sum_(j < n.+1) 1) + eps)) / \sum_(j < n.+1) 1.
  by rewrite /kappa total_ones.
have rhoE : eps / s = eps / ((\sum_i x i * x i) / (\sum_(j < n.+1) 1) + eps) by rewrite total_ones.
split=> [[v [i vi] E]|zero].
  have E' j : ((\sum_i x i * x i) / (\sum_(j < n.+1) 1) + eps)
    * (g j * rms_tangent (rms_tangent (fun m => v m * g m)) j) = lam * v j by rewrite fact E.
  rewrite kappaE rhoE.
  exact: (@jacobian__rms_gain_secular_converse R n x v g x x lam eps 0 0 gap0 s0' E' (positive_norm vi)).
have size : kappa s * (\sum_i y i * y i) = 1 - (eps / s) ^+ 2 by apply: rest_of_square.
exists (fun i => g i * y i / gap i).
  apply: nonzero => flat; have flat' i : g i * (y i / gap i) = 0 by rewrite mulrA flat.
  case: (eqVneq lam 0) => [l0|l0].
    have none i : y i = 0.
      have := flat' i; rewrite mulrA => /eqP; rewrite mulf_eq0 invr_eq0 (negPf (gap0 i)) orbF mulf_eq0.
      by have := away i; rewrite l0 mulf_eq0 orbb => /negPf -> /eqP.
    move: size; rewrite -zero l0 mulr0 mul0r subr0 big1 ?mulr0 => [/eqP|i _]; last by rewrite none mul0r.
    by rewrite eq_sym oner_eq0.
  have turned i := hidden l0 (flat' i).
  have sum : \sum_i y i * y i / (g i * g i - lam) = - (1 / lam * \sum_i y i * y i).
    rewrite mulr_sumr -sumrN; apply: eq_bigr => i _.
    by have := @turned_square 1 (y i) (gap i) lam; rewrite !mul1r => ->.
  move: zero; rewrite sum mulrN [kappa s * lam]mulrC div1r mulrA [lam * _ * _]mulrAC divff // mul1r size opprB.
  by move/eqP; rewrite -subr_eq0 addrAC subrr sub0r oppr_eq0 oner_eq0.
move=> i; rewrite -fact; rewrite kappaE rhoE in zero.
exact: (@jacobian__rms_gain_secular R n x g x x lam eps 0 0 gap0 s0' zero i).
Qed.

End Gains.
