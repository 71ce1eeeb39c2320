(** Last steps about growth without bound, limits and derivatives. *)

From LnGeom Require Export LastSteps.

Section Limits.

Variables (R : rcfType) (n : nat).
Local Notation V := ('I_n.+1 -> R).
Implicit Types (x v g : V) (eps a c t : R) (i j : 'I_n.+1).

(** ** The Jacobian as the library computes it *)

Definition jacobian_product eps g x v : V := fun i =>
  g i * ((centre v i - (1 * mean (fun j => LN eps x j * centre v j)) * LN eps x i)
         / Num.sqrt (variance x + eps)).

(** Of a vector and its shifts along 1, ‖x‖ ‖J(x)v‖ has no upper bound. *)
(** jacobian.no_uniform_bound: Unless J(x)v = 0, for every bound there is a c with ‖x + c1‖²‖J(x + c1)v‖² above it. *)
Theorem jacobian__no_uniform_bound__last_step eps g x v bound :
  (exists i, jacobian_product eps g x v i != 0) ->
  exists c, let y i := x i + c in
    bound < square_norm y * square_norm (jacobian_product eps g y v).
Proof.
move=> [m Jm]; pose K := square_norm (jacobian_product eps g x v).
have K0 : 0 < K.
  rewrite /K /square_norm (bigD1 m) //= ltr_paddr ?sumr_ge0 // => [j _|]; first by rewrite -expr2 sqr_ge0.
  by rewrite lt_neqAle eq_sym mulf_neq0 // -expr2 sqr_ge0.
pose t := 1 + `|bound| / K; exists (t - x ord0) => y.
have t1 : 1 <= t by rewrite ler_addl divr_ge0 // ltW.
have same i : jacobian_product eps g y v i = jacobian_product eps g x v i.
  have shifted : (fun j => x j + (t - x ord0) * 1) =1 y by move=> j; rewrite mulr1.
  rewrite -[RHS](jacobian__no_uniform_bound x v g (t - x ord0) eps) /jacobian_product /LN.
  rewrite -(eq_variance shifted) -(eq_centre shifted); congr (_ * ((_ - 1 * _ * _) / _)).
  by apply: eq_mean => j; rewrite -(eq_centre shifted).
have -> : square_norm (jacobian_product eps g y v) = K by apply: eq_bigr => i _; rewrite !same.
have large : t <= square_norm y.
  rewrite /square_norm (bigD1 ord0) //= ler_paddr ?sumr_ge0 // => [j _|]; first by rewrite -expr2 sqr_ge0.
  by rewrite /y addrCA subrr addr0 ler_pmulr // (lt_le_trans ltr01).
apply: lt_le_trans (_ : t * K <= _); last by rewrite ler_pmul2r.
by rewrite mulrDl mul1r mulfVK ?gt_eqF // ltr_spaddl ?ler_norm.
Qed.

(** ** Repeated normalization *)

(** In an Archimedean field, as that of the real numbers. *)
Hypothesis archimedes : forall a, exists k : nat, a < k%:R.

Lemma geometric q : 0 <= q -> q < 1 -> forall a, 0 < a -> exists k : nat, forall l, (k <= l)%N -> q ^+ l < a.
Proof.
move=> q0 q1 a a0; case: (eqVneq q 0) => [->|qn].
  by exists 1%N => l l1; rewrite expr0n gtn_eqF.
have qpos : 0 < q by rewrite lt_neqAle eq_sym qn.
pose h := q^-1 - 1; have h0 : 0 < h by rewrite subr_gt0 invf_gt1.
have bernoulli l : 1 + h * l%:R <= q^-1 ^+ l.
  elim: l => [|l IH]; first by rewrite mulr0 addr0 expr0.
  have Q1 : 1 <= q^-1 ^+ l by apply: le_trans IH; rewrite ler_addl mulr_ge0 ?ler0n ?ltW.
  have -> : q^-1 ^+ l.+1 = q^-1 ^+ l + h * q^-1 ^+ l by rewrite exprS /h mulrBl mul1r addrC subrK.
  by rewrite -addn1 natrD mulrDr mulr1 addrA ler_add // ler_pmulr.
have [k kE] := archimedes (a^-1 / h); exists k => l kl.
rewrite -[q]invrK exprVn -[a]invrK ltf_pinv ?posrE ?invr_gt0 ?exprn_gt0 ?invr_gt0 //.
apply: lt_le_trans (bernoulli l); apply: lt_le_trans (_ : h * l%:R <= _); last by rewrite ler_addr ler01.
rewrite mulrC -ltr_pdivr_mulr //; apply: lt_le_trans kE _.
by rewrite ler_nat.
Qed.

Lemma variance_step eps x : 0 < eps ->
  variance (LN eps x) - (1 - eps) = eps / (variance x + eps) * (variance x - (1 - eps)).
Proof.
move=> e0; rewrite [LHS](epsilon__fixed_point x e0) -/(variance x).
by rewrite mulrAC.
Qed.

(** For 0 < ε < 1 the variances of x, LN(x), LN(LN(x)), … tend to 1 − ε, unless x is constant. *)
(** epsilon.fixed_point: For 0 < ε < 1 and x not constant the variances of LN_ε(x), LN_ε(LN_ε(x)), … tend to 1 − ε, in
    every Archimedean real closed field, such as that of the real numbers. *)
Theorem epsilon__fixed_point__last_step eps x : 0 < eps -> eps < 1 -> 0 < variance x ->
  forall a, 0 < a ->
  exists k : nat, forall l, (k <= l)%N -> `|variance (iter l (LN eps) x) - (1 - eps)| < a.
Proof.
move=> e0 e1 v0 a a0; pose v l := variance (iter l (LN eps) x); pose s := 1 - eps.
have s0 : 0 < s by rewrite subr_gt0.
pose m := Num.min (variance x) s; have m0 : 0 < m by rewrite lt_minr v0.
pose q := eps / (m + eps).
have me : 0 < m + eps by rewrite addr_gt0.
have q0 : 0 <= q by rewrite divr_ge0 // ltW.
have q1 : q < 1 by rewrite ltr_pdivr_mulr // mul1r ltr_addr.
have step l : v l.+1 - s = eps / (v l + eps) * (v l - s) by rewrite /v iterS variance_step.
have above l : m <= v l.
  elim: l => [|l IH]; first by rewrite le_minl lexx.
  have vl : 0 < v l + eps by rewrite addr_gt0 // (lt_le_trans m0).
  case: (leP s (v l)) => [sv|/ltW vs].
    apply: le_trans (_ : s <= _); first by rewrite le_minl lexx orbT.
    by rewrite -subr_ge0 step mulr_ge0 ?subr_ge0 // divr_ge0 // ltW.
  apply: (le_trans IH); rewrite -[v l](subrK s) -[v l.+1](subrK s) ler_add2r step.
  rewrite -subr_ge0 -[X in _ - X]mul1r -mulrBl mulr_le0 ?subr_le0 // ler_pdivr_mulr // mul1r ler_addr.
  by apply: le_trans IH; apply: ltW.
have decay l : `|v l - s| <= q ^+ l * `|v 0%N - s|.
  elim: l => [|l IH]; first by rewrite expr0 mul1r.
  rewrite step normrM exprS -mulrA; have vl : 0 < v l + eps by rewrite addr_gt0 // (lt_le_trans m0).
  rewrite ler_pmul // ger0_norm; last by rewrite divr_ge0 // ltW.
  by rewrite ler_pmul2l // lef_pinv ?posrE // ler_add2r.
have D0 : 0 < `|v 0%N - s| + 1 by rewrite ltr_spaddr.
have [k kE] := geometric q0 q1 (divr_gt0 a0 D0); exists k => l /kE small.
apply: le_lt_trans (decay l) _; apply: le_lt_trans (_ : _ <= q ^+ l * (`|v 0%N - s| + 1)) _.
  by rewrite ler_wpmul2l ?exprn_ge0 // ler_addl ler01.
by rewrite -ltr_pdivl_mulr.
Qed.

End Limits.
