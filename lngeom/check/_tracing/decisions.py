"""The questions that a run asks, and their answers, which select its path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from lngeom.carriers import Carrier

from .grounds import Ground

GRADIENTS, ROWS = "gradients", "rows"
_PATHS = 8
_NEGATED = {"=": "!=", "!=": "=", ">": "<=", ">=": "<"}
AUTOCAST = "in autocast"
PRETENDED = {"compiled": "torch.compiler.is_compiling", "traced": "torch.jit.is_tracing"}
PRETENDED |= {"exported": "torch.onnx.is_in_onnx_export"}
"""Modes of PyTorch that trials know too: those that they pretend, with what a program asks."""


@dataclass(frozen=True, order=True)
class Circumstance:
    """A condition other than a size, such as training; `of` says if it is one of gradients or of the number of rows."""

    text: str
    of: str = ""


Branch = tuple[Any, str, bool]
"""An open question, a value and its relation to 0 or a circumstance, and the answer."""


@dataclass
class Decisions:
    """The questions of one run."""

    ground: Ground
    refuse: Callable[[str], NoReturn]
    planned: Sequence[bool]
    backward: bool
    replayed: "Decisions | None"
    asked: list[bool | None] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)

    def decide(self, value: Carrier, relation: str) -> bool:
        """Whether a value that no row determines stands in a relation to 0."""
        known = self.ground.sign(value, relation)
        if self.replayed is None:  # the first run chooses its path
            return self._noted(self._branched(value, relation) if known is None else known)
        answer = bool(self._answered(self.replayed))
        if known not in (None, answer):  # numbers of this dimension decide what terms left open
            self.refuse("this dimension takes another branch")
        return self._noted(answer)

    def circumstance(self, text: str, of: str = "") -> bool:
        """Whether the program runs in training, with gradients and the like; both answers are followed."""
        case = Circumstance(text, of)
        known = self.cases.get(case) if self.replayed is None else bool(self._answered(self.replayed))
        return self._noted(self._branched(case, "") if known is None else known)

    def always(self, value: Carrier, relation: str, *squares: Carrier) -> bool | None:
        """Whether a value stands in a relation to 0 in every row, None if that is not known."""
        first = self.replayed
        answer = self.ground.sign(value, relation, *squares) if first is None else self._answered(first)
        self.asked.append(answer)
        return answer

    cases = property(lambda self: {case: answer for case, _, answer in self.branches if isinstance(case, Circumstance)})
    circumstances = property(lambda self: tuple(case for case, answer in self.cases.items() if answer))
    sizes = property(lambda self: [branch for branch in self.branches if not isinstance(branch[0], Circumstance)])

    def _noted(self, answer: bool) -> bool:
        self.asked.append(answer)
        return answer

    def _answered(self, replayed: "Decisions") -> bool | None:
        """The answer to the same question on the run that this one repeats."""
        if len(self.asked) >= len(replayed.asked):  # the carriers give a program different answers
            self.refuse("it asks more than it did")
        return replayed.asked[len(self.asked)]

    def _is_settled(self, value: Any) -> bool:
        """Whether only yes is followed: gradients are recorded wherever derivatives are asked for."""
        return self.backward and isinstance(value, Circumstance) and value.of == GRADIENTS

    def _branched(self, value: Any, relation: str) -> bool:
        place = len(self.branches)
        if place >= _PATHS:
            self.refuse("more branches than can be followed")
        usual = not isinstance(value, Circumstance) or self._is_settled(value)  # first the plain case: no training
        answer = self.planned[place] if place < len(self.planned) else usual
        self.branches.append((value, relation, answer))
        if not isinstance(value, Circumstance):
            self.ground.assume(value, relation if answer else _NEGATED[relation])
        return answer

    @property
    def untried(self) -> list[list[bool]]:
        """The paths that leave this one at a branch which was not planned."""
        taken = [answer for *_, answer in self.branches]
        open = (k for k in range(len(self.planned), len(taken)) if not self._is_settled(self.branches[k][0]))
        return [[*taken[:k], not taken[k]] for k in open]
