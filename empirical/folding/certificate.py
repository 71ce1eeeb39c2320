"""The certificate of a fold or a gauge: each changed map proved, the outputs compared, both networks' hashes."""

import contextlib
import copy
import io
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import lngeom
from lngeom.errors import LngeomError, RunError
from lngeom.files import Json, lock_beside, read_sealed, sha256_of, write_folder, write_sealed

from ..models import (
    LackingError,
    ModelSource,
    find_model,
    load_network,
    load_tokenizer,
    stored_otherwise,
    weights_sha256,
)
from ..support import ModelError
from .gauge import angles_of, find_shifts, rotate, shift_by
from .inputs import GIVEN, give_inputs
from .network import Fold, Map, agreement, fold, matrix, own, rms_form
from .twin import layernorm_twin

_CERTIFICATE, _WORST, _ROTATION = "certificate.json", "worst.npz", "the rotation of a gauge"
_FORMAT = 6
"""Since 3 the certificate carries its own hash, since 4 outputs are held to each other in float64 alone, since 5 gains
and biases that moved have maps, since 6 it has the hashes of all files."""
_ADDED = ("README", "LICENSE", "NOTICE")
"""How names begin of files that a user may add, as those of hidden folders: no class of transformers reads them."""
_ABOUT = ("_name_or_path", "transformers_version", "architectures", "dtype", "quantization_config")
"""Entries of a configuration that say how its file came to be; classes and numbers are compared themselves."""
NOT_CHECKED = ("lngeom", "model", "location", "revision", "compared", "angles", "fitted_angles")
"""Members whose values cannot be derived again: the version, places, and what was measured on the whole text."""
_READ: dict[str, tuple[type, ...]] = {
    "location": (str,), "revision": (str, type(None)), "norms": (dict,), "moved": (list,), "entries": (list,),
    "maps": (list,), "files": (dict,),
}  # fmt: skip
_READ_OF_MAP: dict[str, tuple[type, ...]] = {"parameter": (str,), "change": (str,), "amount": (float, int)}
"""Members that are read before they are held against a new derivation, and their types."""
_CODE = frozenset((".py", ".pyc", ".so", ".sh", ".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"))
"""How names of files end that may run code when they are loaded."""
Inputs = Mapping[str, Tensor]


def _certify_gauge(entry: Map, old: Tensor, new: Tensor, rotation: np.ndarray | None) -> lngeom.folding.FoldCertificate:
    wide, unit = matrix(old, entry.axis).double(), torch.finfo(torch.float64).eps / 2
    if entry.change == "uniform":
        exact = wide + entry.amount
        return lngeom.folding.certify_rounding(matrix(new, entry.axis), exact, unit * exact.abs())
    q = torch.from_numpy(rotation) * (entry.amount if entry.change == "lifted" else 1)
    error = (len(q) + 3) * unit * (q.abs() @ wide.abs())
    return lngeom.folding.certify_rounding(matrix(new, entry.axis), q @ wide, error)


def certify_maps(original: nn.Module, folded: Fold, network: nn.Module | None = None) -> list[Json]:
    """Every changed parameter with its certificate, and proof that no other differs by a bit.

    `network` is held to what `folded` says must change; by default its own checkpoint.
    """
    proofs: list[Json] = []
    if folded.onto is not None:
        proofs, original = certify_maps(original, folded.onto), folded.onto.checkpoint
    network = network or folded.checkpoint
    of_weight = dict[str, lngeom.folding.FoldCertificate]()
    for entry in folded.maps:
        old, new = own(original, entry.parameter), own(network, entry.parameter)
        if entry.change == "shifted":  # proved with its weight, which comes before it
            proof = of_weight[entry.weight]
        elif entry.change == "neutral":
            proof = lngeom.folding.FoldCertificate(0.0 if bool((new == entry.amount).all()) else math.inf)
        elif entry.change in ("uniform", "turned", "lifted"):
            proof = _certify_gauge(entry, old, new, folded.rotation)
        elif entry.change == "centered" and entry.weight:
            wide = matrix(old, entry.axis).double() * own(original, entry.weight).detach().double()[:, None]
            exact, size = wide - wide.mean(0), wide.abs() + wide.abs().mean(0)
            error = (len(wide) + 3) * torch.finfo(torch.float64).eps * size
            proof = lngeom.folding.certify_rounding(matrix(new, entry.axis), exact, error)
        elif entry.change == "centered":
            proof = lngeom.folding.certify_centering(matrix(old, entry.axis), None, matrix(new, entry.axis), None)
        else:
            norm = original.get_submodule(entry.norm)
            gain, shift = getattr(norm, "weight", None), getattr(norm, "bias", None)
            bias = next((m.parameter for m in folded.maps if m.weight == entry.parameter), None)
            pair = (None, None) if bias is None else (own(original, bias), own(network, bias))
            proof = lngeom.folding.certify_fold(
                old, pair[0], new, pair[1],
                gain=None if gain is None else gain + entry.offset,
                norm_bias=None if bias is None else shift, layout=entry.layout,
            )  # fmt: skip
            of_weight[entry.parameter] = proof
        proofs.append({**asdict(entry), "exact": proof.exact, **asdict(proof)})
    before, planned, after = original.state_dict(), folded.checkpoint.state_dict(), network.state_dict()
    changed = {planned[m.parameter].data_ptr(): m.parameter for m in folded.maps if m.parameter in after}
    neutral = {m.parameter for m in folded.onto.maps if m.change == "neutral"} if folded.onto else set[str]()
    gone = neutral - planned.keys() - after.keys()  # gains of 1: another class has no parameter for them
    for name in {*before, *after} - {entry.parameter for entry in folded.maps} - gone:
        # A tied alias that no call uses goes with the parameter that it names.
        alias = changed.get(planned[name].data_ptr())
        # The network before a rotation is in float64.
        same = after[alias] if alias else before[name].to(planned[name].dtype)
        if not torch.equal(same.double(), after[name].double()):
            proofs.append({"parameter": name, "change": "unchanged", "exact": False})
    return proofs


def _difference(a: Tensor, b: Tensor) -> float:
    return float(torch.nan_to_num((a.double() - b.double()).abs(), nan=torch.inf).max())


def _logits(outputs: Mapping[str, Tensor]) -> Tensor:
    """The logits of a network with a head, the last hidden state of one without, or the first of other outputs."""
    real = [name for name, t in outputs.items() if isinstance(t, Tensor) and t.is_floating_point()]
    return outputs[next((name for name in ("logits", "last_hidden_state") if name in outputs), real[0])]


def once_rounded(network: nn.Module) -> nn.Module:
    """A copy with every weight moved by half its spacing, up or down (seed 0), and rounded to its format again."""
    moved, random = copy.deepcopy(network), torch.Generator().manual_seed(0)
    for parameter in moved.parameters():
        if parameter.is_floating_point():
            wide, eps = parameter.detach().double(), torch.finfo(parameter.dtype).eps
            half = torch.ldexp(torch.full_like(wide, eps), torch.frexp(wide).exponent - 2) * (wide != 0)
            up = torch.randint(0, 2, wide.shape, generator=random).to(wide.device)
            parameter.data = (wide + (2 * up - 1) * half).to(parameter.dtype)
    return moved


def _in_float64(network: nn.Module, inputs: Inputs) -> Tensor:
    wide = {name: t.double() if t.is_floating_point() else t for name, t in inputs.items()}
    with torch.inference_mode():
        return _logits(copy.deepcopy(network).double()(**wide))


def compare(original: nn.Module, folded: Fold, batches: Iterable[Inputs]) -> tuple[Json, Inputs]:
    """The outputs of both networks: the largest difference, KL divergence, top-1 agreement.

    Returns them, and the inputs at which the difference is largest. There the networks also run in float64, where the
    rounding of the stored parameters is nearly all that is left. The control of top-1 is the original rounded again.
    """
    dtype, control = next(original.parameters()).dtype, once_rounded(original)
    worst, where = -1.0, {}
    stock, kl, same, of_control, count, size = 0.0, 0.0, 0, 0, 0, 0.0
    for inputs in batches:
        with torch.inference_mode():
            before, after = (_logits(network(**inputs)) for network in (original, folded.model))
            checkpoint = after if folded.checkpoint is folded.model else _logits(folded.checkpoint(**inputs))
            guessed = _logits(control(**inputs)).argmax(-1)
        gap = _difference(before, after)
        stock, size = max(stock, _difference(before, checkpoint)), max(size, float(before.abs().max()))
        if gap > worst:
            worst, where = gap, inputs
        p, q = before.double().log_softmax(-1), after.double().log_softmax(-1)
        kl += float((p.exp() * (p - q)).sum())
        same += int((p.argmax(-1) == q.argmax(-1)).sum())
        of_control += int((p.argmax(-1) == guessed).sum())
        count += p[..., 0].numel()
    return {
        "outputs": count, "dtype": str(dtype).removeprefix("torch."),
        "largest_output": size, "largest_difference": worst,
        "difference_in_float64": _difference(*(_in_float64(each, where) for each in (original, folded.model))),
        "limit_in_float64": agreement(dtype) * size,
        "largest_difference_of_checkpoint": stock, "kl": kl / count, "top1": same / count,
        "top1_of_control": of_control / count,
    }, where  # fmt: skip


def ruin(compared: Json, *, guesses: bool = True) -> list[str]:
    """Why outputs are too far apart: more than storing explains, or twice the top-1 tokens that rounding moves."""
    gap, limit = compared["difference_in_float64"], compared["limit_in_float64"]
    if gap > limit or not math.isfinite(compared["largest_difference"]):
        return [
            f"an output differs by {compared['largest_difference']:.3g}, and in float64 by {gap:.3g}, "
            f"more than the {limit:.3g} that storing rounded parameters explains"
        ]
    changed, control = ((1 - compared[name]) * compared["outputs"] for name in ("top1", "top1_of_control"))
    if not guesses or changed < 2 * control + 1.5:  # whole numbers, but for the rounding of shares
        return []
    return [
        f"top-1 stays at {100 * compared['top1']:.2f} % of {compared['outputs']} outputs in {compared['dtype']}, "
        f"at {100 * compared['top1_of_control']:.2f} % if its weights are rounded once more"
    ]


def describe_comparison(compared: Json) -> list[str]:
    """The result of :func:`compare`, in lines."""
    names = "largest_difference", "difference_in_float64", "limit_in_float64", "largest_output", "kl"
    gap, exact, limit, size, kl = (f"{compared[name]:.3g}" for name in names)
    top1 = f"same top-1 token at {100 * compared['top1']:.2f} %"
    return [
        f"compared at {compared['outputs']} positions ({compared['inputs']}): {top1}, KL divergence {kl} nats",
        f"largest output difference: {gap} in {compared['dtype']} (largest output {size})",
        f"in float64, on the inputs with this difference: {exact} (at most {limit} is allowed)",
    ]


def failures(certificate: Json) -> list[str]:
    """The claims about weights that a certificate fails to show, one line each."""
    shown = certificate["norms"] or certificate["moved"] or _amounts(certificate)
    faults = [] if shown else ["no norm is recorded as folded"]
    faults += [
        f"{entry['parameter']} is not the {entry['change']} map, rounded once"
        for entry in certificate["maps"]
        if not entry["exact"]
    ]
    return faults


def _plain(network: Any) -> Any:
    """The network without the mark of a GGUF file, whose weights are plain numbers once they are loaded."""
    if getattr(network, "hf_quantizer", None) is not None and "gguf" in str(network.hf_quantizer.quantization_config):
        network.hf_quantizer, network.is_quantized = None, False
        del network.config.quantization_config
    return network


def refuse_existing(directory: Path) -> None:
    """Refuse to write over what is there, which a link is wherever it leads."""
    if directory.is_symlink() or directory.exists():
        what = "is a link" if directory.is_symlink() else "exists already"
        raise ModelError(f"{directory}: {what}; choose another --output")


def write_fold(
    directory: Path,
    original: nn.Module,
    folded: Fold,
    source: ModelSource,
    batches: Iterable[Inputs],
    inputs: str,
    **more: object,
) -> Json:
    """Write the checkpoint and its certificate, to which `more` is added; returns the certificate.

    Raises:
        ModelError: If the directory exists, or the fold is wrong; then nothing is written.
    """
    refuse_existing(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    with lock_beside(directory):
        refuse_existing(directory)
        compared, worst = compare(original, folded, batches)
        certificate = {
            "format": _FORMAT, "lngeom": lngeom.__version__, "model": source.name,
            "location": str(Path(source.location).resolve() / (source.gguf_file or "")) if source.is_local
            else source.location, "revision": source.revision,
            "class": type(original).__name__, "norms": folded.norms, "moved": folded.moved, "kept": folded.kept,
            "entries": folded.entries, "untied": folded.untied,
            "unused_weights": list(getattr(original, "unused_weights", ())), "maps": certify_maps(original, folded),
            "compared": {"inputs": inputs, **compared}, **more,
            "weights_sha256": {"original": weights_sha256(original), "folded": weights_sha256(folded.checkpoint)},
        }  # fmt: skip
        if wrong := failures(certificate) + ruin(compared):
            raise ModelError(f"the {type(original).__name__} is not the original, nothing is written: {wrong[0]}")
        write_folder(directory, lambda draft: _fill(draft, folded, source, certificate, worst))
    return certificate


def _fill(draft: Path, folded: Fold, source: ModelSource, certificate: Json, worst: Inputs) -> None:
    """Write checkpoint, certificate and tokenizer into a directory."""
    with contextlib.redirect_stderr(io.StringIO()):  # a progress bar
        _plain(folded.checkpoint).save_pretrained(draft)
    arrays: dict[str, Any] = {name: t.cpu().numpy() for name, t in worst.items()}
    if folded.rotation is not None:
        arrays[_ROTATION] = folded.rotation
    np.savez_compressed(draft / _WORST, **arrays)
    with contextlib.suppress(ModelError):  # a network for token ids alone has none
        load_tokenizer(source).save_pretrained(draft)
    write_sealed(draft / _CERTIFICATE, {**certificate, "files": _hashes(draft)})


def _hashes(directory: Path) -> dict[str, str]:
    """SHA-256 of each file that is the fold's."""
    files = {path.relative_to(directory).as_posix(): path for path in sorted(directory.rglob("*")) if path.is_file()}
    own = {n: path for n, path in files.items() if not path.name.startswith(_ADDED) and "/." not in f"/{n}"}
    return {n: sha256_of(path) for n, path in own.items() if n != _CERTIFICATE}


def _other_files(files: Mapping[str, str], seen: Mapping[str, str]) -> list[str]:
    how = {name: "was added" if name not in files else "is missing" if name not in seen else "was changed"
           for name in sorted({*files, *seen}) if files.get(name) != seen.get(name)}  # fmt: skip
    code = [f"{name} may run code, and no fold writes such files" for name in seen if Path(name).suffix in _CODE]
    return [f"{name} {what} since the fold was written" for name, what in how.items()] + code


def _lacking(record: Json) -> list[str]:
    """The members that are not there, or of another type."""
    places = [("", record, _READ)]
    maps = record["maps"] if isinstance(record.get("maps"), list) else []
    places += [(f"maps.{k}.", entry if isinstance(entry, dict) else {}, _READ_OF_MAP) for k, entry in enumerate(maps)]
    return [
        f"its certificate {'has another kind of' if name in found else 'lacks'} {at}{name}"
        for at, found, read in places
        for name, kinds in read.items()
        if name not in found or type(found[name]) not in kinds
    ]


def _certificate_of(directory: Path) -> Json:
    try:
        certificate = read_sealed(directory / _CERTIFICATE)
    except (OSError, RunError) as error:
        reason = str(error).partition(";")[0]
        advice = "give the output directory of lngeom fold or gauge"
        raise ModelError(f"{directory}: has no readable {_CERTIFICATE} ({reason}); {advice}") from None
    if (seen := certificate.get("format")) != _FORMAT:
        raise ModelError(f"{directory}: its certificate has format {seen}, read is {_FORMAT}; fold the model again")
    return certificate


def load_folded(directory: str | Path) -> nn.Module:
    """The RMSNorm form of a network that ``lngeom fold`` wrote; the stock class loads its LayerNorm form.

    Raises:
        ModelError: If the directory holds none.
    """
    certificate = _certificate_of(Path(directory))
    if lacking := _lacking(certificate):
        raise ModelError(f"{directory}: {lacking[0]}; fold the model again")
    entries = [tuple(entry) for entry in certificate["entries"]]
    return rms_form(load_network(find_model(str(directory))), certificate["norms"], certificate["moved"], entries)


def _planned(original: nn.Module, certificate: Json, rotation: np.ndarray | None) -> Fold:
    """The change of that kind, as it follows from the original; of the certificate's maps only constants are read."""
    if any(entry["change"] == "lifted" for entry in certificate["maps"]):
        return layernorm_twin(original)
    if rotation is not None:
        return rotate(original, rotation)
    if amounts := _amounts(certificate):
        return shift_by(original, find_shifts(original, each=True), amounts)
    return fold(original, gains=bool(certificate["moved"]))


def _amounts(certificate: Json) -> dict[str, float]:
    """The constants that a gauge of shifts adds, by parameter."""
    return {entry["parameter"]: float(entry["amount"]) for entry in certificate["maps"] if entry["change"] == "uniform"}


def _differing(stated: Any, derived: Any, at: str = "") -> Iterator[str]:
    """The places at which two values of JSON differ; of what cannot be derived again those in its form."""
    if type(stated) is type(derived) is list and len(stated) == len(derived):
        stated, derived = dict(enumerate(stated)), dict(enumerate(derived))
    if type(stated) is type(derived) is dict:
        for name in {**derived, **stated}:
            yield from _differing(stated.get(name, ...), derived.get(name, ...), f"{at}.{name}" if at else str(name))
    elif repr(stated) != repr(derived):
        plain = {type(stated), type(derived)} <= {str, int, float, type(None)}
        free = plain and at.partition(".")[0] in NOT_CHECKED and at != "compared.dtype"
        # Computed in float64, in an order of sums that depends on the machine.
        near = at.startswith("maps.") and at.endswith(".worst") and type(stated) is type(derived) is float
        if not free and not (near and abs(stated - derived) <= agreement(torch.float32)):
            yield at


def _beside(network: Any, planned: Any, record: Json, today: Json) -> list[str]:
    """How a network and its certificate differ from a new derivation from the original, parameters and files aside."""
    wanted, got = (each.config.to_dict() for each in (planned.checkpoint, network))
    differing = [name for name in {*wanted, *got}.difference(_ABOUT) if wanted.get(name) != got.get(name)]
    faults = [f"config.json has another {name} than the original" for name in sorted(differing)]
    maps = [entry for entry in today["maps"] if entry["change"] != "unchanged"]
    for at in _differing(record, json.loads(json.dumps(today | {"maps": maps, "files": record["files"]}))):
        name = at.removeprefix("weights_sha256.")
        weights = f"the weights of the {name} network are not those of the certificate"
        faults.append(f"{at} of the certificate does not follow from the original" if name == at else weights)
    return faults


def verify_fold(directory: Path, model: str | None = None) -> tuple[Json, list[str]]:
    """Check a written fold again; returns the new certificate, and the errors found.

    Args:
        directory: Written by ``lngeom fold`` or ``lngeom gauge``.
        model: The original, if it is elsewhere now.

    Raises:
        ModelError: If one of the two networks cannot be loaded.
    """
    certificate = _certificate_of(directory)
    if lacking := _lacking(certificate):
        return certificate, lacking
    try:
        return _verified(directory, certificate, model)
    except LngeomError:
        raise
    except Exception as error:  # an invented certificate can fail anywhere
        reason = " ".join(str(error).split())[:120]
        msg = f"{directory}: its certificate does not fit its networks ({type(error).__name__}: {reason})"
        raise ModelError(f"{msg}; fold the model again") from None


def _verified(directory: Path, record: Json, model: str | None) -> tuple[Json, list[str]]:
    files, seen = record["files"], _hashes(directory)
    others = _other_files(files, seen)
    if _WORST not in files or files[_WORST] != seen.get(_WORST):
        return record, others
    original = load_network(where := find_model(model or record["location"], record["revision"]))
    with np.load(directory / _WORST, allow_pickle=False) as arrays:
        rotation = arrays.get(_ROTATION)
        inputs = {name: torch.from_numpy(array) for name, array in arrays.items() if name != _ROTATION}
    match record:
        case {"compared": {"inputs": str(named)}} if named.startswith(GIVEN):
            give_inputs(original, {name: t.numpy() for name, t in inputs.items()})
    try:
        planned = _planned(original, record, rotation)
    except ModelError as error:
        return record, [*others, f"the original cannot be changed like that: {error}"]
    try:
        network = load_network(source := find_model(str(directory)))
    except ModelError as error:
        if others or isinstance(error, LackingError):
            return record, [*others, str(error)]
        raise
    if type(network) is not type(planned.checkpoint):
        wanted = type(planned.checkpoint).__name__
        raise ModelError(f"{directory}: is a {type(network).__name__}, the original becomes a {wanted}")
    fields = {field: getattr(planned, field) for field in ("norms", "moved", "kept", "entries", "untied")}
    form = rms_form(network, planned.norms, planned.moved, planned.entries)
    compared, _ = compare(original, Fold(form, network, **fields), [inputs])
    hashes = {"original": weights_sha256(original), "folded": weights_sha256(network)}
    today = {
        "format": _FORMAT, "lngeom": lngeom.__version__, "model": where.name, "location": record["location"],
        "revision": record["revision"], "class": type(original).__name__, **fields,
        "unused_weights": list(getattr(original, "unused_weights", ())),
        "maps": certify_maps(original, planned, network), "weights_sha256": hashes, "files": seen,
        "compared": {**compared, "inputs": "those of the largest difference"},
    }  # fmt: skip
    changes = {entry["change"] for entry in today["maps"]}
    if "lifted" not in changes and changes & {"uniform", "turned"}:
        measured = angles_of([original, network], [inputs])
        today |= {name: measured for name in ("fitted_angles", "angles") if name == "angles" or name in record}
    changed = others + stored_otherwise(source, network, planned.checkpoint)
    changed += _beside(network, planned, record, today)
    today.pop("fitted_angles", None)  # both are measured at the same inputs
    return today, [*changed, *failures(today), *ruin(compared, guesses=False)]
