# pyright: strict
"""Tasks in local processes or on a Ray cluster: the one way to use more than one process."""

from .executor import Executor, InProcess, check_place, cores
from .local import LOCAL
from .worker import WorkersLost

__all__ = ["LOCAL", "Executor", "InProcess", "WorkersLost", "check_place", "cores"]
