"""A theorem: the body that states it, and what helps to prove it and to find its models."""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, overload

from .. import prover
from ..carriers import Carrier
from ..errors import InputError
from ..prover import ExhaustedError, Formula, ProofCertificate, ProofError, Proved, Table, recording
from ..sources import Uncached, read_from_source
from ._asserts import stated_again
from ._body import VECTORS, Models, kinds_of
from ._errors import BodyError, CheckError
from ._run import Condition, Failing, Listing, Wrong
from ._statement import Statement

Kind = Literal["theorem", "lemma", "definition"]

Body = Callable[..., object]
Build = Callable[..., Any]
"""A function of some of ``goal``, ``given`` and the parameters, chosen by the names of its own."""


@dataclass(frozen=True)
class Source:
    """Where a statement comes from, and what that place says, in our words."""

    work: str = ""
    place: str = ""
    says: str = ""

    def __str__(self) -> str:
        return ", ".join(filter(None, (self.work, self.place)))


@dataclass(eq=False, kw_only=True)
class Theorem:
    """A body with everything that is needed to check it; made by :func:`theorem`.

    Attributes:
        body: function. States the theorem on any carrier.
        source: Source
        lemmas, remainder: Theorems that the prover may use; for an inequality an equal term of evident sign.
        own_proof: Returns a proof of ``goal`` from ``given``.
        models, without: Where to look for examples, and for counterexamples without a hypothesis.
        kind: ``"theorem"``; ``"lemma"`` for school algebra; ``"definition"`` where the library's own is written out.
    """

    body: Body
    source: Source
    lemmas: Build | None = None
    remainder: Build | None = None
    own_proof: Build | None = None
    models: Models | None = None
    without: Mapping[str, Models] = field(default_factory=dict)
    kind: Kind = "theorem"

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise BodyError(f"kind is {self.kind!r}, not one of {', '.join(get_args(Kind))}")
        says = "".join(c if c.isprintable() or c.isspace() else "?" for c in self.body.__doc__ or self.name)
        parts = [" ".join(part.split()) for part in inspect.cleandoc(says).split("\n\n")]
        self.title = parts.pop(0).removesuffix(".")
        labels = ("Last step:", "Cites:", "Remark:")
        sections = {label: p.removeprefix(label).strip() for label in labels for p in parts if p.startswith(label)}
        self.statement = " ".join(part for part in parts if not part.startswith(labels))
        self.last_step, self.remark = sections.get("Last step:"), sections.get("Remark:")
        self.cites = tuple(cited.strip() for cited in sections.get("Cites:", "").split(";") if cited.strip())

    def __reduce__(self) -> tuple[Callable[..., Theorem], tuple[str, str, str]]:
        # Functions do not travel between processes; the place where they are defined does.
        return _found, (self.body.__module__, str(self.file), self.body.__name__)

    def __repr__(self) -> str:
        return f"<theorem {self.id}>"

    @functools.cached_property
    def kinds(self) -> dict[str, str]:
        """The kind of each parameter; what is none is an error of this theorem, and not of its file."""
        return kinds_of(self.body)

    @property
    def file(self) -> Path:
        """The file of the body."""
        return Path(inspect.getfile(self.body))

    @property
    def name(self) -> str:
        """The name of the function, without ``test_``."""
        return self.body.__name__.removeprefix("test_")

    @property
    def chapter(self) -> str:
        """The name of the file, the first part of the id; at a prompt the name of the module."""
        return self.file.stem if self.file.suffix == ".py" else self.body.__module__.rpartition(".")[2]

    @property
    def id(self) -> str:
        """``chapter.name``."""
        return f"{self.chapter}.{self.name}"

    def proof(self, function: Build) -> Build:
        """Decorator of the theorem's own proof."""
        self.own_proof = function
        return function

    # ---------------------------------------------------------------------------------------------- what it says

    def listed(self, atom: Callable[[str, bool], Carrier], labels: Iterable[str] = ()) -> Listing:
        """The hypotheses and assertions of the body, on the carriers that ``atom(name, is_vector)`` makes."""
        return self._run(Listing(labels), atom)

    def _run(self, listing: Listing, atom: Callable[[str, bool], Carrier]) -> Listing:
        if (again := stated_again(self.body.__code__)) is not None:
            raise BodyError(f"{self.body.__name__} is stated twice, in line {again} too: give each a name of its own")
        listing.execute(self.body, {name: atom(name, kind in VECTORS) for name, kind in self.kinds.items()})
        return listing

    @functools.cached_property
    def listing(self) -> Listing:
        """The hypotheses and assertions of the body, recorded."""
        return self.listed(recording(Table()))

    @property
    def hypotheses(self) -> dict[str, Condition]:
        """The hypotheses by their readable form."""
        return self.listing.hypotheses

    @property
    def implied(self) -> list[Formula]:
        """The hypotheses of the annotations, as ε > 0 (ε >= 0 where the body compares c·ε with 0) and e∘e = e."""
        names = [prover.scalar(name) for name, kind in self.kinds.items() if kind == "epsilon"]
        said = [tuple(condition.formula.term) for condition in self.hypotheses.values()]
        compared = {monomial for summands in said if len(summands) == 1 for monomial, _ in summands}
        signs = (">=" if next(iter(eps))[0] in compared else ">" for eps in names)
        return [*map(Formula, names, signs), *self.defining]

    @property
    def defining(self) -> list[Formula]:
        """The equations that the annotations Basis and Mask stand for."""
        masks = [prover.vector(name) for name, kind in self.kinds.items() if kind in ("basis", "mask")]
        basis = [prover.vector(name) for name, kind in self.kinds.items() if kind == "basis"]
        return [*(prover.equal(m * m, m) for m in masks), *(prover.equal(prover.S(e), 1) for e in basis)]

    @functools.cached_property
    def conditions(self) -> dict[str, Condition]:
        """What examples satisfy, the hypotheses and ε > 0 unless the short search proves the claim without it."""
        positive = [sign for sign in self.implied if sign.relation == ">"]
        if positive:
            with contextlib.suppress(ProofError, ValueError):
                used = {hypothesis for proof in self.prove(searched=False) for hypothesis in proof.hypotheses}
                positive = [sign for sign in positive if sign in used]
        implied = [Condition(prover.formula(sign), sign, sign.term, ">", 0) for sign in positive]
        implied += [Condition(prover.formula(same), same, same.term, "==", 0) for same in self.defining]
        return self.hypotheses | {condition.label: condition for condition in implied}

    @property
    def goals(self) -> list[Formula]:
        """The claims of the body's assertions, in order."""
        return [claim.formula for claim in self.listing.claims]

    @functools.cached_property
    def wrongs(self) -> dict[str, Wrong]:
        """The wrong variants by their labels."""
        return self.listing.wrongs()

    # ------------------------------------------------------------------------------------------------- its proof

    def prove(self, *, searched: bool = True) -> list[Proved]:
        """The proof of each assert, from exactly the hypotheses; unless `searched`, by the short search.

        Raises:
            ProofError: If one is not proved.
            CheckError: If the proofs use other hypotheses than the declared ones.
        """
        conditions, proved = list(self.hypotheses.values()), list[Proved]()
        for k, claim in enumerate(self.listing.claims):
            given = [prover.assume(condition.formula) for condition in conditions]  # own steps in each certificate
            last = k == len(self.goals) - 1
            try:
                proved.append(self._proved(claim.formula, given, proved, last=last, searched=searched))
            except (ProofError, ExhaustedError) as error:
                self._run(Failing(k, error), recording(Table()))
                raise
        used = {hypothesis for proof in proved for hypothesis in proof.hypotheses}
        declared = {condition.formula for condition in conditions}
        if extra := used - declared - set(self.implied):
            raise CheckError(f"{self.id} has undeclared hypotheses: {'; '.join(map(prover.formula, extra))}")
        for (
            condition
        ) in conditions:  # a hypothesis may be added to any theorem; another check asks whether it is needed
            if condition.formula not in used:
                proved[-1] = prover.cut(prover.assume(condition.formula), proved[-1])
        return proved

    def certificates(self, *, searched: bool = True) -> list[ProofCertificate]:
        """The proof of each assert, which the checker accepts; the last has the id of the theorem, others a number.

        Raises:
            ProofError, CheckError: As :meth:`prove`, and if the checker refuses a proof.
            BodyError: If the id is no name of a certificate.
        """
        if not re.fullmatch(r"[\w.]+", self.id, re.ASCII):
            raise BodyError(f"{self.id} names a certificate: call file and function by ASCII letters, digits and _")
        proved = self.prove(searched=searched)
        ids = [*(f"{self.id}_{k}" for k in range(1, len(proved))), self.id]
        made = []
        for id, claim, proof in zip(ids, self.listing.claims, proved, strict=True):
            # The parameters stand first in the table, then what hypotheses and claim are made of, in the order of
            # reading. What a body names, or computes for its wrong variants, changes nothing.
            table = Table()
            for name, kind in self.kinds.items():
                table.place("v" if kind in VECTORS else "s", name)
            used = (condition for condition in self.hypotheses.values() if condition.formula in proof.hypotheses)
            declared = {condition.formula for condition in self.hypotheses.values()}
            implied = [formula for formula in self.implied if formula in proof.hypotheses - declared]
            statement = [*(_recorded(condition.statement) for condition in used), *implied], _recorded(claim.statement)
            words = {"title": self.title, "statement": self.statement, "last_step": self.last_step or ""}
            made.append(prover.certificate(id, proof, statement, table, words))
        return made

    def prove_wrong(self, variant: Wrong) -> list[Proved]:
        """The same proof tried on a wrong variant, which must raise ProofError."""
        given = [prover.assume(condition.formula) for condition in variant.hypotheses.values()]
        proved: list[Proved] = []
        for k, goal in enumerate(variant.goals):
            proved.append(self._proved(goal, given, proved, last=k == len(variant.goals) - 1, searched=False))
        return proved

    def _proved(
        self, goal: Formula, given: list[Proved], earlier: list[Proved], *, last: bool, searched: bool = True
    ) -> Proved:
        """One assert; a remainder and a proof of one's own are for the last one."""
        names = {n: (prover.vector if kind in VECTORS else prover.scalar)(n) for n, kind in self.kinds.items()}
        names |= {"goal": goal, "given": given}
        if last and self.own_proof is not None:
            proof = _call(self.own_proof, names)
        else:
            lemmas = _call(self.lemmas, names) if self.lemmas else ()
            remainder = _call(self.remainder, names) if last and self.remainder else None
            try:
                defining = map(prover.assume, self.defining)
                proof = prover.prove(goal, *given, *earlier, *defining, *lemmas, remainder=remainder)
            except ProofError as error:
                if not searched:
                    raise
                own = [*given, *(fact for fact in lemmas if isinstance(fact, Proved))]
                proof = self._searched(goal, own, earlier, error)
        if not isinstance(proof, Proved):
            raise BodyError(f"the proof returns {proof}, which no rule of lngeom.prover has proved")
        if proof.conclusion != goal:
            raise ProofError(f"proved is {prover.formula(proof.conclusion)}, which is not the goal")
        return proof

    def _searched(self, goal: Formula, facts: list[Proved], earlier: list[Proved], error: ProofError) -> Proved:
        """One assert by the earlier ones and by itself, from the sign of ε too, for that is what ε means.

        For an equation the earlier ones are tried first, to rewrite by; they make the search for signs longer.
        """
        tries = [earlier, []] if goal.relation == "=" else [[], earlier]
        for more in tries if earlier else [[]]:
            with contextlib.suppress(ProofError):
                return prover.search(goal, *facts, *more, *map(prover.assume, self.implied))
        raise error


def _recorded(statement: Statement) -> Formula:
    return Formula(statement.difference(), statement.sign)


def _call(build: Build, values: Mapping[str, object]) -> Any:
    """`build`, called with the values that its parameters name."""
    return build(**{name: values[name] for name in inspect.signature(build).parameters})


# --------------------------------------------------------------------------------------------------- making and finding


@overload
def theorem(body: Body, /) -> Theorem: ...
@overload
def theorem(work: str = ..., place: str = ..., says: str = ..., /, **options: Any) -> Callable[[Body], Theorem]: ...
def theorem(
    work: str | Body = "", place: str = "", says: str = "", /, **options: Any
) -> Theorem | Callable[[Body], Theorem]:
    """Decorator that makes a theorem of a function; bare, or with work, place and what the place says.

    Args:
        work, place, says (str): The source.
        lemmas, remainder (function): Help for the prover, on its terms.
        models, without, kind: See :class:`Theorem`.

    Raises:
        BodyError: Where Python drops asserts (``python -O``).
    """
    if not __debug__:
        raise BodyError("python -O drops asserts: a theorem would state nothing")
    if callable(work):
        return Theorem(body=work, source=Source())
    proof = options.pop("proof", None)
    return lambda body: Theorem(body=body, source=Source(work, place, says), own_proof=proof, **options)


def theorems_of(module: ModuleType | Path) -> list[Theorem]:
    """The theorems of a module, or of a Python file, in the order in which they are written."""
    if isinstance(module, Path):
        module = _loaded(module)
    stated = [t for t in vars(module).values() if isinstance(t, Theorem) and t.body.__module__ == module.__name__]
    return sorted(dict.fromkeys(stated), key=lambda theorem: theorem.body.__code__.co_firstlineno)


def _loaded(file: Path) -> ModuleType:
    """The module of a file, which finds the modules beside it."""
    file = file.resolve()
    known = sys.modules.get(file.stem)
    taken = known is not None and getattr(known, "__file__", None) != str(file)
    name = str(file) if taken or file.stem in sys.stdlib_module_names else file.stem
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file, loader=Uncached(name, str(file)))
    if spec is None or spec.loader is None or file.suffix != ".py":
        raise InputError(f"{file} is not a Python file")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder := read_from_source(file.parent))
    functions = list(_functions())
    try:
        spec.loader.exec_module(module)
        replaced = [each for each in functions if vars(each[0]).get(each[1]) is not each[2]]
        for owner, key, function in replaced:
            setattr(owner, key, function)
        if replaced:
            owner, key, _ = replaced[0]
            raise InputError(f"{file} replaces {owner.__name__}.{key}: its statements would be about something else")
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(folder)
    return module


def _functions() -> Iterator[tuple[Any, str, object]]:
    """The functions of lngeom and of the libraries that bodies call, and the methods of lngeom, each with its place."""
    package = importlib.import_module(__name__.partition(".")[0])
    for name in {*dir(package)} - {"check", "plot"}:  # no statement is about these
        getattr(package, name)  # loads it: what is loaded later is not seen to be replaced
    for name, module in list(sys.modules.items()):
        own = name.partition(".")[0] == "lngeom"
        if own or name in ("numpy", "numpy.linalg", "torch", "torch.nn.functional"):
            classes = [value for value in vars(module).values() if own and isinstance(value, type)]
            for place in (module, *(each for each in classes if each.__module__ == name)):
                yield from ((place, key, value) for key, value in vars(place).items() if callable(value))


def _found(module: str, file: str, name: str) -> Theorem:
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return getattr(_loaded(Path(file)), name)
