"""The public names; at run time `__init__.py` reads from here where each of them is."""

from ..common.jit.compiler import jit as jit
from .bitset import nth_lowest as nth_lowest
from .dtypes import VIEW as VIEW
from .observation.rule_features import rule_features as rule_features
from .observation.spec import spec_of as spec_of
from .play import row as row
from .view import legal_in_view as legal_in_view

__all__: list[str]
