(** Last steps about the stream of a whole network: which affine maps readers undo, and what none of them changes. *)

From LnGeom Require Export Networks.

(** ** Norms behind a projection: of all maps readers undo those that turn and scale what is projected *)

Section Complete.

Variables (R : rcfType) (n : nat) (P : 'M[R]_n.+1).
Local Notation C := 'cV[R]_n.+1.
Implicit Types (x y u v a l : C) (A L Q : 'M[R]_n.+1) (e c t : R).
Hypotheses (sym : P^T = P) (idem : P *m P = P).

Definition long u : R := (u^T *m u) 0 0.
Definition within e x : R := long (P *m x) / n.+1%:R + e.
Definition norm e x : C := (Num.sqrt (within e x))^-1 *: (P *m x).

Lemma long_ge0 u : 0 <= long u.
Proof. by rewrite /long mxE sumr_ge0 // => i _; rewrite mxE -expr2 sqr_ge0. Qed.

Lemma long0 u : long u = 0 -> u = 0.
Proof.
rewrite /long mxE => zero; apply/colP => i; rewrite mxE.
have ge0 (j : 'I_n.+1) : true -> 0 <= u^T 0 j * u j 0 by rewrite mxE -expr2 sqr_ge0.
by have /eqP := @psumr_eq0P _ _ _ _ ge0 zero i isT; rewrite mxE mulf_eq0 orbb => /eqP.
Qed.

Lemma long_gt0 u : u != 0 -> 0 < long u.
Proof. by move=> u0; rewrite lt_neqAle long_ge0 andbT eq_sym; apply: contraNneq u0 => /long0 ->. Qed.

Lemma long_scale c u : long (c *: u) = c ^+ 2 * long u.
Proof. by rewrite /long [(c *: u)^T]linearZ /= -scalemxAl -scalemxAr scalerA [LHS]mxE expr2. Qed.

Lemma within_ge0 e x : 0 <= e -> 0 <= within e x.
Proof. by move=> e0; rewrite addr_ge0 // divr_ge0 ?long_ge0 ?ler0n. Qed.

Lemma within_gt0 e x : 0 <= e -> (0 < within e x) = (0 < e) || (P *m x != 0).
Proof.
move=> e0; case: (eqVneq (P *m x) 0) => [Px|Px]; rewrite ?orbT ?orbF /within.
  by rewrite Px /long mulmx0 mxE mul0r add0r.
by rewrite ltr_paddr // divr_gt0 ?long_gt0 ?ltr0n.
Qed.

Lemma within_neg e x y : P *m y = - (P *m x) -> within e y = within e x.
Proof. by move=> E; rewrite /within E -scaleN1r long_scale sqrrN expr1n mul1r. Qed.

Lemma norm_neg e x y : P *m y = - (P *m x) -> norm e y = - norm e x.
Proof. by move=> E; rewrite /norm (within_neg _ E) E scalerN. Qed.

(** What a norm makes of a map that turns and scales. *)
Lemma norm_turned e c Q x y : 0 < c -> Q^T *m Q = 1%:M -> P *m y = c *: (Q *m P *m x) ->
  within (c ^+ 2 * e) y = c ^+ 2 * within e x /\ Q^T *m norm (c ^+ 2 * e) y = norm e x.
Proof.
move=> c0 QQ E; have W : within (c ^+ 2 * e) y = c ^+ 2 * within e x.
  rewrite /within E long_scale mulrDr mulrA; congr (_ * _ / _ + _).
  by rewrite /long -!mulmxA trmx_mul -!mulmxA [Q^T *m _]mulmxA QQ mul1mx.
split=> //; rewrite /norm W E sqrtrM ?sqr_ge0 // sqrtr_sqr gtr0_norm // -!scalemxAr scalerA -!mulmxA [Q^T *m _]mulmxA QQ.
by rewrite mul1mx invfM mulrC mulrA mulfV ?gt_eqF // mul1r.
Qed.

Section Undone.

Variables (A L : 'M[R]_n.+1) (a l : C) (e e' : R).
Local Notation B := (P *m A).
Hypotheses (e0 : 0 <= e) (e0' : 0 <= e') (both : (0 < e) = (0 < e')).
Hypothesis undo : forall x, 0 < within e x ->
  0 < within e' (A *m x + a) /\ L *m norm e' (A *m x + a) + l = norm e x.

Lemma norm0 x : 0 < within e x -> norm e x = 0 -> P *m x = 0.
Proof. by move=> pos /eqP; rewrite scaler_eq0 invr_eq0 gt_eqF ?sqrtr_gt0 // => /eqP. Qed.

Lemma same_image x y : 0 < within e x -> 0 < within e y -> B *m x = B *m y -> norm e x = norm e y.
Proof.
move=> /undo[_ <-] /undo[_ <-] E; congr (L *m _ + l).
by rewrite /norm /within !mulmxDr !mulmxA E.
Qed.

Lemma kernel v : B *m v = 0 -> P *m v = 0.
Proof.
move=> zero; case: (eqVneq (P *m v) 0) => // v0.
have pos : 0 < within e v by rewrite within_gt0 // v0 orbT.
apply: norm0 => //; have : norm e v = - norm e v.
  rewrite -(@norm_neg e v (- v)) ?mulmxN //; apply: same_image; rewrite ?mulmxN ?zero ?oppr0 //.
  by rewrite (@within_neg e v) ?mulmxN.
by move/eqP; rewrite -addr_eq0 -mulr2n -scaler_nat scaler_eq0 pnatr_eq0 => /eqP.
Qed.

Lemma ranks : B *m P = B /\ exists D, B *m D = P.
Proof.
have PB : (P <= B)%MS.
  rewrite submxE; apply/eqP/matrixP => i j.
  have column (X K : 'M[R]_n.+1) : (X *m K) i j = (X *m (K *m delta_mx j (0 : 'I_1))) i 0.
    by rewrite mulmxA -colE [RHS]mxE.
  by rewrite column kernel ?mxE // (mulmxA B) mulmx_coker mul0mx.
have rank : \rank P = \rank B by apply/eqP; rewrite eqn_leq mxrankS // mxrankM_maxl.
have back (X : 'M[R]_n.+1) : (X <= P)%MS -> \rank X = \rank P -> (P <= X)%MS.
  by move=> XP EX; rewrite -(mxrank_leqif_sup XP) EX eqxx.
split; last first.
  have /submxP[D E] : (P <= B^T)%MS by apply: back; rewrite ?mxrank_tr // trmx_mul sym submxMl.
  by exists D^T; rewrite -[LHS]trmxK trmx_mul trmxK -E sym.
have /submxP[D ->] : (B <= P)%MS by rewrite -(mxrank_leqif_sup PB) rank eqxx.
by rewrite -mulmxA idem.
Qed.

Lemma within_scale t x : within e (t *: x) = t ^+ 2 * (long (P *m x) / n.+1%:R) + e.
Proof. by rewrite /within -scalemxAr long_scale mulrA. Qed.

Lemma projected x : B *m x = B *m (P *m x).
Proof. by have [BP _] := ranks; rewrite mulmxA BP. Qed.

(** The map takes the middle of the stream to its middle. *)
Lemma middle : P *m a = 0.
Proof.
have [_ [D BD]] := ranks; pose x := - (D *m a).
have hit : P *m (A *m x + a) = 0 by rewrite mulmxDr mulmxA mulmxN mulmxA BD addNr.
suff Px : P *m x = 0.
  by move: hit; rewrite mulmxDr mulmxA projected Px mulmx0 add0r.
case: (eqVneq (P *m x) 0) => // x0; have pos t : t != 0 -> 0 < within e (t *: x).
  by move=> t0; rewrite within_gt0 // -scalemxAr scaler_eq0 negb_or t0 x0 orbT.
have pos1 : 0 < within e x by rewrite -[x]scale1r pos ?oner_eq0.
have [seen lE] := undo pos1; rewrite within_gt0 // hit eqxx orbF -both in seen.
have lE' : l = norm e x by rewrite -lE /norm hit scaler0 mulmx0 add0r.
have pos2 : 0 < within e (2%:R *: x) by rewrite pos ?pnatr_eq0.
have [_ two] := undo pos2.
have pos0 : 0 < within e (0 : C) by rewrite within_gt0 ?seen.
have [_ none] := undo pos0.
have image : P *m (A *m x) = - (P *m a) by apply/eqP; rewrite -addr_eq0 -mulmxDr hit.
have opp : norm e' (A *m (2%:R *: x) + a) = - norm e' (A *m 0 + a).
  by apply: norm_neg; rewrite mulmx0 add0r mulmxDr -!scalemxAr image scaler_nat mulr2n addrNK.
have two_l : norm e (2%:R *: x) = norm e x + norm e x.
  rewrite -two opp mulmxN -lE' addrC; congr (_ + _); apply/eqP; rewrite eq_sym -addr_eq0 addrC none.
  by rewrite /norm mulmx0 scaler0.
move: two_l; rewrite -mulr2n -scaler_nat /norm -scalemxAr !scalerA => /eqP.
rewrite -subr_eq0 -scalerBl scaler_eq0 (negPf x0) orbF mulrC -mulrBr mulf_eq0 pnatr_eq0 /= subr_eq0 => /eqP.
move/invr_inj => /eqP; rewrite eqr_sqrt ?within_ge0 // within_scale /within => /eqP /addIr /eqP.
rewrite -subr_eq0 -{2}[long _ / _]mul1r -mulrBl mulf_eq0 mulf_eq0 invr_eq0 pnatr_eq0 orbF.
by rewrite (gt_eqF (long_gt0 x0)) orbF -natrX subr_eq0 pnatr_eq1.
Qed.

(** So every projected state is an eigenvector: its eigenvalue is the quotient of the two divisors. *)
Lemma eigen x : 0 < within e x ->
  L *m (B *m x) = (Num.sqrt (within e' (A *m x)) / Num.sqrt (within e x)) *: (P *m x).
Proof.
move=> pos; have [seen E] := undo pos.
have pos' : 0 < within e (- x) by rewrite (@within_neg e x) ?mulmxN.
have [_ E'] := undo pos'.
have shift y : norm e' (y + a) = norm e' y by rewrite /norm /within mulmxDr middle addr0.
have odd : norm e' (A *m (- x) + a) = - norm e' (A *m x + a).
  by rewrite !shift; apply: norm_neg; rewrite !mulmxN.
have l0 : l = 0.
  move: E'; rewrite odd (@norm_neg e x (- x)) ?mulmxN // -E opprD => /addrI /eqP.
  by rewrite -addr_eq0 -mulr2n -scaler_nat scaler_eq0 pnatr_eq0 => /eqP.
move: E seen; rewrite l0 addr0 shift /norm -scalemxAr => E; rewrite /within mulmxDr middle addr0 => seen.
have root : Num.sqrt (within e' (A *m x)) != 0 by rewrite gt_eqF ?sqrtr_gt0.
by rewrite -mulmxA -scalerA -E scalerA mulfV // scale1r.
Qed.

Local Notation ratio x := (within e' (A *m x) / within e x).

Lemma ratio_root x : Num.sqrt (within e' (A *m x)) / Num.sqrt (within e x) = Num.sqrt (ratio x).
Proof. by rewrite sqrtrM ?within_ge0 // sqrtrV ?within_ge0. Qed.

Lemma same_ratio x y t : P *m x != 0 -> t != 0 -> P *m y = t *: (P *m x) -> ratio y = ratio x.
Proof.
move=> x0 t0 E; have By : B *m y = t *: (B *m x) by rewrite projected E -scalemxAr -projected.
have y0 : P *m y != 0 by rewrite E scaler_eq0 negb_or t0.
have [px py] : 0 < within e x /\ 0 < within e y by rewrite !within_gt0 // x0 y0 !orbT.
have := eigen py; rewrite By E -scalemxAr eigen // !scalerA => /eqP.
rewrite -subr_eq0 -scalerBl scaler_eq0 (negPf x0) orbF mulrC -mulrBl mulf_eq0 (negPf t0) orbF.
rewrite !ratio_root subr_eq0 => /eqP/(congr1 (fun r => r ^+ 2)).
by rewrite !sqr_sqrtr ?divr_ge0 ?within_ge0.
Qed.

Lemma crossed t p q r s : (t * p + r) * (q + s) = (p + r) * (t * q + s) -> t != 1 -> p * s = r * q.
Proof.
move=> E t1; have t0 : t - 1 != 0 by rewrite subr_eq0.
apply: (mulfI t0); rewrite !mulrBl !mul1r; apply/eqP; rewrite subr_eq addrAC eq_sym subr_eq; apply/eqP.
move: E; rewrite !mulrDl !mulrDr !addrA => /addIr; rewrite -!mulrA [p * (t * q)]mulrCA [r * (t * q)]mulrCA.
by rewrite -!addrA => /addrI ->; rewrite addrC.
Qed.

(** Twice a state has the same eigenvalue. *)
Lemma balance x : long (B *m x) * e = e' * long (P *m x).
Proof.
case: (eqVneq (P *m x) 0) => [Px|x0].
  by rewrite projected Px mulmx0 /long mulmx0 mxE mul0r mulr0.
have d0 : n.+1%:R != 0 :> R by rewrite pnatr_eq0.
have pos : 0 < within e x by rewrite within_gt0 // x0 orbT.
have pos2 : 0 < within e (2%:R *: x) by rewrite within_gt0 // -scalemxAr scaler_eq0 negb_or x0 pnatr_eq0 orbT.
pose alpha := long (P *m x) / n.+1%:R; pose beta := long (B *m x) / n.+1%:R.
have W : within e' (A *m x) = beta + e' by rewrite /within mulmxA.
have W2 : within e' (A *m (2%:R *: x)) = 2%:R ^+ 2 * beta + e'.
  by rewrite /within -scalemxAr -scalemxAr long_scale mulmxA -mulrA.
have := same_ratio x0 (t := 2%:R) (y := 2%:R *: x); rewrite pnatr_eq0 -scalemxAr => /(_ isT erefl) /eqP.
rewrite W W2 within_scale -/alpha eqr_div; [|by rewrite -within_scale gt_eqF|by rewrite gt_eqF] => /eqP /crossed.
rewrite -natrX pnatr_eq1 => /(_ isT) same.
by rewrite -[long _ in LHS](mulfVK d0) -/beta mulrAC same -mulrA mulfVK.
Qed.

(** The quotient is the same for all states. *)
Lemma constant x y : P *m x != 0 -> P *m y != 0 -> ratio x = ratio y.
Proof.
move=> x0 y0; case: (eqVneq (P *m (x + y)) 0) => [/eqP|z0].
  by rewrite mulmxDr addr_eq0 => /eqP E; apply: (@same_ratio y x (-1)); rewrite ?oppr_eq0 ?oner_eq0 // scaleN1r.
have [px py pz] : [/\ 0 < within e x, 0 < within e y & 0 < within e (x + y)] by rewrite !within_gt0 // x0 y0 z0 !orbT.
have := eigen pz; rewrite (mulmxDr B) (mulmxDr P) mulmxDr (eigen px) (eigen py) scalerDr !ratio_root => /eqP.
set p := Num.sqrt (ratio x); set q := Num.sqrt (ratio y); set r := Num.sqrt (ratio (x + y)).
rewrite -subr_eq0 opprD addrACA -!scalerBl addr_eq0 -scaleNr opprB => /eqP E.
have back u v : Num.sqrt (ratio u) = Num.sqrt (ratio v) -> ratio u = ratio v.
  by move/(congr1 (fun s => s ^+ 2)); rewrite !sqr_sqrtr ?divr_ge0 ?within_ge0.
case: (eqVneq p r) => [pr|pr].
  apply: back; rewrite -/p -/q pr; move: E => /eqP; rewrite pr subrr scale0r eq_sym scaler_eq0 (negPf y0) orbF subr_eq0.
  by move/eqP.
apply: (@same_ratio y x ((p - r)^-1 * (r - q))) => //; last first.
  by rewrite -scalerA -E scalerA mulVf ?scale1r // subr_eq0.
apply: contraNneq x0 => zero; move: pr; rewrite -subr_eq0 => pr.
by rewrite -[P *m x](scalerK pr) E scalerA zero scale0r.
Qed.

Lemma one_scale : exists c, [/\ 0 < c, e' = c ^+ 2 * e & forall x, long (B *m x) = c ^+ 2 * long (P *m x)].
Proof.
case: (boolP (0 < e)) => [pos|/negPf zero]; last first.
  have [E E'] : e = 0 /\ e' = 0.
    split; apply/eqP; rewrite eq_le ?e0 ?e0' andbT leNgt; first by rewrite zero.
    by rewrite -both zero.
  case: (pickP (fun j => P *m delta_mx j (0 : 'I_1) != 0)) => [j x0|none]; last first.
    have P0 : P = 0.
      apply/matrixP => i j; have /negbFE/eqP/colP/(_ i) := none j.
      by rewrite -colE !mxE.
    by exists 1; split=> [||x]; rewrite ?ltr01 ?E ?E' ?mulr0 // P0 !mul0mx /long mulmx0 mxE mulr0.
  pose x := delta_mx j (0 : 'I_1) : C; exists (Num.sqrt (ratio x)).
  have d0 : n.+1%:R != 0 :> R by rewrite pnatr_eq0.
  have sq : Num.sqrt (ratio x) ^+ 2 = ratio x by rewrite sqr_sqrtr // divr_ge0 ?within_ge0.
  have some y : P *m y != 0 -> long (B *m y) = ratio x * long (P *m y).
    move=> y0; rewrite (constant x0 y0) /within E E' !addr0 mulmxA -mulf_div divff ?invr_eq0 // mulr1 divfK //.
    by rewrite gt_eqF // long_gt0.
  have seen : 0 < within e x by rewrite within_gt0 // x0 orbT.
  have seen' : 0 < within e' (A *m x) by have [] := undo seen; rewrite /within mulmxDr middle addr0.
  split=> [||y]; first by rewrite sqrtr_gt0 divr_gt0.
    by rewrite E E' mulr0.
  rewrite sq; case: (eqVneq (P *m y) 0) => [Py|]; last exact: some.
  by rewrite projected Py mulmx0 /long mulmx0 mxE mulr0.
have pos' : 0 < e' by rewrite -both.
exists (Num.sqrt (e' / e)); have sq : Num.sqrt (e' / e) ^+ 2 = e' / e by rewrite sqr_sqrtr // divr_ge0.
split=> [||x]; rewrite ?sq; first by rewrite sqrtr_gt0 divr_gt0.
  by rewrite mulfVK // gt_eqF.
by rewrite mulrAC -balance mulfK // gt_eqF.
Qed.

End Undone.

Lemma polar (S : 'M[R]_n.+1) : S^T = S -> (forall x, (x^T *m S *m x) 0 0 = 0) -> S = 0.
Proof.
move=> symS zero; apply/matrixP => i j; rewrite mxE.
pose x := delta_mx i 0 : C; pose y := delta_mx j 0 : C.
have E : (x^T *m S *m y) 0 0 = S i j.
  by rewrite trmx_delta -rowE -colE !mxE.
have := zero (x + y); rewrite [(x + y)^T]linearD /= !mulmxDl !mulmxDr ![((_ + _) : 'M_1) 0 0]mxE !zero addr0 add0r E.
have -> : y^T *m S *m x = (x^T *m S *m y)^T by rewrite !trmx_mul trmxK symS mulmxA.
by rewrite [_^T 0 0]mxE E => /eqP; rewrite -mulr2n -mulr_natr mulf_eq0 pnatr_eq0 orbF => /eqP.
Qed.

(** Of affine maps readers undo those that turn and scale what is projected, with the divisor's ε in proportion. *)
Theorem complete A a e e' : 0 <= e -> 0 <= e' -> (0 < e) = (0 < e') ->
  (exists L l, forall x, 0 < within e x ->
     0 < within e' (A *m x + a) /\ L *m norm e' (A *m x + a) + l = norm e x)
  <-> exists c Q, [/\ 0 < c, e' = c ^+ 2 * e, Q^T *m Q = 1%:M & Q *m (1%:M - P) = 1%:M - P]
                  /\ P *m A = c *: (Q *m P) /\ P *m a = 0.
Proof.
move=> e0 e0' both; split=> [[L [l undo]]|[c [Q [[c0 ee QQ _] [E Pa]]]]]; last first.
  exists Q^T, 0 => x seen; have Ey : P *m (A *m x + a) = c *: (Q *m P *m x).
    by rewrite mulmxDr Pa addr0 mulmxA E -scalemxAl.
  by have [W N] := norm_turned e c0 QQ Ey; rewrite ee W addr0 mulr_gt0 ?exprn_gt0.
have [BP _] := ranks e0 undo; have Pa := middle e0 e0' both undo.
have [c [c0 ee lengths]] := one_scale e0 e0' both undo; pose B := P *m A.
have PB : P *m B = B by rewrite mulmxA idem.
have BB : B^T *m B = c ^+ 2 *: P.
  apply/eqP; rewrite -subr_eq0; apply/eqP/polar => [|x].
    by rewrite [LHS]linearB /= [(_ *: _)^T]linearZ /= trmx_mul trmxK sym.
  have -> : (x^T *m (B^T *m B - c ^+ 2 *: P) *m x) 0 0 = long (B *m x) - c ^+ 2 * long (P *m x).
    have entry (X Y : 'M[R]_1) t : (X - t *: Y) 0 0 = X 0 0 - t * Y 0 0 by rewrite !mxE.
    rewrite mulmxBr mulmxBl -scalemxAr -scalemxAl entry; congr (_ - _ * _); rewrite /long; congr (fun_of_matrix _ 0 0).
      by rewrite (trmx_mul B x) -!mulmxA.
    by rewrite (trmx_mul P x) sym -!mulmxA (mulmxA P P) idem.
  by rewrite lengths subrr.
exists c, (c^-1 *: B + (1%:M - P)); have c0' : c != 0 by rewrite gt_eqF.
have off : (1%:M - P) *m (1%:M - P) = 1%:M - P by rewrite mulmxBr mulmx1 mulmxBl mul1mx idem subrr subr0.
have B0 : B *m (1%:M - P) = 0 by rewrite mulmxBr mulmx1 BP subrr.
have B0' : (1%:M - P) *m B = 0 by rewrite mulmxBl mul1mx PB subrr.
have symQ : (1%:M - P)^T = 1%:M - P by rewrite [LHS]linearB /= trmx1 sym.
split; last first.
  by split=> //; rewrite mulmxDl -scalemxAl BP mulmxBl mul1mx idem subrr addr0 scalerA mulfV // scale1r.
split=> //; last by rewrite mulmxDl -scalemxAl B0 scaler0 add0r.
have whole : P + (1%:M - P) = 1%:M by rewrite addrC subrK.
move: (1%:M - P) off B0 B0' symQ whole => J off B0 B0' symQ whole; rewrite [(_ + _)^T]linearD /= [(_ *: _)^T]linearZ /= symQ.
have B0t : B^T *m J = 0 by rewrite -[LHS]trmxK trmx_mul trmxK symQ B0' trmx0.
rewrite mulmxDl !mulmxDr off -!scalemxAl -!scalemxAr BB B0t B0' !scaler0 addr0 add0r !scalerA.
by rewrite expr2 mulrA -[c^-1 * _ * _]mulrA mulVf // mulr1 mulVf // scale1r.
Qed.

End Complete.

(** ** LayerNorm, RMSNorm and their gains *)

Section Streams.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Local Notation Pi := (Pi R n).
Implicit Types (x u v w a b g l : V) (A L Q : 'M[R]_n.+1) (e c s : R) (i j : 'I_n.+1).

Definition column x : 'cV[R]_n.+1 := \col_j x j.
Definition moved A a x : V := fun i => act A x i + a i.

(** Of what `u` says of all states in D readers make what `v` says, gains and biases included. *)
Definition undone (D : V -> Prop) g b (u : V -> V) g' b' (v : V -> V) : Prop :=
  exists L l, forall x, D x -> forall i, act L (fun j => g' j * v x j + b' j) i + l i = g i * u x i + b i.

Lemma act_column A x : column (act A x) = A *m column x.
Proof. by apply/colP => i; rewrite mxE. Qed.

Lemma moved_column A a x : column (moved A a x) = A *m column x + column a.
Proof. by rewrite -act_column; apply/colP => i; rewrite !mxE. Qed.

Definition M g : 'M[R]_n.+1 := diag_mx (\row_i g i).

Lemma gain_column g b u : column (fun i => g i * u i + b i) = M g *m column u + column b.
Proof. by apply/colP => i; rewrite -moved_column !mxE /moved act_diag. Qed.

Lemma gain_back g : (forall i, g i != 0) -> M (fun i => (g i)^-1) *m M g = 1%:M.
Proof. by move=> g0; rewrite mulmx_diag -diag_const_mx; congr diag_mx; apply/rowP => i; rewrite !mxE mulVf. Qed.

Lemma gains (D : V -> Prop) g b (u : V -> V) g' b' (v : V -> V) : (forall i, g i != 0) -> (forall i, g' i != 0) -> undone D g b u g' b' v <->
  exists L (l : 'cV_n.+1), forall x, D x -> L *m column (v x) + l = column (u x).
Proof.
move=> /gain_back gg /gain_back gg'; set G := M _ in gg; set G' := M _ in gg'; split=> [[L [l E]]|[L [l E]]].
  exists (G *m L *m M g'), (G *m (L *m column b' + column l - column b)) => x /E {}E.
  have {}E : L *m (M g' *m column (v x) + column b') + column l = M g *m column (u x) + column b.
    rewrite -!gain_column -moved_column; apply/colP => i; rewrite mxE [RHS]mxE -E /moved.
    by congr (_ + _); apply: eq_act => j; rewrite mxE.
  by rewrite -!mulmxA -mulmxDr addrA addrA -mulmxDr E addrK mulmxA gg mul1mx.
pose K := M g *m L *m G'; pose r := M g *m l + column b - K *m column b'.
exists K, (fun i => r i 0) => x /E {}E i.
have KV V : K *m (M g' *m V) = M g *m (L *m V) by rewrite /K -!mulmxA (mulmxA G') gg' mul1mx.
have : K *m (M g' *m column (v x) + column b') + r = M g *m column (u x) + column b.
  by rewrite mulmxDr KV -E mulmxDr /r -addrA [K *m _ + _]addrC subrK addrA.
by rewrite -!gain_column => /colP /(_ i); rewrite mxE [RHS]mxE => <-.
Qed.

Lemma long_column x : long (column x) = square_norm x.
Proof. by rewrite /long mxE; apply: eq_bigr => i _; rewrite !mxE. Qed.

Lemma norm_LN e x : within Pi e (column x) = variance x + e /\ norm Pi e (column x) = column (LN e x).
Proof.
have E : Pi *m column x = column (centre x) by apply/colP => i; rewrite PiE mxE.
have W : within Pi e (column x) = variance x + e by rewrite /within E long_column.
by split=> //; rewrite /norm W E; apply/colP => i; rewrite !mxE mulrC.
Qed.

Lemma norm_RMS e x : within 1%:M e (column x) = mean (fun j => x j * x j) + e /\ norm 1%:M e (column x) = column (RMS e x).
Proof.
have W : within 1%:M e (column x) = mean (fun j => x j * x j) + e by rewrite /within mul1mx long_column.
by split=> //; rewrite /norm W mul1mx; apply/colP => i; rewrite !mxE mulrC.
Qed.

Lemma Pi_sym : Pi^T = Pi.
Proof. by apply/matrixP => i j; rewrite !mxE !big_ord1 !mxE eq_sym. Qed.

Lemma Pi_idem : Pi *m Pi = Pi.
Proof. by apply: act_inj => v i; rewrite act_mul act_Pi (eq_centre (act_Pi v)) act_Pi balanced // centred. Qed.

Definition J : 'M[R]_n.+1 := 1%:M - Pi.

Lemma J_mul m (A : 'M[R]_(n.+1, m)) i (k : 'I_m) : (J *m A) i k = (\sum_j A j k) / n.+1%:R.
Proof.
rewrite /J opprB addrC subrK -mulmxA -scalemxAl mxE mxE big_ord1 !mxE mul1r mulrC; congr (_ / _).
by apply: eq_bigr => j _; rewrite mxE mul1r.
Qed.

Lemma J_same m (A : 'M[R]_(n.+1, m)) : (forall i j k, A i k = A j k) -> J *m A = A.
Proof.
move=> same; apply/matrixP => i k; rewrite J_mul (eq_bigr (fun=> A i k)) => [|j _]; last exact: same.
by rewrite sumr_const card_ord -[_ *+ _]mulr_natr mulfK // gt_eqF ?dim_gt0.
Qed.

Lemma J_entry i j : J i j = n.+1%:R^-1.
Proof. by rewrite -[J]mulmx1 J_mul (bigD1 j) //= big1 ?addr0 ?mxE ?eqxx ?mul1r // => k /negPf kj; rewrite mxE kj. Qed.

(** An orthogonal matrix fixes 1 if and only if it keeps what is along 1, and then its transpose does. *)
Lemma fixes Q : act Q (fun=> 1) =1 (fun=> 1) <-> Q *m J = J.
Proof.
have QJ i j : (Q *m J) i j = act Q (fun=> 1) i / n.+1%:R.
  by rewrite mxE actE mulr_suml; apply: eq_bigr => k _; rewrite J_entry mulr1.
split=> [one|E i]; first by apply/matrixP => i j; rewrite QJ one J_entry mul1r.
apply: (mulIf (x := n.+1%:R^-1)); first by rewrite invr_eq0 gt_eqF ?dim_gt0.
by rewrite -(QJ i ord0) E J_entry mul1r.
Qed.

Lemma turn Q : orthogonal Q -> Q *m J = J -> J *m Q = J.
Proof.
move=> QQ QJ; have JT : J^T = J by rewrite [LHS]linearB /= trmx1 Pi_sym.
have : Q^T *m J = J by rewrite -{1}QJ mulmxA QQ mul1mx.
by move/(congr1 trmx); rewrite trmx_mul trmxK JT.
Qed.

Lemma PiJ : Pi = 1%:M - J.
Proof. by rewrite /J opprB addrC subrK. Qed.

Lemma undone_norm (P : 'M[R]_n.+1) (within_ : R -> V -> R) (N : R -> V -> V) A a g b g' b' e e' :
  (forall e x, within P e (column x) = within_ e x /\ norm P e (column x) = column (N e x)) ->
  P^T = P -> P *m P = P ->
  (forall i, g i != 0) -> (forall i, g' i != 0) -> 0 <= e -> 0 <= e' -> (0 < e) = (0 < e') ->
  (forall x, 0 < within_ e x -> 0 < within_ e' (moved A a x))
    /\ undone (fun x => 0 < within_ e x) g b (N e) g' b' (fun x => N e' (moved A a x))
  <-> exists c Q, [/\ 0 < c, e' = c ^+ 2 * e, Q^T *m Q = 1%:M & Q *m (1%:M - P) = 1%:M - P]
                  /\ P *m A = c *: (Q *m P) /\ P *m column a = 0.
Proof.
move=> same sym idem g0 g0' e0 e0' both; rewrite (gains _ _ _ _ _ g0 g0') -(complete sym idem _ _ e0 e0' both).
have NE e1 x := (same e1 x).2; have WE e1 x := (same e1 x).1.
split=> [[near [L [l E]]]|[L [l E]]].
  exists L, l => x; have -> : x = column (fun i => x i 0) by apply/colP => i; rewrite mxE.
  by rewrite -moved_column !WE !NE => seen; split; [exact: near|exact: E].
split=> [x|]; first by rewrite -!WE moved_column => /E[].
by exists L, l => x; rewrite -!NE -WE moved_column => /E[].
Qed.

(** gauge.complete: Let ε, ε' > 0 and let g, g' have no zero. For a matrix A and a vector a there are a matrix L and a
    vector l with L LN_{ε'}(Ax + a; g', b') + l = LN_ε(x; g, b) for all x if and only if ε' = c²ε, A = cQ + 1wᵀ and
    a = s1 with a c > 0, an orthogonal Q with Q1 = 1, a vector w and a number s. For ε = ε' = 0 the same holds of all x
    that are not constant, if Ax + a is not constant for any of them. *)
Theorem gauge__complete__last_step A a g b g' b' e e' :
  (forall i, g i != 0) -> (forall i, g' i != 0) -> 0 <= e -> 0 <= e' -> (0 < e) = (0 < e') ->
  (forall x, 0 < variance x + e -> 0 < variance (moved A a x) + e')
    /\ undone (fun x => 0 < variance x + e) g b (LN e) g' b' (fun x => LN e' (moved A a x))
  <-> exists c Q w s, [/\ 0 < c, e' = c ^+ 2 * e, orthogonal Q & act Q (fun=> 1) =1 fun=> 1]
                      /\ (forall i j, A i j = c * Q i j + w j) /\ (forall i, a i = s).
Proof.
move=> g0 g0' e0 e0' both; rewrite (undone_norm _ _ _ _ norm_LN Pi_sym Pi_idem g0 g0' e0 e0' both).
rewrite -/J; split=> [[c [Q [[c0 ee QQ QJ] [E Pa]]]]|[c [Q [w [s [[c0 ee QQ one] [E Ea]]]]]]].
  exists c, Q, (fun j => (J *m (A - c *: 1%:M)) 0 j), (mean a); split; [split=> //; exact/fixes|split=> [i j|i]]; last first.
    by move: Pa => /colP/(_ i); rewrite PiE mxE => /eqP; rewrite subr_eq0 => /eqP.
  transitivity ((c *: Q + J *m (A - c *: 1%:M)) i j); last by rewrite mxE [X in X + _]mxE !J_mul.
  have whole : A = Pi *m A + J *m A by rewrite -mulmxDl /J addrC subrK mul1mx.
  have QP : Q *m Pi = Q - J by rewrite PiJ mulmxBr mulmx1 QJ.
  congr (fun_of_matrix _ i j); rewrite {1}whole E QP mulmxBr -scalemxAr mulmx1 scalerBr -addrA; congr (_ + _).
  by rewrite addrC.
have {}one := (fixes Q).1 one; exists c, Q; split; first by [].
pose W := \matrix_(i, j) w j : 'M[R]_n.+1; have -> : A = c *: Q + W by apply/matrixP => i j; rewrite !mxE E.
split; last by apply/colP => i; rewrite PiE mxE /centre /mean (eq_bigr (fun=> s)) // sumr_const card_ord Ea -[_ *+ _]mulr_natr mulfK ?subrr // gt_eqF ?dim_gt0.
have JW : J *m W = W by apply: J_same => i j k; rewrite !mxE.
have JQ := turn QQ one; rewrite PiJ mulmxBl mul1mx (mulmxDr J) JW -scalemxAr JQ mulmxBr mulmx1 one (scalerBr c Q J).
by rewrite opprD addrACA subrr addr0.
Qed.

(** gauge.complete_rms: Let ε, ε' > 0 and let g, g' have no zero. For a matrix A and a vector a there are a matrix L
    and a vector l with L RMS_{ε'}(Ax + a; g', b') + l = RMS_ε(x; g, b) for all x if and only if ε' = c²ε, A = cQ and
    a = 0 with a c > 0 and an orthogonal Q. For ε = ε' = 0 the same holds of all x ≠ 0, if Ax + a ≠ 0 for all of
    them. *)
Theorem gauge__complete_rms__last_step A a g b g' b' e e' :
  (forall i, g i != 0) -> (forall i, g' i != 0) -> 0 <= e -> 0 <= e' -> (0 < e) = (0 < e') ->
  (forall x, 0 < mean (fun j => x j * x j) + e -> let y := moved A a x in 0 < mean (fun j => y j * y j) + e')
    /\ undone (fun x => 0 < mean (fun j => x j * x j) + e) g b (RMS e) g' b' (fun x => RMS e' (moved A a x))
  <-> exists c Q, [/\ 0 < c, e' = c ^+ 2 * e & orthogonal Q] /\ A = c *: Q /\ forall i, a i = 0.
Proof.
move=> g0 g0' e0 e0' both; rewrite (undone_norm _ _ _ _ norm_RMS (trmx1 _ _) (mulmx1 _) g0 g0' e0 e0' both).
split=> [[c [Q [[c0 ee QQ _] [E Pa]]]]|[c [Q [[c0 ee QQ] [E Ea]]]]]; exists c, Q.
  split=> //; split; first by rewrite -[LHS]mul1mx E mulmx1.
  by move=> i; move: Pa => /colP/(_ i); rewrite mul1mx !mxE.
by rewrite subrr mulmx0 mulmx1 !mul1mx E; split=> //; split=> //; apply/colP => i; rewrite !mxE Ea.
Qed.

End Streams.

(** ** What no gauge changes *)

Section Invariants.

Variables (R : rcfType) (n p : nat).
Local Notation V := ('I_n.+1 -> R).
Local Notation C := 'cV[R]_n.+1.
Local Notation tuple := ('I_p -> V).
Implicit Types (u v w z : C) (Q : 'M[R]_n.+1) (x y : tuple) (c e k : R) (t : 'I_p).

Definition dot u v : R := (u^T *m v) 0 0.

Lemma dotC u v : dot u v = dot v u.
Proof. by rewrite /dot -[v]trmxK -trmx_mul trmxK mxE. Qed.

Lemma dotD u v w : dot u (v + w) = dot u v + dot u w.
Proof. by rewrite /dot mulmxDr mxE. Qed.

Lemma dotZ u c v : dot u (c *: v) = c * dot u v.
Proof. by rewrite /dot -scalemxAr mxE. Qed.

Lemma dotN u v : dot u (- v) = - dot u v.
Proof. by rewrite -scaleN1r dotZ mulN1r. Qed.

Lemma dot_turned Q u v : Q^T *m Q = 1%:M -> dot (Q *m u) (Q *m v) = dot u v.
Proof. by move=> QQ; rewrite /dot trmx_mul -mulmxA (mulmxA Q^T) QQ mul1mx. Qed.

Definition reflection w : 'M[R]_n.+1 := 1%:M - (2%:R / dot w w) *: (w *m w^T).

Lemma reflectionE w z : reflection w *m z = z - (2%:R * dot w z / dot w w) *: w.
Proof.
rewrite mulmxBl mul1mx -scalemxAl -mulmxA; congr (_ - _).
by rewrite [w^T *m z]mx11_scalar mul_mx_scalar scalerA mulrAC.
Qed.

Lemma reflection_kept w : w != 0 -> (reflection w)^T *m reflection w = 1%:M.
Proof.
move=> w0; have l0 : dot w w != 0 by rewrite gt_eqF // long_gt0.
have symR : (reflection w)^T = reflection w.
  by rewrite [LHS]linearB /= [(_ *: _)^T]linearZ /= trmx1 trmx_mul trmxK.
have twice z : reflection w *m (reflection w *m z) = z.
  pose k := 2%:R * dot w z / dot w w; have kl : k * dot w w = 2%:R * dot w z by rewrite mulfVK.
  rewrite !reflectionE -/k dotD dotN dotZ kl [2%:R * dot w z]mulr_natl mulr2n opprD addrA subrr sub0r mulrN mulNr -/k scaleNr opprK.
  by rewrite subrK.
rewrite symR; apply/matrixP => i j.
have column (X : 'M[R]_n.+1) : X i j = (X *m delta_mx j (0 : 'I_1)) i 0 by rewrite -colE mxE.
by rewrite column [RHS]column -mulmxA twice mul1mx.
Qed.

(** Vectors are images under one orthogonal matrix of others with the same inner products; it keeps what meets each
    pair alike. *)
Lemma gram (s : seq (C * C)) : (forall a b, a \in s -> b \in s -> dot a.1 b.1 = dot a.2 b.2) ->
  exists Q, [/\ Q^T *m Q = 1%:M, forall a, a \in s -> Q *m a.1 = a.2
               & forall z, (forall a, a \in s -> dot z a.1 = dot z a.2) -> Q *m z = z].
Proof.
elim: s => [|[u v] s IH] same; first by exists 1%:M; split=> // [|z _]; rewrite ?trmx1 mul1mx.
have [|Q [QQ hit kept]] := IH; first by move=> a b ia ib; apply: same; rewrite in_cons ?ia ?ib orbT.
have head : (u, v) \in (u, v) :: s by rewrite mem_head.
have tail a : a \in s -> a \in (u, v) :: s by move=> ia; rewrite in_cons ia orbT.
have lens : dot (Q *m u) (Q *m u) = dot v v by rewrite dot_turned // (same _ _ head head).
case: (eqVneq (Q *m u - v) 0) => [/eqP|w0].
  rewrite subr_eq0 => /eqP E; exists Q; split=> // [a|z flat]; last by apply: kept => a /tail/flat.
  by rewrite in_cons => /orP[/eqP -> //|/hit].
set w := Q *m u - v in w0; exists (reflection w *m Q).
have still z : dot z (Q *m u) = dot z v -> reflection w *m z = z.
  by move=> E; rewrite reflectionE dotC dotD dotN E subrr mulr0 mul0r scale0r subr0.
split=> [|a|z flat].
- by rewrite trmx_mul -mulmxA (mulmxA _ _ Q) reflection_kept // mul1mx.
- rewrite in_cons -mulmxA => /orP[/eqP -> /=|ia]; last first.
    by rewrite hit // still // -(hit _ ia) dot_turned // (same _ _ (tail _ ia) head) (hit _ ia).
  have l0 : dot w w != 0 by rewrite gt_eqF // long_gt0.
  have half : 2%:R * dot w (Q *m u) = dot w w.
    have wq : dot w (Q *m u) = dot v v - dot (Q *m u) v by rewrite dotC /w dotD dotN lens.
    have wv : dot w v = dot (Q *m u) v - dot v v by rewrite dotC /w dotD dotN dotC.
    have ww : dot w w = dot w (Q *m u) - dot w v by rewrite -dotN -dotD.
    by rewrite ww wq wv opprB mulr_natl mulr2n.
  by rewrite reflectionE half divff // scale1r opprB addrC subrK.
have Qz : Q *m z = z by apply: kept => a /tail/flat.
by rewrite -mulmxA Qz still // -{1}Qz dot_turned // (flat _ head).
Qed.

Definition inner (a b : V) : R := \sum_i a i * b i.

Lemma dot_column (a b : V) : dot (column a) (column b) = inner a b.
Proof. by rewrite /dot mxE; apply: eq_bigr => i _; rewrite !mxE. Qed.

Definition proportional k x y : Prop := forall s t, inner (y s) (y t) = k * inner (x s) (x t).

Lemma carried k x y : 0 < k -> proportional k x y ->
  exists Q, [/\ orthogonal Q, forall t, y t =1 fun i => Num.sqrt k * act Q (x t) i
               & forall a : V, (forall t, inner a (x t) = 0 /\ inner a (y t) = 0) -> act Q a =1 a].
Proof.
move=> k0 prop; pose pair t : C * C := (Num.sqrt k *: column (x t), column (y t)).
have [|Q [QQ hit kept]] := @gram [seq pair t | t <- enum 'I_p].
  move=> _ _ /mapP[s _ ->] /mapP[t _ ->] /=; rewrite dotZ dotC dotZ dotC !dot_column prop mulrA -expr2 sqr_sqrtr //.
  exact: ltW.
exists Q; split=> // [t i|a flat i].
  have /colP/(_ i) := hit (pair t) (map_f _ (mem_enum _ t)); rewrite /= -scalemxAr => E.
  by transitivity (column (y t) i 0); [rewrite mxE | rewrite -E mxE].
have /colP/(_ i) : Q *m column a = column a.
  by apply: kept => _ /mapP[t _ ->]; rewrite /= dotZ !dot_column (flat t).1 (flat t).2 mulr0.
by rewrite [RHS]mxE.
Qed.

(** gauge.gram: Let F be a function of p states and of ε ≥ 0. No map x ↦ cQx + 1(w·x) + s1 with c > 0 and an
    orthogonal Q with Q1 = 1, applied to all states, with c²ε in the place of ε, changes F if and only if
    F(y, kε) = F(x, ε) wherever k > 0 and Πy_s·Πy_t = kΠx_s·Πx_t for all s and t. No x ↦ cQx with any orthogonal Q
    changes F if and only if F(y, kε) = F(x, ε) wherever k > 0 and y_s·y_t = kx_s·x_t for all s and t. *)
Theorem gauge__gram__last_step (T : Type) (F : tuple -> R -> T) :
  (forall x y e, (forall t, x t =1 y t) -> F x e = F y e) ->
  ((forall c Q (w : V) b x e, 0 < c -> 0 <= e -> orthogonal Q -> act Q (fun=> 1) =1 (fun=> 1) ->
      F (fun t i => c * act Q (x t) i + inner w (x t) + b) (c ^+ 2 * e) = F x e)
   <-> forall k x y e, 0 < k -> 0 <= e ->
      proportional k (fun t => centre (x t)) (fun t => centre (y t)) -> F y (k * e) = F x e)
  /\ ((forall c Q x e, 0 < c -> 0 <= e -> orthogonal Q -> F (fun t i => c * act Q (x t) i) (c ^+ 2 * e) = F x e)
   <-> forall k x y e, 0 < k -> 0 <= e -> proportional k x y -> F y (k * e) = F x e).
Proof.
move=> ext; have sq k : 0 < k -> Num.sqrt k ^+ 2 = k by move=> /ltW k0; rewrite sqr_sqrtr.
have turned c Q (a b : V) : orthogonal Q ->
    inner (fun i => c * act Q a i) (fun i => c * act Q b i) = c ^+ 2 * inner a b.
  move=> QQ; rewrite -[inner a b]dot_column -(dot_turned _ _ QQ) -!act_column dot_column mulr_sumr.
  by apply: eq_bigr => i _; rewrite expr2 mulrACA.
split; split=> [invariant k x y e k0 e0 prop|invariant].
- have one : act (1%:M : 'M[R]_n.+1) (fun=> 1) =1 (fun=> 1) by exact: act1.
  have orth1 : orthogonal (1%:M : 'M[R]_n.+1) by rewrite /orthogonal trmx1 mul1mx.
  have middle (z : tuple) d : 0 <= d -> F (fun t => centre (z t)) d = F z d.
    move=> d0; rewrite -(invariant 1 _ (fun=> - n.+1%:R^-1) 0 z d ltr01 d0 orth1 one) expr1n mul1r; apply: ext => t i.
    by rewrite act1 mul1r addr0 /inner -mulr_sumr mulNr [_^-1 * _]mulrC.
  have [Q [QQ hit kept]] := carried k0 prop.
  have Q1 : act Q (fun=> 1) =1 (fun=> 1) by apply: kept => t; rewrite /inner !total1 !centred.
  rewrite -(middle y _ (mulr_ge0 (ltW k0) e0)) -(middle x _ e0).
  rewrite -(invariant (Num.sqrt k) Q (fun=> 0) 0 _ e _ e0 QQ Q1) ?sqrtr_gt0 // sq //; apply: ext => t i.
  by rewrite hit addr0 /inner big1 ?addr0 // => j _; rewrite mul0r.
- move=> c Q w b x e c0 e0 QQ Q1; apply: invariant; rewrite ?exprn_gt0 // => s t.
  have QJ := (fixes Q).1 Q1; have PQ : Pi R n *m Q = Q *m Pi R n.
    by rewrite PiJ mulmxBl mulmxBr mul1mx mulmx1 QJ (turn QQ QJ).
  have mean_affine (a : V) r : mean (fun i => c * a i + r) = c * mean a + r.
    rewrite /mean big_split /= -mulr_sumr sumr_const card_ord -[r *+ _]mulr_natr mulrDl mulfK ?mulrA //.
    by rewrite gt_eqF ?dim_gt0.
  have centre_turned (z : V) : centre (fun i => c * act Q z i + inner w z + b) =1 fun i => c * act Q (centre z) i.
    move=> i; rewrite -((commutes_centre Q).2 PQ) /centre.
    rewrite (@eq_mean _ _ _ (fun i => c * act Q z i + (inner w z + b))) => [|j]; last by rewrite addrA.
    by rewrite mean_affine -addrA opprD addrACA subrr addr0 mulrBr.
  rewrite -(turned c Q) //; apply: eq_bigr => i _; by rewrite !centre_turned.
- have [Q [QQ hit _]] := carried k0 prop.
  by rewrite -(invariant (Num.sqrt k) Q x e _ e0 QQ) ?sqrtr_gt0 // sq //; apply: ext.
move=> c Q x e c0 e0 QQ; apply: invariant; rewrite ?exprn_gt0 // => s t.
exact: turned.
Qed.

End Invariants.
