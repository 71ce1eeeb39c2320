"""What a diagnosis says: values, on which every decision is taken, and the one table of their English sentences."""

from dataclasses import dataclass


@dataclass(frozen=True, init=False)
class Statement:
    """A kind, a key of SENTENCES, and the values of its places; its text is made when it is printed.

    Sets of values are printed in alphabetical order with "and", tuples in their own order with commas.
    """

    kind: str
    values: tuple[object, ...]

    def __init__(self, kind: str, *values: object) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", values)

    def __str__(self) -> str:
        if self.kind == "several":
            return "; ".join(map(str, self.values))
        return SENTENCES[self.kind].format(*map(_printed, self.values))


class Way(Statement):
    """How rows are given to a norm: a group of rows, or a shape, memory or mode."""


class Cause(Statement):
    """Why outputs are not those of the definition."""

    @property
    def parts(self) -> tuple["Cause", ...]:
        """The causes that hold together."""
        return tuple(part for part in self.values if isinstance(part, Cause)) if self.kind == "several" else (self,)

    @property
    def kinds(self) -> set[str]:
        """The kinds of its parts."""
        return {part.kind for part in self.parts}


def together(*causes: Cause | None) -> Cause | None:
    """The causes as one; None if all are None."""
    parts = [part for cause in causes if cause is not None for part in cause.parts]
    return Cause("several", *parts) if len(parts) > 1 else parts[0] if parts else None


def _printed(value: object) -> object:
    if isinstance(value, frozenset):
        return " and ".join(sorted(map(str, value)))
    return (
        ", ".join(map(str, value))
        if isinstance(value, tuple)
        else str(value)
        if isinstance(value, Statement)
        else value
    )


# fmt: off
SENTENCES = {
    # Groups of rows, and ways to give them.
    "ordinary": "ordinary rows", "small": "rows of small variance", "large mean": "rows of large mean",
    "massive": "rows with a massive entry", "large": "rows of large values", "subnormal": "subnormal rows",
    "zero": "zero rows", "constant": "constant rows", "nearly constant": "nearly constant rows",
    "one entry": "rows with one entry", "ordered": "ordered rows", "odd gains": "gains with zeros and large entries",
    "training": "training mode", "other dtype": "gain and bias of {}", "no gain": "no gain given",
    "no bias": "no bias given", "vectors": "single vectors of shape (d,)", "single": "batches of one row",
    "zeros": "a batch of zeros", "tokens": "batches of shape (n, 1, d)", "three axes": "batches of shape (2, n, d)",
    "four axes": "batches of shape (2, 2, n, d)", "no rows": "no rows", "many": "batches of {} rows",
    "grid": "rows of a batch of {}", "every other component": "every other component of a wider array",
    "first components": "the first components of a wider array", "every other row": "every other row of an array",
    "last components": "the last components of a wider array", "last rows": "the last rows of an array",
    "one later": "memory that begins one element later", "transposed": "a transposed array",
    "three exchanged": "three axes, two exchanged", "heads": "the heads of a wider array",
    "four exchanged": "four axes, two exchanged", "cotangent transposed": "a transposed cotangent",
    "cotangent expanded": "one cotangent expanded to all components", "batch of one": "a batch of one row",
    "one sign": "{} terms of {} rows of one sign", "alone": "the derivative by {} alone",
}
# fmt: on
