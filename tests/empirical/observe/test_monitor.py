from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers import AutoModelForCausalLM, Trainer, TrainerCallback, TrainingArguments

from lngeom.empirical.models import sites_of
from lngeom.empirical.observe import Monitor, NormCallback
from lngeom.errors import InputError

from ..conftest import tiny_config

D = 8


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.block = nn.Sequential(nn.Linear(D, D), nn.LayerNorm(D))

    def forward(self, x: torch.Tensor) -> Any:
        return checkpoint(self.block, x, use_reentrant=False)


def trained(monitor: Monitor | None, model: nn.Module, steps: int = 5) -> list[float]:
    torch.manual_seed(0)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    losses = []
    for step in range(steps):
        x = torch.randn(3, 4, D)
        if monitor is None:
            loss = model(x).pow(3).mean()
            loss.backward()
        else:
            with monitor(step):
                loss = model(x).pow(3).mean()
                loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.filterwarnings("ignore:The .grad attribute")  # PyTorch's compiler looks at it
def test_a_compiled_model_is_measured_as_it_is() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(D, D), nn.LayerNorm(D), nn.Linear(D, D), nn.LayerNorm(D))
    x, measured = torch.randn(3, 4, D), []
    for each in (model, torch.compile(model, backend="eager")):
        monitor = Monitor(model, every=1)
        with monitor(0):
            each(x)
        measured.append(monitor.scalars)
    assert len(measured[0]) == 16
    assert measured[0] == measured[1]


def test_every_nth_step_is_measured_once_and_nothing_changes() -> None:
    models = []
    for _ in range(2):
        torch.manual_seed(1)
        models.append(Checkpointed())
    bare = trained(None, models[0])
    monitor = Monitor(models[1], every=2)
    assert trained(monitor, models[1]) == bare
    assert {name.rpartition("/")[0] for name in monitor.scalars} == {"norms/block.1/input", "norms/block.1/output"}
    with monitor(5):
        models[1](torch.ones(3, 4, D))
    assert monitor.scalars == {}
    with pytest.raises(InputError, match="every 0"):
        Monitor(models[0], every=0)
    with pytest.raises(InputError, match="no norm layer was found"):
        Monitor(nn.Linear(2, 2))


def test_vectors_of_a_checkpointed_block_count_once() -> None:
    from lngeom.empirical.models import norms
    from lngeom.empirical.observe import Observer

    model = Checkpointed()
    with Observer(model, norms(model).sites, directions=2) as observer:
        model(torch.randn(3, 4, D)).sum().backward()
    assert observer.states["block.1", "input"].tokens.sum() == 12


class Kept(TrainerCallback):
    def __init__(self) -> None:
        self.logs: list[dict[str, float]] = []

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        self.logs.append(dict(logs))


@pytest.mark.parametrize("progress", [True, False])
def test_a_trainer_logs_the_scalars_and_prints_one_line(progress: bool, tmp_path, capsys) -> None:
    model = AutoModelForCausalLM.from_config(tiny_config("llama"))
    data = [{"input_ids": torch.arange(3, 11), "labels": torch.arange(3, 11)} for _ in range(8)]
    arguments = TrainingArguments(
        str(tmp_path), max_steps=4, per_device_train_batch_size=2, report_to=[], use_cpu=True, save_strategy="no",
        disable_tqdm=not progress,
    )  # fmt: skip
    kept = Kept()
    trainer = Trainer(model, arguments, train_dataset=data, callbacks=[kept])  # pyright: ignore[reportArgumentType]
    sites = [site for site in sites_of(model) if site.path == "model.norm"]
    trainer.add_callback(NormCallback(trainer, every=2, sites=sites, statistics=("d_cos2", "top_1_share")))
    trainer.train()
    measured = [{name for name in log if "norms/" in name} for log in kept.logs]
    names = {f"norms/model.norm/{name}" for name in ("input/d_cos2", "input/top_1_share", "output/d_cos2")}
    assert [each for each in measured if each] == [names, names]
    printed = [line for line in capsys.readouterr().out.splitlines() if "d_cos2" in line]
    assert [line.split(", ")[0] for line in printed] == ["step 0: 1 norms", "step 2: 1 norms"]
    with pytest.raises(InputError, match="statistics loss: is none; choose from layer, tokens"):
        NormCallback(trainer, statistics=["loss"])
