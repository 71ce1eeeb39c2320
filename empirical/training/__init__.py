"""The controlled study: GPT-2 trained with LayerNorm and with RMSNorm, all else equal, and measured on the way."""

from __future__ import annotations

from ..runs import Ranks as Ranks, ranks as ranks
from ._batches import Batches as Batches
from ._data import TokenData as TokenData, open_data as open_data, prepare as prepare
from ._gradients import WriterGradient as WriterGradient, writer_gradients as writer_gradients
from ._measure import Measurement as Measurement
from ._model import Norm as Norm, RMSNorm as RMSNorm, build_model as build_model
from ._recipe import Optimizer as Optimizer, Recipe as Recipe, learning_rate as learning_rate
from ._run import Execution as Execution
from ._run_report import (
    draw_runs as draw_runs,
    load_drawn as load_drawn,
    write_run_report as write_run_report,
)
from ._shape import SHAPES as SHAPES, Shape as Shape, checkpoint_steps as checkpoint_steps
from ._throughput import flops_per_token as flops_per_token
from ._tokenizer import (
    Tokenizer as Tokenizer,
    load_tokenizer as load_tokenizer,
    train_tokenizer as train_tokenizer,
)
from ._trainer import Report as Report, train as train
from ._writers import uniform_share as uniform_share, writers as writers

__all__ = [
    "SHAPES",
    "Batches",
    "Execution",
    "Measurement",
    "Norm",
    "Optimizer",
    "RMSNorm",
    "Ranks",
    "Recipe",
    "Report",
    "Shape",
    "TokenData",
    "Tokenizer",
    "WriterGradient",
    "build_model",
    "checkpoint_steps",
    "draw_runs",
    "flops_per_token",
    "learning_rate",
    "load_drawn",
    "load_tokenizer",
    "open_data",
    "prepare",
    "ranks",
    "train",
    "train_tokenizer",
    "uniform_share",
    "write_run_report",
    "writer_gradients",
    "writers",
]
