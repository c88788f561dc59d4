# pyright: strict
"""Tasks in local processes or on a Ray cluster: the one way to use more than one process."""

from .executor import (
    MAX_DEATHS,
    MAX_WORKERS,
    Executor,
    InProcessExecutor,
    check_backend,
    count_cores,
)
from .local import LOCAL
from .worker import WorkersLost

__all__ = [
    "LOCAL",
    "MAX_DEATHS",
    "MAX_WORKERS",
    "Executor",
    "InProcessExecutor",
    "WorkersLost",
    "check_backend",
    "count_cores",
]
