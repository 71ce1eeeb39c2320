(** How many roundings each step of a kernel may make: the numbers of lngeom/rounding/_constants.py. *)
From Coq Require Export Reals List Permutation Lra Lia.
Global Open Scope R_scope.

Definition square := 8.
Definition scale := 8.
Definition component := 5.
Definition first_input := 3.
Definition first_mean := 4.
Definition folded_bias := 2.
Definition increment := 5.
Definition merged_steps := 4%nat.
Definition guard_terms := 2.
Definition guard_rest := 8.
