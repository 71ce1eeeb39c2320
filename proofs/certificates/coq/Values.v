(** What terms mean, and that the normal form means the same. *)

From LnGeom Require Export Terms.

Section Values.

Variables (R : rcfType) (n : nat).
Implicit Types (i j : 'I_n.+1) (p q : poly) (a b : expr).

Definition Qr (q : Q) : R := (zi (Qnum q))%:~R / (zi (Zpos (Qden q)))%:~R.

Definition vectors := positive -> 'I_n.+1 -> R.
Definition scalars := positive -> R.

Fixpoint eval (v : vectors) (s : scalars) (a : expr) (i : 'I_n.+1) {struct a} : R :=
  match a with
  | Vec x => v x i
  | Sca x => s x
  | Dim => n.+1%:R
  | Rat q => Qr q
  | Add a b => eval v s a i + eval v s b i
  | Mul a b => eval v s a i * eval v s b i
  | Sum a => \sum_j eval v s a j
  | Inv a => (eval v s a i)^-1
  | Sqrt a => Num.sqrt (eval v s a i)
  end.

Definition dpow (k : Z) : R := n.+1%:R ^ zi k.

(** ** Rational coefficients *)

Lemma den_neq0 (x : positive) : (zi (Zpos x))%:~R != 0 :> R.
Proof. by rewrite intr_eq0 gt_eqF ?zi_pos. Qed.

Lemma Qr_eq x y : Qeq x y -> Qr x = Qr y.
Proof.
rewrite /Qeq /Qr => /(congr1 zi); rewrite !ziM => E.
by apply/eqP; rewrite eqr_div ?den_neq0 // -!intrM E.
Qed.

Lemma QrD x y : Qr (qadd x y) = Qr x + Qr y.
Proof.
rewrite (Qr_eq (Qred_correct _)) /Qr addf_div ?den_neq0 //=.
by rewrite -!intrM -intrD -!ziM -ziD.
Qed.

Lemma QrM x y : Qr (qmul x y) = Qr x * Qr y.
Proof. by rewrite (Qr_eq (Qred_correct _)) /Qr mulf_div -!intrM -!ziM. Qed.

Lemma QrV x : Qr (qinv x) = (Qr x)^-1.
Proof.
rewrite (Qr_eq (Qred_correct _)) /Qr /Qinv.
case: x => [[|p|p] y] /=; first by rewrite !mul0r invr0.
  by rewrite invf_div.
have E z : zi (Zneg z) = - zi (Zpos z) by [].
by rewrite !E !rmorphN /= !mulNr invrN invf_div.
Qed.

Lemma Qr_red x : Qr (Qred x) = Qr x.
Proof. exact: Qr_eq (Qred_correct _). Qed.

Lemma Qr1 : Qr qone = 1.
Proof. by rewrite /Qr divff ?den_neq0. Qed.

Lemma QrN1 : Qr qminus = -1.
Proof.
rewrite /Qr /=; have -> : zi (Zneg xH) = - zi (Zpos xH) by [].
by rewrite rmorphN mulNr divff ?den_neq0.
Qed.

Lemma Qr_zero x : qzero x = (Qr x == 0).
Proof.
rewrite /qzero /Qr mulf_eq0 invr_eq0 (negPf (den_neq0 _)) orbF intr_eq0.
case: (Qnum x) => [|p|p] //=; first by rewrite gt_eqF ?zi_pos.
have -> : zi (Zneg p) = - zi (Zpos p) by [].
by rewrite oppr_eq0 gt_eqF ?zi_pos.
Qed.

Lemma Qr_pos x : qpos x = (0 < Qr x).
Proof.
rewrite /qpos /Qr pmulr_lgt0 ?invr_gt0 ?ltr0z ?zi_pos //.
case: (Qnum x) => [|p|p] //=; first by rewrite zi_pos.
have -> : zi (Zneg p) = - zi (Zpos p) by [].
by rewrite oppr_gt0 lt_gtF ?zi_pos.
Qed.

Lemma Qr0 x : qzero x -> Qr x = 0.
Proof. by rewrite Qr_zero => /eqP. Qed.

(** ** Powers of the dimension *)

Lemma dim_neq0 : n.+1%:R != 0 :> R.
Proof. by rewrite pnatr_eq0. Qed.

Lemma dpowD k l : dpow (Z.add k l) = dpow k * dpow l.
Proof. by rewrite /dpow ziD expfzDr ?dim_neq0. Qed.

Lemma dpow0 : dpow Z0 = 1.
Proof. by []. Qed.

Lemma dpow1 : dpow (Zpos xH) = n.+1%:R.
Proof. by rewrite /dpow /zi /= expr1z. Qed.

Lemma dpowN k : dpow (Z.opp k) = (dpow k)^-1.
Proof. by rewrite /dpow ziN -invr_expz. Qed.

Lemma dpow_neq0 k : dpow k != 0.
Proof. by rewrite expfz_neq0 ?dim_neq0. Qed.

Arguments Qr : simpl never.
Arguments dpow : simpl never.
Arguments zi : simpl never.

Section Valuation.

Variables (v : vectors) (s : scalars).
Local Notation ev := (eval v s).

Definition leval (l : seq expr) i : R := foldr (fun a r => ev a i * r) 1 l.
Definition meval (m : mono) i : R := dpow m.1 * leval m.2 i.
Definition peval (p : poly) i : R := foldr (fun t r => Qr t.2 * meval t.1 i + r) 0 p.

Lemma peval_cons t p i : peval (t :: p) i = Qr t.2 * meval t.1 i + peval p i.
Proof. by []. Qed.

Lemma leval_cons a l i : leval (a :: l) i = ev a i * leval l i.
Proof. by []. Qed.

Arguments peval : simpl never.
Arguments leval : simpl never.

Lemma linsE a l i : leval (lins a l) i = ev a i * leval l i.
Proof.
elim: l => [|b l IH] //=; rewrite leval_cons.
by case: (ecmp a b); rewrite ?leval_cons // IH mulrCA.
Qed.

Lemma mmulE m k i : meval (mmul m k) i = meval m i * meval k i.
Proof.
case: m k => [x l] [y l'] /=; rewrite /mmul /meval /= dpowD.
suff -> : leval (foldr lins l' l) i = leval l i * leval l' i by rewrite mulrACA.
elim: l => [|a l IH]; first by rewrite /= mul1r.
by rewrite /= linsE leval_cons IH mulrA.
Qed.

Lemma pinsE m c p i : peval (pins m c p) i = Qr c * meval m i + peval p i.
Proof.
elim: p => [|[k e] p IH] /=.
  case: ifP => [/Qr0 ->|_]; last by rewrite peval_cons.
  by rewrite mul0r add0r.
case E: (mcmp m k); last by rewrite !peval_cons IH addrCA.
  rewrite (mcmp_eq E) peval_cons /=; case: ifP => [/Qr0|_].
    by rewrite QrD addrA -mulrDl => ->; rewrite mul0r add0r.
  by rewrite peval_cons /= QrD mulrDl addrA.
by case: ifP => [/Qr0 ->|_]; rewrite ?mul0r ?add0r ?peval_cons.
Qed.

Lemma paddE p q i : peval (padd p q) i = peval p i + peval q i.
Proof.
elim: p => [|t p IH]; first by rewrite add0r.
by rewrite /= pinsE IH peval_cons addrA.
Qed.

Lemma pscaleE c p i : peval (pscale c p) i = Qr c * peval p i.
Proof.
elim: p => [|t p IH]; first by rewrite mulr0.
by rewrite /= !peval_cons IH mulrDr /= QrM mulrA.
Qed.

Lemma psubE p q i : peval (psub p q) i = peval p i - peval q i.
Proof. by rewrite paddE pscaleE QrN1 mulN1r. Qed.

Lemma pmulE p q i : peval (pmul p q) i = peval p i * peval q i.
Proof.
elim: p => [|t p IH]; first by rewrite mul0r.
rewrite peval_cons mulrDl -IH /=; move: (pmul p q) => r; elim: {IH p} q r => [|u q IH] r.
  by rewrite mulr0 add0r.
by rewrite /= pinsE IH peval_cons mulrDr addrA mmulE QrM mulrACA.
Qed.

Lemma pconstE c i : peval (pconst c) i = Qr c.
Proof. by rewrite pinsE /meval /= dpow0 !mulr1 Qr_red addr0. Qed.

Lemma poneE i : peval pone i = 1.
Proof. by rewrite peval_cons /meval /= Qr1 dpow0 !mulr1 addr0. Qed.

Lemma pdimE i : peval pdim i = n.+1%:R.
Proof. by rewrite peval_cons /meval /= Qr1 dpow1 mulr1 mul1r addr0. Qed.

Lemma invdimE i : peval invdim i = n.+1%:R^-1.
Proof.
rewrite peval_cons /meval /= Qr1 mul1r mulr1 addr0.
by rewrite -[Zneg xH]/(Z.opp (Zpos xH)) dpowN dpow1.
Qed.

Lemma patomE a i : peval (patom a) i = ev a i.
Proof. by rewrite peval_cons /meval leval_cons /= Qr1 dpow0 !mul1r mulr1 addr0. Qed.

(** ** Terms from polynomials *)

Lemma productE l i : ev (product l) i = leval l i.
Proof.
elim: l => [|a [|b l] IH]; first exact: Qr1.
  by rewrite leval_cons /leval /= mulr1.
by rewrite leval_cons -IH.
Qed.

Lemma iterE k a i : ev (iter k (Mul a) (Rat qone)) i = ev a i ^+ k.
Proof. by elim: k => [|k IH] /=; rewrite ?Qr1 // IH exprS. Qed.

Lemma power_of_dimE k i : ev (power_of_dim k) i = dpow k.
Proof.
case: k => [|x|x]; first exact: Qr1.
  by rewrite iterE.
by rewrite iterE /= exprVn /dpow /zi -invr_expz.
Qed.

Lemma embE p i : ev (emb p) i = peval p i.
Proof.
elim: p => [|t p IH]; first by rewrite /= /Qr mul0r.
by rewrite peval_cons -IH /= power_of_dimE productE.
Qed.

Lemma unembE a i : peval (unemb a) i = ev a i.
Proof.
elim: a => [x|x||q|a IHa b IHb|a IHa b IHb|a _|a _|a _];
  rewrite /= ?(patomE, pdimE, pconstE, paddE, pmulE) ?IHa ?IHb //.
case: a => [x|x||q|a b|a b|a|a|a]; try exact: patomE.
exact: invdimE.
Qed.

(** ** Sums *)

Lemma uniform a i j : ~~ isvec a -> ev a i = ev a j.
Proof.
elim: a => [x|x||q|a IHa b IHb|a IHa b IHb|a IH|a IH|a IH] //=;
  by [move/IH->|rewrite negb_or => /andP[/IHa -> /IHb ->]].
Qed.

Lemma uniforms l i j : all (predC isvec) l -> leval l i = leval l j.
Proof.
by elim: l => // a l IH /= /andP[/(uniform i j) E /IH F]; rewrite !leval_cons E F.
Qed.

Lemma punifE p i j : punif p -> peval p i = peval p j.
Proof.
elim: p => // t p IH /= /andP[u /IH E].
by rewrite !peval_cons E /meval (uniforms i j u).
Qed.

Lemma leval_split l i :
  leval l i = leval (filter isvec l) i * leval (filter (predC isvec) l) i.
Proof.
elim: l => [|a l IH]; first by rewrite /leval /= mulr1.
by rewrite leval_cons IH /=; case: (isvec a); rewrite /= leval_cons; [rewrite mulrA|rewrite mulrCA].
Qed.

Lemma psumE p i : peval (psum p) i = \sum_j peval p j.
Proof.
elim: p => [|t p IH].
  by rewrite big1 // => j _; rewrite /peval.
under eq_bigr do rewrite peval_cons; rewrite big_split -IH.
case: t => [[k l] c] /=; move: (psum p) => r.
have E : \sum_j Qr c * meval (k, l) j
    = Qr c * dpow k * leval (filter (predC isvec) l) i * \sum_j leval (filter isvec l) j.
  rewrite mulr_sumr; apply: eq_bigr => j _.
  rewrite /meval /= leval_split (uniforms j i (filter_all _ _)) [X in dpow k * X]mulrC.
  by rewrite !mulrA.
rewrite E; move: (filter isvec l) (filter (predC isvec) l) => w u.
case: w => [|a w'].
  rewrite pinsE /meval /= dpowD dpow1; congr (_ + _).
  rewrite /leval /= sumr_const card_ord mulrA -[RHS]mulrA [X in _ = _ * X]mulrC -mulrA.
  by rewrite !mulrA.
rewrite pinsE /meval /= linsE.
have -> : ev (Sum (product (a :: w'))) i = \sum_j leval (a :: w') j.
  by apply: eq_bigr => j _; exact: (productE (a :: w')).
by congr (_ + _); rewrite [X in dpow k * X]mulrC !mulrA.
Qed.

(** ** Inverses *)

Lemma inv_embE p i : peval (patom (Inv (emb p))) i = (peval p i)^-1.
Proof. by rewrite patomE -embE. Qed.

Lemma sqrt_embE p i : peval (patom (Sqrt (emb p))) i = Num.sqrt (peval p i).
Proof. by rewrite patomE -embE. Qed.

Lemma ainvE a i : peval (ainv a) i = (ev a i)^-1.
Proof.
have G b : peval (patom (Inv (emb (patom b)))) i = (ev b i)^-1 by rewrite inv_embE patomE.
by case: a => *; try exact: G; rewrite /= unembE invrK.
Qed.

Lemma leval_inv l i :
  peval (foldr (fun a r => pmul (ainv a) r) pone l) i = (leval l i)^-1.
Proof.
elim: l => [|a l IH]; first by rewrite /= poneE invr1.
by rewrite /= pmulE IH ainvE leval_cons invfM.
Qed.

Lemma gather (A A' B B' e x y : R) :
  A * B * (A' * e * (x * B' * y)) = (A * A') * (B * B') * (e * (x * y)).
Proof.
rewrite [A * A' * (B * B')]mulrACA -!mulrA; do 3!congr (_ * _).
by rewrite [RHS]mulrCA; congr (_ * _); rewrite mulrCA.
Qed.

Lemma peval_rescale k c p i : Qr c != 0 ->
  peval p i = Qr c * dpow k
    * peval [seq ((Z.sub t.1.1 k, t.1.2), qmul (qinv c) t.2) | t <- p] i.
Proof.
move=> c0; elim: p => [|t p IH]; first by rewrite /peval /= mulr0.
rewrite /= !peval_cons IH mulrDr; congr (_ + _).
rewrite /meval /= QrM QrV /Z.sub dpowD dpowN.
set e := Qr t.2; set x := dpow t.1.1; set y := leval _ _.
rewrite (gather (Qr c) (Qr c)^-1 (dpow k)).
by rewrite !divff ?dpow_neq0 // !mul1r.
Qed.

Lemma factorE k c i : peval [:: ((k, [::]), c)] i = Qr c * dpow k.
Proof. by rewrite peval_cons /meval /peval /leval /= mulr1 addr0. Qed.

Lemma pinvE p i : peval (pinv p) i = (peval p i)^-1.
Proof.
case: p => [|t q]; first by rewrite /peval /= invr0.
rewrite /pinv; case: ifP => [_|/negbT c0]; first exact: inv_embE.
have {}c0 : Qr t.2 != 0 by rewrite -Qr_zero.
case: q => [|t' q'].
  rewrite pmulE factorE leval_inv peval_cons [peval [::] i]/(0) addr0 /meval QrV dpowN.
  by move: (Qr _) (dpow _) (leval _ _) => x y z; rewrite !invfM mulrA.
rewrite [in RHS](peval_rescale (least_power (t' :: q') t.1.1) _ i c0).
rewrite pmulE factorE inv_embE QrV dpowN.
by move: (Qr _) (dpow _) (peval _ _) => x y z; rewrite !invfM.
Qed.

(** ** Roots *)

Lemma times_rootE r u i : peval (times_root r u) i = Qr r * Num.sqrt (peval u i).
Proof.
have root : peval (pscale r (patom (Sqrt (emb u)))) i = Qr r * Num.sqrt (peval u i).
  by rewrite pscaleE sqrt_embE.
case: u root => [|[[[|z|z] [|a l]] c] [|t' u']] root; try exact: root.
have value : peval [:: ((Z0, [::]), c)] i = Qr c by rewrite factorE dpow0 mulr1.
rewrite /times_root; case: ifP => [/Qr0|_].
  rewrite QrD QrN1 => /eqP; rewrite subr_eq0 => /eqP c1.
  by rewrite pconstE value c1 sqrtr1 mulr1.
case: ifP => // /[1!Qr_pos]; rewrite QrM QrN1 mulN1r oppr_gt0 => neg.
by rewrite value ler0_sqrtr ?ltW // mulr0.
Qed.

Lemma psqrtE p i : peval (psqrt p) i = Num.sqrt (peval p i).
Proof.
case: p => [|t q]; first by rewrite /peval /= sqrtr0.
rewrite /psqrt; move: (t :: q) (qroot t.2) => p r.
case: ifP => [|_]; last exact: sqrt_embE.
rewrite Qr_pos times_rootE => r0; have -> : peval p i = Qr r ^+ 2 * peval (pscale (qinv (qmul r r)) p) i.
  by rewrite pscaleE QrV QrM mulrA mulfV ?mul1r // mulf_neq0 ?gt_eqF.
by rewrite sqrtrM ?sqr_ge0 // sqrtr_sqr gtr0_norm.
Qed.

End Valuation.

Arguments peval : simpl never.
Arguments leval : simpl never.

Lemma normE v s V S a i :
  (forall x j, punif (S x)) ->
  peval v s (norm V S a) i
  = eval (fun x j => peval v s (V x) j) (fun x => peval v s (S x) ord0) a i.
Proof.
move=> u; elim: a i => [x|x||q|a IH b IHb|a IH b IHb|a IH|a IH|a IH] i //=.
  exact/punifE/(u x i).
all: rewrite ?(pdimE, pconstE, paddE, pmulE, psumE, pinvE, psqrtE) ?IH ?IHb //.
by apply: eq_bigr => j _.
Qed.

End Values.

Arguments Qr : simpl never.
Arguments dpow : simpl never.
Arguments peval : simpl never.
Arguments leval : simpl never.
Arguments zi : simpl never.
