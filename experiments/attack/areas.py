"""All areas of the attack."""

from . import files as files, given as given, networks as networks
from .area import AREAS as AREAS
