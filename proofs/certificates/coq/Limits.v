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

End Limits.
