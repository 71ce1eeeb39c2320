"""A second trusted file: identities between abstract matrices, for what the algebra of components cannot state.

**Terms** are noncommutative polynomials over Q in matrix letters and their transposes. A letter has a number of rows
and of columns, given by names such as "m" and "n", or 1; a word is a product of letters whose sizes fit, and the empty
word of size n is the identity matrix of that size. :class:`Matrix` holds the normal form.

**Soundness.** Fix a positive integer for each size and a real matrix for each letter. Evaluation commutes with +, the
matrix product, rational multiples and the transpose, so that equal normal forms are equal matrices, for all sizes.
An :class:`Identity` is a sequent ``hypotheses |- p = 0``, read: whatever matrices make every hypothesis vanish make
p vanish. The rules are: A |- A; a sum of products a·e·b vanishes if every e does; pᵀ vanishes if p does; letters
may be replaced by matrices of the same size; a proved hypothesis may be dropped. All are evident, and a theorem is
recorded in a private table that only they write.

This is the calculus of operator identities by ideal membership: Raab, Regensburger and Hossein Poor, "Formal proofs
of operator identities by a single formal computation", arXiv:1910.06165.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any
from weakref import WeakKeyDictionary

from ._kernel import ProofError


def _require(condition: bool, rule: str) -> None:
    if not condition:
        msg = f"the rule does not apply: {rule}"
        raise ProofError(msg)


# A letter is (name, rows, columns, transposed) with the sizes of the matrix as it stands in the word.
# A word is a tuple of letters. A matrix is (rows, columns, sorted tuple of (word, coefficient)).


class Matrix(tuple):
    """Noncommutative polynomial in normal form, with the names of its numbers of rows and columns. Immutable.

    ``+`` and ``-`` join matrices of one size, ``@`` is the matrix product, ``*`` multiplies by an integer or fraction
    and ``.T`` is the transpose.

    Raises
    ------
    ProofError
        From an operation on sizes that do not fit, or with something else.

    Examples
    --------
    >>> from lngeom.symbolic import letter
    >>> A, B = letter("A", "m", "n"), letter("B", "n", "m")
    >>> (A @ B).T + 2 * (A @ B), (A @ B).shape
    (2 A·B + Bᵀ·Aᵀ, ('m', 'm'))
    """

    __slots__ = ()

    def __new__(cls, rows: str, columns: str, polynomial: Mapping[tuple, Fraction]) -> Matrix:
        return super().__new__(
            cls, (rows, columns, tuple(sorted((w, c) for w, c in polynomial.items() if c)))
        )

    @property
    def shape(self) -> tuple[str, str]:
        """Names of the numbers of rows and columns."""
        return tuple.__getitem__(self, 0), tuple.__getitem__(self, 1)

    @property
    def words(self) -> dict[tuple, Fraction]:
        """Coefficient of each word."""
        return dict(tuple.__getitem__(self, 2))

    def __bool__(self) -> bool:
        return bool(tuple.__getitem__(self, 2))

    def __add__(self, other: Any) -> Matrix:
        _require(
            type(other) is Matrix and other.shape == self.shape, "a sum needs two matrices of the same size"
        )
        result = self.words
        for word, coefficient in other.words.items():
            result[word] = result.get(word, Fraction(0)) + coefficient
        return Matrix(*self.shape, result)

    def __neg__(self) -> Matrix:
        return self * -1

    def __sub__(self, other: Any) -> Matrix:
        return self + (-other)

    def __mul__(self, factor: Any) -> Matrix:
        _require(
            isinstance(factor, int | Fraction), f"{factor!r} is no rational number; matrices multiply with @"
        )
        return Matrix(*self.shape, {word: c * factor for word, c in self.words.items()})

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> Matrix:
        fits = type(other) is Matrix and self.shape[1] == other.shape[0]
        _require(fits, "a product needs as many columns on the left as rows on the right")
        result: dict[tuple, Fraction] = {}
        for v, p in self.words.items():
            for w, q in other.words.items():
                result[v + w] = result.get(v + w, Fraction(0)) + p * q
        return Matrix(self.shape[0], other.shape[1], result)

    @property
    def T(self) -> Matrix:
        """Transpose."""
        rows, columns = self.shape
        turned = {tuple(_turn(letter) for letter in reversed(w)): c for w, c in self.words.items()}
        return Matrix(columns, rows, turned)

    def __repr__(self) -> str:
        return text(self)


def _turn(letter: tuple) -> tuple:
    name, rows, columns, transposed = letter
    return name, columns, rows, not transposed


def letter(name: str, rows: str = "n", columns: str = "n") -> Matrix:
    """Arbitrary matrix of the given size; a column vector has columns "1".

    Letters of equal names and equal sizes are the same matrix; two different names of sizes may stand for one number.

    Raises
    ------
    ProofError
        If a name is empty or no string.

    Examples
    --------
    >>> from lngeom.symbolic import letter
    >>> letter("v", "n", "1").T @ letter("A") @ letter("v", "n", "1")
    vᵀ·A·v
    """
    _require(all(type(word) is str and word for word in (name, rows, columns)), "names are nonempty strings")
    return Matrix(rows, columns, {((name, rows, columns, False),): Fraction(1)})


def identity(size: str = "n") -> Matrix:
    """Identity matrix, the empty word: it disappears in products.

    Raises
    ------
    ProofError
        If the name of the size is empty or no string.

    Examples
    --------
    >>> from lngeom.symbolic import identity, letter
    >>> (letter("P") - identity()) @ letter("P")
    P·P − P
    """
    _require(type(size) is str and bool(size), "the name of a size is a nonempty string")
    return Matrix(size, size, {(): Fraction(1)})


def _content(value: Any) -> Any:
    return tuple(value)


def _proper(value: Any) -> Matrix:
    """`value`, checked to be a matrix in normal form, however it was made."""
    _require(type(value) is Matrix and tuple.__len__(value) == 3, f"{object.__repr__(value)} is no matrix")
    rows, columns, terms = _content(value)
    _require([type(part) for part in (rows, columns, terms)] == [str, str, tuple], "the sizes have names")
    for pair in terms:
        _require(type(pair) is tuple and len(pair) == 2, "a term is a word with a coefficient")
        word, coefficient = pair
        _require(type(coefficient) is Fraction and coefficient != 0, "coefficients are fractions and not 0")
        _require([type(word)] == [tuple], "a word is a tuple")
        size = rows
        for one in _content(word):
            _require(
                type(one) is tuple and len(one) == 4 and one[1] == size, "the letters of a word fit together"
            )
            kinds = [type(part) for part in one]
            _require(
                kinds == [str, str, str, bool], "a letter has a name, two sizes and a transposition mark"
            )
            size = one[2]
        _require(size == columns, "a word has the size of its matrix")
    words = [word for word, _ in terms]
    _require(all(v < w for v, w in itertools.pairwise(words)), "the words of a normal form ascend")
    return value


def text(matrix: Matrix) -> str:
    """`matrix` as people write it: ``G·Gi − I``."""
    parts = []
    for word, c in sorted(matrix.words.items(), key=lambda item: (-len(item[0]), item[0])):
        product = "·".join(f"{name}{'ᵀ' if transposed else ''}" for name, _, _, transposed in word) or "I"
        size = "" if abs(c) == 1 else f"{abs(c)} "
        parts.append(("− " if c < 0 else "+ ") + size + product)
    whole = " ".join(parts) or "0"
    return whole[2:] if whole[0] == "+" else whole.replace("− ", "−", 1)


# ------------------------------------------------------------------------------------------------------ identities


class Identity:
    """A proved sequent ``hypotheses |- conclusion = 0``. Only the rules below make one.

    It says: for all sizes and all real matrices of these sizes, if every hypothesis vanishes, then so does the
    conclusion.

    Raises
    ------
    ProofError
        When called, and when something is read from an object that no rule made.

    Examples
    --------
    >>> from lngeom.symbolic import assume_zero, identity, letter
    >>> P = letter("P")
    >>> known = assume_zero(P @ P - P)
    >>> known.conclusion, known.certificate[0]
    (P·P − P, 'assume')
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, *arguments: Any) -> Identity:
        msg = "identities are made by the rules of the calculus, not by calling Identity"
        raise ProofError(msg)

    @property
    def hypotheses(self) -> frozenset[Matrix]:
        """The matrices assumed to vanish."""
        return _said(self)[0]

    @property
    def conclusion(self) -> Matrix:
        """The matrix that then vanishes."""
        return _said(self)[1]

    @property
    def certificate(self) -> tuple[str, tuple, tuple[Identity, ...]]:
        """Rule, its matrices, and the identities it used; for readers and for a second checker."""
        return _said(self)[2]

    def __repr__(self) -> str:
        assumed = ", ".join(sorted(f"{text(h)} = 0" for h in self.hypotheses))
        return f"{assumed} |- {text(self.conclusion)} = 0".strip()


_PROVED: WeakKeyDictionary[Identity, tuple] = WeakKeyDictionary()


def _said(known: Identity) -> tuple:
    _require(type(known) is Identity and known in _PROVED, f"{object.__repr__(known)} was never proved")
    return _PROVED[known]


def _prove(
    hypotheses: Iterable[Matrix], conclusion: Matrix, rule: str, terms: tuple, *used: Identity
) -> Identity:
    known = object.__new__(Identity)
    _PROVED[known] = (frozenset(hypotheses), _proper(conclusion), (rule, terms, used))
    return known


def assume_zero(matrix: Matrix) -> Identity:
    """``p = 0 |- p = 0``.

    Raises
    ------
    ProofError
        If `matrix` is no :class:`Matrix` in normal form.

    Examples
    --------
    >>> from lngeom.symbolic import assume_zero, letter
    >>> P = letter("P")
    >>> assume_zero(P @ P - P)
    P·P − P = 0 |- P·P − P = 0
    """
    return _prove([_proper(matrix)], matrix, "assume", ())


def combine_words(goal: Matrix, parts: Iterable[tuple[Matrix, Identity, Matrix]]) -> Identity:
    """|- goal = 0, where goal is the sum of a·e·b over the parts (a, e = 0, b).

    Raises
    ------
    ProofError
        If the combination and goal have different normal forms, or sizes do not fit.

    References
    ----------
    Raab, Regensburger and Hossein Poor, arXiv:1910.06165: a, b are the cofactors of goal in the two-sided ideal.

    Examples
    --------
    >>> from lngeom.symbolic import assume_zero, combine_words, identity, letter
    >>> P, Q = letter("P"), letter("Q")
    >>> combine_words(Q @ P @ P - Q @ P, [(Q, assume_zero(P @ P - P), identity())])
    P·P − P = 0 |- Q·P·P − Q·P = 0
    """
    rest, hypotheses, terms, used = _proper(goal), frozenset(), [], []
    for a, known, b in parts:
        assumed, e, _ = _said(known)
        rest -= _proper(a) @ e @ _proper(b)
        hypotheses |= assumed
        terms += [a, b]
        used.append(known)
    _require(not rest, "the goal is not the given combination of identities")
    return _prove(hypotheses, goal, "combine", tuple(terms), *used)


def transpose(known: Identity) -> Identity:
    """From p = 0: pᵀ = 0. Hypotheses stay as they are.

    Raises
    ------
    ProofError
        If the premise was never proved.

    Examples
    --------
    >>> from lngeom.symbolic import assume_zero, letter, transpose
    >>> P = letter("P")
    >>> transpose(assume_zero(P @ P - P))
    P·P − P = 0 |- Pᵀ·Pᵀ − Pᵀ = 0
    """
    hypotheses, p, _ = _said(known)
    return _prove(hypotheses, p.T, "transpose", (), known)


def cut_words(lemma: Identity, known: Identity) -> Identity:
    """From G |- a = 0 and H, a = 0 |- b = 0: G, H |- b = 0. Where a is no hypothesis of the second, G is added.

    Raises
    ------
    ProofError
        If a premise was never proved.

    Examples
    --------
    >>> from lngeom.symbolic import assume_zero, cut_words, letter, transpose
    >>> P = letter("P")
    >>> transposed = transpose(assume_zero(P @ P - P))
    >>> cut_words(transposed, assume_zero(P.T @ P.T - P.T))
    P·P − P = 0 |- Pᵀ·Pᵀ − Pᵀ = 0
    """
    (first, a, _), (second, b, _) = _said(lemma), _said(known)
    return _prove(first | (second - {a}), b, "cut", (), lemma, known)


def replace_letters(known: Identity, values: Mapping[Matrix, Matrix]) -> Identity:
    """An identity about arbitrary matrices holds for particular ones of the same sizes.

    Letters are replaced all at once, in hypotheses and conclusion, and their transposes by the transposes.

    Raises
    ------
    ProofError
        If what is to be replaced is no single letter, or by a matrix of another size.

    Examples
    --------
    >>> from lngeom.symbolic import assume_zero, letter, replace_letters, transpose
    >>> A, B, P = letter("A", "n", "m"), letter("B", "m", "n"), letter("P")
    >>> replace_letters(transpose(assume_zero(P @ P - P)), {P: A @ B})
    A·B·A·B − A·B = 0 |- Bᵀ·Aᵀ·Bᵀ·Aᵀ − Bᵀ·Aᵀ = 0
    """
    hypotheses, p, _ = _said(known)
    pairs = tuple(_proper(part) for pair in values.items() for part in pair)
    new = [substitute_letters(h, values) for h in hypotheses]
    return _prove(new, substitute_letters(p, values), "replace", pairs, known)


def substitute_letters(matrix: Matrix, values: Mapping[Matrix, Matrix]) -> Matrix:
    """`matrix` with letters replaced by matrices of the same size, and their transposes by the transposes."""
    images: dict[tuple, Matrix] = {}
    for old, new in values.items():
        words = list(_proper(old).words.items())
        single = len(words) == 1 and words[0][1] == 1 and len(words[0][0]) == 1
        _require(single and _proper(new).shape == old.shape, "a letter is replaced by a matrix of its size")
        images |= {words[0][0][0]: new, _turn(words[0][0][0]): new.T}
    result = Matrix(*_proper(matrix).shape, {})
    for word, coefficient in matrix.words.items():
        product = identity(matrix.shape[0]) * coefficient
        for one in word:
            product = product @ images.get(one, Matrix(one[1], one[2], {(one,): Fraction(1)}))
        result += product
    return result
