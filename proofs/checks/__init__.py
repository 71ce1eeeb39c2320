"""The checks of a theorem: its proof, a second checker, exact models, floats, and its record in Coq."""

from ._check import (
    Evidence as Evidence,
    check_certificate as check_certificate,
    check_hypothesis as check_hypothesis,
    check_models as check_models,
    check_mutant as check_mutant,
    check_proof as check_proof,
    check_truth as check_truth,
    gather as gather,
)
from ._floats import ROWS as ROWS, violation as violation
from ._models import (
    DIMENSIONS as DIMENSIONS,
    Values as Values,
    draw as draw,
    draw_scalar as draw_scalar,
    draw_vector as draw_vector,
    refuted as refuted,
    satisfied as satisfied,
    search as search,
)
