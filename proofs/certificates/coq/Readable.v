(** From the embedding to formulas as mathematics writes them: equations and
    inequalities between two sides, of vectors and scalars that are quantified. *)

From LnGeom Require Export Decode.

Section Readable.

Variables (R : rcfType) (n : nat).

(** Vectors and scalars are numbered from 1. *)
Definition naming T (default : T) (l : seq T) : positive -> T :=
  fun x => nth default l (Pos.to_nat x).-1.
Definition vec (l : seq ('I_n.+1 -> R)) : vectors R n := naming (fun _ => 0) l.
Definition sca (l : seq R) : scalars R := naming 0 l.

Definition mean (x : 'I_n.+1 -> R) : R := (\sum_i x i) / n.+1%:R.

Variables a b : R.

Lemma eq_in : a = b -> a - b = 0. Proof. by move->; rewrite subrr. Qed.
Lemma ne_in : a != b -> a - b != 0. Proof. by rewrite subr_eq0. Qed.
Lemma gt_in : b < a -> 0 < a - b. Proof. by rewrite subr_gt0. Qed.
Lemma ge_in : b <= a -> 0 <= a - b. Proof. by rewrite subr_ge0. Qed.

Lemma eq_out : a - b = 0 -> a = b. Proof. by move/eqP; rewrite subr_eq0 => /eqP. Qed.
Lemma ne_out : a - b != 0 -> a != b. Proof. by rewrite subr_eq0. Qed.
Lemma gt_out : 0 < a - b -> b < a. Proof. by rewrite subr_gt0. Qed.
Lemma ge_out : 0 <= a - b -> b <= a. Proof. by rewrite subr_ge0. Qed.

End Readable.
