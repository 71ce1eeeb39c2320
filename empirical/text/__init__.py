"""Corpora: texts and token ids as streams of fixed-length sequences."""

from typing import TYPE_CHECKING

from lngeom.lazy import ROOMS, lazy

if TYPE_CHECKING:
    from .corpus import Corpus, bundled_wikipedia, open_corpus
    from .excerpts import IGNORED, Passage, batches, passages
    from .ids import random_pieces
    from .mediawiki import articles, plain_text
    from .packing import TokenPolicy, encoded, flat_pieces, packed
else:
    __getattr__ = lazy(__name__, __file__)
