"""All areas of the attack."""

from . import counts as counts, files as files, given as given, networks as networks
from .area import AREAS as AREAS
