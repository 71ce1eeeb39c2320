"""The page of one training run, and what is drawn of several."""

from pathlib import Path
from typing import Any

from ..support import RunError, read_sealed, read_table, write_text
from ._html import embedded, render
from ._remarks import of_training
from ._training_figures import NORM_NAMES, Drawn, draw_angles, draw_energies, draw_losses, site_label

_FIGURES = {
    "losses": (draw_losses, "Loss of each training step and on held-out text, in nats per token."),
    "angles": (
        draw_angles,
        "Angle of the hidden states that enter each norm with the uniform vector 1 and with two random vectors, at "
        "each checkpoint: mean and standard deviation over tokens.",
    ),
    "energy": (
        draw_energies,
        "d·E[cos²θ] of the uniform vector at each norm and checkpoint with its 95 % interval; dotted, the median of "
        "the random directions.",
    ),
}


def load_drawn(out: Path, title: str | None = None) -> Drawn:
    """Tables of a finished run of :func:`empirical.train.train`, ready to be drawn."""
    if not (out / "summary.json").exists():
        raise RunError(f"{out} holds no finished run (summary.json is missing): finish it with lngeom train")
    recipe, summary = read_sealed(out / "run.json")["recipe"], read_sealed(out / "summary.json")
    return Drawn(
        title or NORM_NAMES[recipe["norm"]],
        recipe["shape"]["width"],
        read_table(out / "losses.csv"),
        read_table(out / "held_out.csv"),
        read_table(out / "norms.csv"),
        summary["unigram_entropy"],
    )


def draw_runs(runs: list[Drawn], folder: Path) -> list[str]:
    """Draw the three figures of one or more runs into `folder`; returns their names."""
    for name, (draw, _) in _FIGURES.items():
        draw(runs, folder / f"{name}.svg")
    return [f"{name}.svg" for name in _FIGURES]


def _facts(run: dict[str, Any], summary: dict[str, Any], drawn: Drawn) -> list[str]:
    recipe, shape = run["recipe"], run["recipe"]["shape"]
    speed, utilisation = summary["tokens_per_second"], summary["model_flop_utilisation"]
    facts = [
        f"{drawn.title}, {shape['layers']} blocks, d = {shape['width']}, {summary['parameters']:,} parameters, "
        f"{recipe['optimizer']}, weight decay {recipe['weight_decay']:g}, seed {recipe['seed']}.",
        f"{summary['steps']:,} steps, {summary['tokens']:,} tokens of {run['data']['corpus']}.",
        f"Held-out loss {drawn.held_out[-1]['loss']:.4f} nats per token; entropy of the token frequencies of the same "
        f"text {drawn.unigram_entropy:.4f}.",
        f"{speed:,.0f} tokens per second on {run['device']}." if speed else "Continued when it was already complete.",
        f"Model FLOP utilisation {100 * utilisation:.1f} %." if utilisation else "",
    ]
    return [fact for fact in facts if fact]


def write_run_report(out: Path, beside: Path | None = None) -> None:
    """Draw a finished run and write ``report.html``, one file that opens offline."""
    run, summary, drawn = read_sealed(out / "run.json"), read_sealed(out / "summary.json"), load_drawn(out)
    draw_runs([drawn] if beside is None else [load_drawn(beside), drawn], out)
    last = max(row["step"] for row in drawn.norms)
    start = {row["site"]: row["d_cos2"] for row in drawn.norms if row["step"] == 0}
    ended = [
        row | {"start": start[row["site"]], "label": site_label(row)} for row in drawn.norms if row["step"] == last
    ]
    page = render(
        "training.html",
        title=f"Training with {drawn.title}",
        facts=_facts(run, summary, drawn),
        remarks=of_training(ended),
        rows=ended,
        figures=[
            (name, embedded((out / f"{name}.svg").read_text(encoding="utf-8"), name), words)
            for name, (_, words) in _FIGURES.items()
        ],
    )
    write_text(out / "report.html", page)
