"""Second opinion on matrix identities: every certificate is expanded again by SymPy's noncommutative symbols."""

from __future__ import annotations

import sympy

from lngeom.symbolic import Identity, Matrix


def _symbol(letter: tuple) -> sympy.Symbol:
    name, rows, columns, transposed = letter
    sizes = (columns, rows) if transposed else (rows, columns)
    return sympy.Symbol(f"{name}[{sizes[0]}x{sizes[1]}]{'^T' if transposed else ''}", commutative=False)


def _expression(matrix: Matrix) -> sympy.Expr:
    words = (
        sympy.Rational(c.numerator, c.denominator) * sympy.Mul(*map(_symbol, word))
        for word, c in matrix.words.items()
    )
    return sympy.Add(*words)


def _transposed(matrix: Matrix) -> sympy.Expr:
    """Transpose, from the letters alone: each product reversed and each letter turned."""
    turned = (
        sympy.Rational(c.numerator, c.denominator)
        * sympy.Mul(*(_symbol((name, columns, rows, not t)) for name, rows, columns, t in reversed(word)))
        for word, c in matrix.words.items()
    )
    return sympy.Add(*turned)


def recheck_words(theorem: Identity) -> int:
    """Number of steps of the proof of `theorem` that were checked again.

    Raises
    ------
    ValueError
        If a step does not follow, or assumes what the theorem does not show.
    """
    steps: dict[Identity, frozenset[Matrix]] = {}
    stack = [theorem]
    while stack:
        known = stack[-1]
        rule, terms, used = known.certificate
        missing = [lemma for lemma in used if lemma not in steps]
        if missing:
            stack += missing
            continue
        stack.pop()
        if known not in steps:
            steps[known] = _step(known, rule, terms, used, steps)
    return len(steps)


def _step(
    known: Identity,
    rule: str,
    terms: tuple,
    used: tuple[Identity, ...],
    steps: dict[Identity, frozenset[Matrix]],
) -> frozenset[Matrix]:
    goal, assumed = known.conclusion, frozenset[Matrix]().union(*(steps[lemma] for lemma in used))
    if rule == "assume":
        assumed, holds = known.hypotheses, known.hypotheses == frozenset([goal])
    elif rule == "combine":
        pairs = zip(terms[::2], used, terms[1::2], strict=True)
        combination = (_expression(a) * _expression(e.conclusion) * _expression(b) for a, e, b in pairs)
        holds = sympy.expand(_expression(goal) - sympy.Add(*combination)) == 0
    elif rule == "transpose":
        holds = sympy.expand(_expression(goal) - _transposed(used[0].conclusion)) == 0
    elif rule == "cut":
        lemma, main = used
        assumed = steps[lemma] | (steps[main] - {lemma.conclusion})
        holds = _expression(goal) == _expression(main.conclusion)
    elif rule == "replace":
        values = {}
        for old, new in zip(terms[::2], terms[1::2], strict=True):
            values |= {_expression(old): _expression(new), _transposed(old): _transposed(new)}

        def image(matrix: Matrix) -> sympy.Expr:
            return sympy.expand(_expression(matrix).subs(values, simultaneous=True))

        holds = image(used[0].conclusion) == sympy.expand(_expression(goal))
        images = {image(h) for h in steps[used[0]]}
        holds = holds and images == {sympy.expand(_expression(h)) for h in known.hypotheses}
        assumed = known.hypotheses
    else:
        holds = False
    if not holds or assumed != known.hypotheses:
        msg = f"step {rule!r} does not yield {known!r}"
        raise ValueError(msg)
    return assumed
