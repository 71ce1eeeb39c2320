(** Certificates as the files write them: a table of nodes, and steps that
    refer to it by number.  Nothing here needs trust or proof: whatever steps
    come out, [check_sound] holds of them. *)

From LnGeom Require Export Checker.

Inductive node :=
  | NVec of positive
  | NSca of positive
  | NDim
  | NRat of Z & positive
  | NAdd of seq positive
  | NMul of seq positive
  | NPow of positive & nat
  | NSum of positive
  | NInv of positive
  | NSqrt of positive
  | NOther. (** of the statement only *)

Inductive table := Leaf | Fork of table & option poly & table.

Fixpoint get (t : table) (k : positive) : poly :=
  match t, k with
  | Leaf, _ => [::]
  | Fork _ x _, xH => if x is Some p then p else [::]
  | Fork l _ _, xO k => get l k
  | Fork _ _ r, xI k => get r k
  end.

Fixpoint put (t : table) (k : positive) (p : poly) : table :=
  match t, k with
  | Leaf, xH => Fork Leaf (Some p) Leaf
  | Leaf, xO k => Fork (put Leaf k p) None Leaf
  | Leaf, xI k => Fork Leaf None (put Leaf k p)
  | Fork l _ r, xH => Fork l (Some p) r
  | Fork l x r, xO k => Fork (put l k p) x r
  | Fork l x r, xI k => Fork l x (put r k p)
  end.

Definition polynomial (t : table) (a : node) : poly :=
  match a with
  | NVec x => patom (Vec x)
  | NSca x => patom (Sca x)
  | NDim => pdim
  | NRat p q => pconst (Qmake p q)
  | NAdd l => foldr (fun k r => padd (get t k) r) [::] l
  | NMul l => foldr (fun k r => pmul (get t k) r) pone l
  | NPow k n => ppow (get t k) n
  | NSum k => psum (get t k)
  | NInv k => pinv (get t k)
  | NSqrt k => psqrt (get t k)
  | NOther => [::]
  end.

Fixpoint fill (t : table) (k : positive) (l : seq node) : table :=
  if l is a :: l' then fill (put t k (polynomial t a)) (Pos.succ k) l' else t.

(** The steps, with numbers of nodes (from 1) in place of polynomials. *)
Inductive line :=
  | LAssume
  | LConstant of Z & positive
  | LDimension
  | LCombine of seq (nat * positive * option positive)
  | LCancel of nat & nat
  | LInverse of nat
  | LInverseTotal of positive
  | LInverseSign of nat
  | LSquareOfRoot of nat
  | LRootNonnegative of positive
  | LRootPositive of nat
  | LRootOfSquare of positive & nat & nat
  | LCongruenceInv of positive & positive & nat
  | LCongruenceSqrt of positive & positive & nat
  | LSquare of positive
  | LOthers of positive & positive
  | LAdd of nat & nat
  | LMultiply of nat & nat
  | LWeaken of nat
  | LStrengthen of nat & nat
  | LTotal of nat
  | LDefinite of nat
  | LTransport of nat & nat
  | LCut of nat & nat
  | LCasesZero of positive & nat & nat
  | LCasesSign of positive & nat & nat
  | LInstantiate of seq (positive * positive) & seq (positive * positive) & nat.

Definition row : Type := line * seq (positive * rel) * (positive * rel).

Section Rows.

Variable t : table.

Definition read (f : positive * rel) : formula := (get t f.1, f.2).
Definition read_pairs (l : seq (positive * positive)) := [seq (f.1, get t f.2) | f <- l].

Definition decode (r : row) : step * sequent :=
  let: (l, h, g) := r in
  let: (p, rl) := read g in
  let s :=
    match l with
    | LAssume => Assume p rl
    | LConstant a b => Constant (Qmake a b) rl
    | LDimension => Dimension
    | LCombine parts =>
        Combine p [seq (x.1.1, get t x.1.2, if x.2 is Some b then Some (get t b) else None) | x <- parts]
    | LCancel i j => Cancel p i j
    | LInverse i => Inverse i
    | LInverseTotal k => InverseTotal (get t k)
    | LInverseSign i => InverseSign i
    | LSquareOfRoot i => SquareOfRoot i
    | LRootNonnegative k => RootNonnegative (get t k)
    | LRootPositive i => RootPositive i
    | LRootOfSquare k i j => RootOfSquare (get t k) i j
    | LCongruenceInv a b i => CongruenceInv (get t a) (get t b) i
    | LCongruenceSqrt a b i => CongruenceSqrt (get t a) (get t b) i
    | LSquare k => Square (get t k)
    | LOthers k l => Others (get t k) (get t l)
    | LAdd i j => AddSigns i j
    | LMultiply i j => MultiplySigns i j
    | LWeaken i => Weaken rl i
    | LStrengthen i j => Strengthen i j
    | LTotal i => Total i
    | LDefinite i => Definite p i
    | LTransport i j => Transport p i j
    | LCut i j => Cut i j
    | LCasesZero k i j => CasesZero (get t k) i j
    | LCasesSign k i j => CasesSign (get t k) i j
    | LInstantiate V T i => Instantiate (read_pairs V) (read_pairs T) i
    end in
  (s, ([seq read f | f <- h], (p, rl))).

End Rows.

Definition steps (nodes : seq node) (rows : seq row) : seq (step * sequent) :=
  let t := fill Leaf xH nodes in [seq decode t r | r <- rows].
