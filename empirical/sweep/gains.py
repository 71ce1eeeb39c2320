"""The gains of the norm layers, and the axes of the ellipsoids on which their outputs lie."""

from collections.abc import Iterable, Iterator

import numpy as np
from torch import nn

import lngeom as lg
from lngeom.files import Json

from ..models import NormSite, affine


def gains(model: nn.Module, sites: Iterable[NormSite]) -> Iterator[Json]:
    """The quantiles 0, 0.05, 0.5, 0.95 and 1 of |gain| and of the semi-axes, for each norm.

    Semi-axes are in units of √d: 1 for LayerNorm without a gain. Norms whose gain is not in memory, or not finite, are
    left out.
    """
    for site in sites:
        module = model.get_submodule(site.path)
        weight = None if site.gain is None else getattr(module, site.gain, None)
        if weight is not None and weight.is_meta:
            continue
        gain, _ = affine(module, site.gain, site.gain_offset, None, site.d)
        if np.isfinite(gain).all() and gain.any():
            axes = lg.principal_axes(gain, centered=site.kind == "layernorm").semi_axes / np.sqrt(site.d)
            spectra = {"gain": np.abs(gain), "axes": axes if len(axes) else np.zeros(1)}
            yield {
                "site": site.path,
                **{name: np.quantile(values, (0, 0.05, 0.5, 0.95, 1)).tolist() for name, values in spectra.items()},
                "negative": int((gain < 0).sum()),
                "zero": int((gain == 0).sum()),
            }
