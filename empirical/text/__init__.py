"""Corpora: texts and token ids as streams of fixed-length sequences."""

from typing import TYPE_CHECKING

from .._lazy import lazy

if TYPE_CHECKING:
    from ._corpus import Corpus, bundled_wikipedia, open_corpus
    from ._markup import plain_text
    from ._mediawiki import articles
    from ._packing import TokenPolicy, encoded, flat_pieces, packed
    from ._passages import IGNORED, Passage, batches, passages
    from ._random import random_pieces
else:
    __getattr__ = lazy(__name__, __file__)
