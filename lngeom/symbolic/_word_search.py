"""Search for the cofactors of a matrix identity; nothing here needs trust, the rules check what it finds."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from fractions import Fraction

from ._kernel import ProofError
from ._words import Identity, Matrix, assume_zero, combine_words, identity, text, transpose


class _Rule:
    """A proved equation, read as: replace its largest word by the rest."""

    def __init__(self, known: Identity) -> None:
        self.known = known
        words = known.conclusion.words
        self.word = max(words, key=_weight)
        self.scale = 1 / words[self.word]


def _weight(word: tuple) -> tuple:
    """Longer words are larger; at equal length transposed letters are, so that rewriting removes them."""
    return len(word), sum(letter[3] for letter in word), word


def _find(word: tuple, part: tuple) -> int:
    return next((i for i in range(len(word) - len(part) + 1) if word[i : i + len(part)] == part), -1)


def _ends(word: tuple, rows: str, columns: str) -> tuple[str, str]:
    return (word[0][1], word[-1][2]) if word else (rows, columns)


def _monomial(word: tuple, rows: str, columns: str, factor: Fraction) -> Matrix:
    return Matrix(*_ends(word, rows, columns), {word: factor})


def _reduce(
    goal: Matrix, rules: list[_Rule], steps: int
) -> tuple[Matrix, list[tuple[Matrix, Identity, Matrix]]]:
    """What is left of `goal`, and the combination that was subtracted."""
    parts, done = [], 0
    rest = goal
    while True:
        for word in sorted(rest.words, key=_weight, reverse=True):
            found = next(((rule, at) for rule in rules if (at := _find(word, rule.word)) >= 0), None)
            if found:
                break
        else:
            return rest, parts
        rule, at = found
        before, after = word[:at], word[at + len(rule.word) :]
        rows, columns = rule.known.conclusion.shape
        left = _monomial(before, rows, rows, rest.words[word] * rule.scale)
        right = _monomial(after, columns, columns, Fraction(1))
        parts.append((left, rule.known, right))
        rest -= left @ rule.known.conclusion @ right
        done += 1
        if done > steps:
            msg = f"no end after {steps} rewriting steps; left is {text(rest)}"
            raise ProofError(msg)


def _overlaps(first: _Rule, second: _Rule) -> Iterable[Identity]:
    """Consequences of rewriting one word in two ways, where the end of one is the beginning of the other."""
    for k in range(1, min(len(first.word), len(second.word)) + (first is not second)):
        if first.word[-k:] != second.word[:k]:
            continue
        a, b = first.known.conclusion, second.known.conclusion
        tail, head = second.word[k:], first.word[:-k]
        right = _monomial(tail, a.shape[1], a.shape[1], first.scale)
        left = _monomial(head, b.shape[0], b.shape[0], -second.scale)
        ones = (
            _monomial((), a.shape[0], a.shape[0], Fraction(1)),
            _monomial((), b.shape[1], b.shape[1], Fraction(1)),
        )
        goal = a @ right + left @ b
        yield combine_words(goal, [(ones[0], first.known, right), (left, second.known, ones[1])])


def prove_zero(
    goal: Matrix, using: Iterable[Matrix | Identity] = (), *, rounds: int = 3, steps: int = 2000
) -> Identity:
    """Proof of ``goal = 0`` from equations that hold: matrices assumed to vanish, or proved identities.

    Every equation and its transpose becomes a rewriting rule; where that does not reach 0, overlaps of the rules
    give new ones.

    Parameters
    ----------
    goal : Matrix
    using : iterable of Matrix or Identity
        What is assumed to vanish, and what is proved to.
    rounds : int
        How often overlaps are formed.
    steps : int
        How many words are rewritten at most in one reduction.

    Returns
    -------
    Identity
        Its conclusion is `goal`, its hypotheses are among the matrices of `using` and the hypotheses of its identities.

    Raises
    ------
    ProofError
        If something other than 0 is left. That is no disproof.

    References
    ----------
    Raab, Regensburger and Hossein Poor, arXiv:1910.06165.

    Examples
    --------
    >>> from lngeom.symbolic import letter, prove_zero
    >>> P = letter("P")
    >>> prove_zero(P @ P @ P - P, [P @ P - P])
    P·P − P = 0 |- P·P·P − P = 0
    """
    known = [assume_zero(e) if isinstance(e, Matrix) else e for e in using]
    rules: list[_Rule] = []

    def learn(candidates: Iterable[Identity]) -> bool:
        new, waiting = False, deque(candidates)
        while waiting:
            candidate = waiting.popleft()
            rest, parts = _reduce(candidate.conclusion, rules, steps)
            if not rest:
                continue
            rows, columns = candidate.conclusion.shape
            negative = [(-a, e, b) for a, e, b in parts]
            rule = _Rule(combine_words(rest, [(identity(rows), candidate, identity(columns)), *negative]))
            # A rule whose word the new one rewrites would never apply again: it is learnt anew.
            stale = [old for old in rules if _find(old.word, rule.word) >= 0]
            waiting.extend(old.known for old in stale)
            rules[:] = sorted(
                [rule, *(old for old in rules if old not in stale)], key=lambda r: _weight(r.word)
            )
            new = True
        return new

    learn(e for one in known for e in (one, transpose(one)))
    rest, parts = _reduce(goal, rules, steps)
    for _ in range(rounds):
        pairs = [(r, s) for r in rules for s in rules]
        if not rest or not learn(e for r, s in pairs for e in _overlaps(r, s)):
            break
        rest, parts = _reduce(goal, rules, steps)
    if not rest:
        return combine_words(goal, parts)
    msg = f"not proved: {text(goal)} = 0; rewriting leaves {text(rest)}"
    raise ProofError(msg)
