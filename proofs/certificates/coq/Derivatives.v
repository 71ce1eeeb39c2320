(** Last steps about derivatives: the rules by which the library differentiates, as theorems, and the principal axes. *)

From LnGeom Require Export Limits.

Section Duals.

Variable R : rcfType.
Implicit Types (f h p q : R -> R) (a b c d e t K : R).

(** For all numbers of a neighbourhood of 0. *)
Definition near (P : R -> Prop) : Prop := exists2 e, 0 < e & forall t, `|t| <= e -> P t.

Lemma near2 (P Q S : R -> Prop) : near P -> near Q -> (forall t, P t -> Q t -> S t) -> near S.
Proof.
move=> [d d0 p] [e e0 q] both; exists (Num.min d e) => [|t]; first by rewrite lt_minr d0.
by rewrite le_minr => /andP[/p P' /q]; apply: both.
Qed.

Lemma near1 (P S : R -> Prop) : near P -> (forall t, P t -> S t) -> near S.
Proof. by move=> n1 i; exact: (near2 n1 n1 (fun t H _ => i t H)). Qed.

(** The derivative at 0, with an error of the second order. *)
Definition derivative f a : Prop := exists K, near (fun t => `|f t - f 0 - t * a| <= K * t ^+ 2).

Definition lipschitz f : Prop := exists K, near (fun t => `|f t - f 0| <= K * `|t|).

Lemma lipschitz_near f e : lipschitz f -> 0 < e -> near (fun t => `|f t - f 0| <= e).
Proof.
move=> [K [d d0 H]] e0; pose M := `|K| + 1; have M0 : 0 < M by rewrite ltr_spaddr.
exists (Num.min d (e / M)) => [|t]; first by rewrite lt_minr d0 divr_gt0.
rewrite le_minr ler_pdivl_mulr // => /andP[/H le tM]; apply: le_trans le (le_trans _ tM).
by rewrite mulrC ler_wpmul2l // (le_trans (ler_norm K)) // ler_addl ler01.
Qed.

Lemma lipschitz_bounded f : lipschitz f -> near (fun t => `|f t| <= `|f 0| + 1).
Proof.
move=> /lipschitz_near/(_ ltr01) H; apply: near1 H _ => t H.
by rewrite -[f t](subrK (f 0)) addrC; apply: le_trans (ler_norm_add _ _) _; rewrite ler_add2l.
Qed.

(** What moves by less than a multiple of what moves little. *)
Lemma lipschitz_by e f h : 0 < e -> lipschitz f -> near (fun t => `|h t - h 0| * e <= `|f t - f 0|) -> lipschitz h.
Proof.
move=> e0 [K H] less; exists (K / e); apply: near2 H less _ => t H less.
by rewrite mulrAC ler_pdivl_mulr //; apply: le_trans less H.
Qed.

Lemma lipschitz_const c : lipschitz (fun=> c).
Proof. by exists 0; exists 1 => // t _; rewrite subrr normr0 mul0r. Qed.

Lemma lipschitz_add f h : lipschitz f -> lipschitz h -> lipschitz (fun t => f t + h t).
Proof.
move=> [K H] [L I]; exists (K + L); apply: near2 H I _ => t H I.
by rewrite mulrDl opprD addrACA; apply: le_trans (ler_norm_add _ _) (ler_add H I).
Qed.

Lemma lipschitz_mul f h : lipschitz f -> lipschitz h -> lipschitz (fun t => f t * h t).
Proof.
move=> [K H] hl; have bounded := lipschitz_bounded hl; have [L I] := hl.
exists (K * (`|h 0| + 1) + `|f 0| * L).
have both := near2 H I (fun t H I => conj H I); apply: near2 both bounded _ => t [H' I'] small.
have -> : f t * h t - f 0 * h 0 = (f t - f 0) * h t + f 0 * (h t - h 0) by rewrite mulrBl mulrBr addrA subrK.
apply: le_trans (ler_norm_add _ _) _; rewrite !normrM [_ * `|t|]mulrDl ler_add //; last first.
  by rewrite -mulrA ler_wpmul2l.
by rewrite mulrAC ler_pmul.
Qed.

Lemma lipschitz_inv f : f 0 != 0 -> lipschitz f -> lipschitz (fun t => (f t)^-1).
Proof.
move=> f0 fl; have pos : 0 < `|f 0| / 2 by rewrite divr_gt0 ?normr_gt0 ?ltr0n.
apply: (@lipschitz_by (`|f 0| / 2 * `|f 0|) f) => //; first by rewrite mulr_gt0 ?normr_gt0.
apply: near1 (lipschitz_near fl pos) _ => t small.
have large : `|f 0| / 2 <= `|f t|.
  rewrite -(ler_add2r (`|f 0| / 2)) -splitr -ler_subl_addl.
  by apply: le_trans small; rewrite distrC; apply: ler_sub_dist.
have ft : f t != 0 by rewrite -normr_gt0; apply: lt_le_trans large.
have E : f t - f 0 = ((f 0)^-1 - (f t)^-1) * (f t * f 0).
  by rewrite mulrBl mulrCA mulVf // mulr1 mulrA mulVf // mul1r.
rewrite [in X in _ <= X]E !normrM distrC ler_wpmul2l // ler_wpmul2r //.
Qed.

Lemma lipschitz_sqrt f : 0 < f 0 -> lipschitz f -> lipschitz (fun t => Num.sqrt (f t)).
Proof.
move=> f0 fl; apply: (@lipschitz_by (Num.sqrt (f 0)) f) => //; first by rewrite sqrtr_gt0.
apply: near1 (lipschitz_near fl f0) _ => t /ler_normlP[small _].
have ft : 0 <= f t by move: small; rewrite opprB ler_subl_addr ler_addl.
rewrite -{2}[f t]sqr_sqrtr // -[in X in _ <= `|_ - X|](sqr_sqrtr (ltW f0)) subr_sqr normrM ler_wpmul2l //.
by rewrite [in X in _ <= X]ger0_norm ?addr_ge0 ?sqrtr_ge0 // ler_addr sqrtr_ge0.
Qed.

(** Value and derivative, as the library's dual numbers have them: the difference quotient is Lipschitz at 0. *)
Definition dual f c a : Prop := exists q, [/\ lipschitz q, q 0 = a & near (fun t => f t = c + t * q t)].

Lemma dual_value f c a : dual f c a -> f 0 = c.
Proof. by move=> [q [_ _ [e e0 ->]]]; rewrite ?mul0r ?addr0 // normr0 ltW. Qed.

Lemma dual_derivative f c a : dual f c a -> derivative f a.
Proof.
move=> df; have f0 := dual_value df; have [q [[K H] <- E]] := df.
exists K; apply: near2 H E _ => t H ->; rewrite f0 [c + _]addrC addrK -mulrBr normrM.
by rewrite -[t ^+ 2]real_normK ?num_real // expr2 mulrA mulrC ler_wpmul2r.
Qed.

Lemma dual_lipschitz f c a : dual f c a -> lipschitz f.
Proof.
move=> df; have f0 := dual_value df; have [q [ql q0 E]] := df.
exists (`|q 0| + 1); apply: near2 (lipschitz_bounded ql) E _ => t bounded ->.
by rewrite f0 [c + _]addrC addrK normrM mulrC ler_wpmul2r.
Qed.

Lemma dual_const c : dual (fun=> c) c 0.
Proof. by exists (fun=> 0); split=> [||]; [exact: lipschitz_const| |exists 1 => // t _; rewrite mulr0 addr0]. Qed.

Lemma dual_line c a : dual (fun t => c + t * a) c a.
Proof. by exists (fun=> a); split=> [||]; [exact: lipschitz_const| |exists 1]. Qed.

Lemma dual_add f h c d a b : dual f c a -> dual h d b -> dual (fun t => f t + h t) (c + d) (a + b).
Proof.
move=> [q [ql <- E]] [p [pl <- F]]; exists (fun t => q t + p t); split=> //; first exact: lipschitz_add.
by apply: near2 E F _ => t -> ->; rewrite mulrDr addrACA.
Qed.

Lemma dual_mul f h c d a b : dual f c a -> dual h d b -> dual (fun t => f t * h t) (c * d) (a * d + c * b).
Proof.
move=> df dh; have [q [ql <- E]] := df; have [p [pl <- F]] := dh.
exists (fun t => q t * h t + c * p t); split=> [||].
- by apply: lipschitz_add; apply: lipschitz_mul => //; [apply: dual_lipschitz dh|apply: lipschitz_const].
- by rewrite (dual_value dh).
apply: near2 E F _ => t E F; rewrite E mulrDl {1}F !mulrDr -addrA; congr (_ + _).
by rewrite addrC -mulrA [c * _]mulrCA.
Qed.

Lemma dual_sub f h c d a b : dual f c a -> dual h d b -> dual (fun t => f t - h t) (c - d) (a - b).
Proof.
move=> df dh; have [q [ql q0 E]] := dual_add df (dual_mul (dual_const (-1)) dh).
exists q; split=> //; first by rewrite q0 mul0r add0r mulN1r.
by apply: near1 E _ => t; rewrite !mulN1r.
Qed.

Lemma dual_div f h c d a b : d != 0 -> dual f c a -> dual h d b ->
  dual (fun t => f t / h t) (c / d) ((a - c / d * b) / d).
Proof.
move=> d0 df dh; have h0 := dual_value dh; have hl := dual_lipschitz dh.
have [q [ql q0 E]] := dual_sub df (dual_mul (dual_const (c / d)) dh).
exists (fun t => q t / h t); split=> [||].
- by apply: lipschitz_mul => //; apply: lipschitz_inv; rewrite ?h0.
- by rewrite q0 h0 mul0r add0r.
have half : 0 < `|d| / 2 by rewrite divr_gt0 ?normr_gt0 ?ltr0n.
have alive : near (fun t => h t != 0).
  apply: near1 (lipschitz_near hl half) _ => t; apply: contraTneq => ->.
  by rewrite sub0r normrN h0 -ltNge ltr_pdivr_mulr ?ltr0n // ltr_pmulr ?normr_gt0 // ltr1n.
apply: near2 E alive _ => t E alive; rewrite mulrA -[X in X + _](mulfK alive) -mulrDl; congr (_ / _).
by move: E; rewrite mulfVK // subrr add0r => <-; rewrite addrC subrK.
Qed.

Lemma dual_sqrt f c a : 0 < c -> dual f c a -> dual (fun t => Num.sqrt (f t)) (Num.sqrt c) (a / (2%:R * Num.sqrt c)).
Proof.
move=> c0 df; have f0 := dual_value df; have fl := dual_lipschitz df; have [q [ql <- E]] := df.
have root0 : 0 < Num.sqrt c by rewrite sqrtr_gt0.
exists (fun t => q t / (Num.sqrt (f t) + Num.sqrt c)); split=> [||].
- apply: lipschitz_mul => //; apply: lipschitz_inv; first by rewrite f0 gt_eqF ?addr_gt0.
  by apply: lipschitz_add; [apply: lipschitz_sqrt; rewrite ?f0|apply: lipschitz_const].
- by rewrite f0 mulr_natl mulr2n.
rewrite -f0 in c0; apply: near2 E (lipschitz_near fl c0) _ => t E /ler_normlP[small _].
have ft : 0 <= f t by move: small; rewrite opprB ler_subl_addr ler_addl.
have pos : 0 < Num.sqrt (f t) + Num.sqrt c by rewrite ltr_paddl ?sqrtr_ge0.
apply: (mulIf (negbT (gt_eqF pos))); rewrite mulrDl [t * _]mulrA mulfVK ?gt_eqF // !mulrDr -!expr2.
by rewrite !sqr_sqrtr ?(ltW root0) // -?f0 ?ltW // f0 -addrA -E addrC mulrC.
Qed.

Lemma dual_sum n (f : 'I_n -> R -> R) (c a : 'I_n -> R) : (forall i, dual (f i) (c i) (a i)) ->
  dual (fun t => \sum_i f i t) (\sum_i c i) (\sum_i a i).
Proof.
move=> each; elim: (index_enum _) => [|i r IH].
  rewrite !big_nil; have [q [ql q0 E]] := dual_const 0.
  by exists q; split=> //; apply: near1 E _ => t; rewrite big_nil.
rewrite !big_cons; have [q [ql q0 E]] := dual_add (each i) IH.
by exists q; split=> //; apply: near1 E _ => t; rewrite big_cons.
Qed.

End Duals.

Section Derivatives.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (x v g b a : V) (eps t : R) (i j : 'I_n.+1).

Lemma dual_mean (f : 'I_n.+1 -> R -> R) x v :
  (forall i, dual (f i) (x i) (v i)) -> dual (fun t => mean (fun i => f i t)) (mean x) (mean v).
Proof.
move=> each; have [q [ql q0 E]] := dual_mul (dual_sum each) (dual_const (n.+1%:R^-1)).
by exists q; split=> //; rewrite q0 mulr0 addr0.
Qed.

Definition moved x v t : V := fun j => x j + t * v j.

Lemma dual_centre x v i : dual (fun t => centre (moved x v t) i) (centre x i) (centre v i).
Proof. by apply: dual_sub; [|apply: dual_mean => j]; apply: dual_line. Qed.

Lemma dual_variance x v : dual (fun t => variance (moved x v t)) (variance x)
  (mean (fun j => centre v j * centre x j + centre x j * centre v j)).
Proof. by apply: dual_mean => j; apply: dual_mul; apply: dual_centre. Qed.

(** jacobian.closed_form: Where σ² + ε > 0 the formal derivative is the derivative of the function. *)
Theorem jacobian__closed_form__last_step eps g b x v i : 0 < variance x + eps ->
  derivative (fun t => LN eps (moved x v t) i * g i + b i) (jacobian_product eps g x v i).
Proof.
move=> pos; rewrite -[jacobian_product _ _ _ _ _](jacobian__closed_form x v g b eps i) -/(centre x i).
apply: dual_derivative; apply: dual_add (dual_const _); apply: dual_mul (dual_const _).
apply: dual_div (dual_centre _ _ _) _; first by rewrite gt_eqF ?sqrtr_gt0.
by apply: dual_sqrt => //; apply: dual_add (dual_variance _ _) (dual_const _).
Qed.

Lemma dual_mean_square x v : dual (fun t => mean (fun j => moved x v t j * moved x v t j)) (mean (fun j => x j * x j))
  (mean (fun j => v j * x j + x j * v j)).
Proof. by apply: dual_mean => j; apply: dual_mul; apply: dual_line. Qed.

Definition rms_product eps g x v : V := fun i =>
  g i * ((v i - (1 * mean (fun j => RMS eps x j * v j)) * RMS eps x i) / Num.sqrt (mean (fun j => x j * x j) + eps)).

(** jacobian.rms_closed_form: Where ‖x‖²/d + ε > 0 the formal derivative is the derivative of the function. *)
Theorem jacobian__rms_closed_form__last_step eps g b x v i : 0 < mean (fun j => x j * x j) + eps ->
  derivative (fun t => RMS eps (moved x v t) i * g i + b i) (rms_product eps g x v i).
Proof.
move=> pos; rewrite -[rms_product _ _ _ _ _](jacobian__rms_closed_form x v g b eps i).
apply: dual_derivative; apply: dual_add (dual_const _); apply: dual_mul (dual_const _).
apply: dual_div (dual_line _ _) _; first by rewrite gt_eqF ?sqrtr_gt0.
by apply: dual_sqrt => //; apply: dual_add (dual_mean_square _ _) (dual_const _).
Qed.

End Derivatives.
