(** What every file stands on. *)

From Coq Require Export ZArith QArith Qreduction.
From mathcomp Require Export all_ssreflect all_algebra.
#[export] Set Implicit Arguments.
#[export] Unset Strict Implicit.
#[export] Unset Printing Implicit Defensive.
Export Order.TTheory GRing.Theory Num.Theory.
Global Open Scope ring_scope.
