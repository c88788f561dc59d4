"""The public names; at run time `__init__.py` reads from here where each of them is."""

from ..agents.checkpoints.input_names import input_names as input_names
from ..agents.checkpoints.schema import NetworkCard as NetworkCard
from ..common.typing import Arrays as Arrays
from .algorithms.base import Trainer as Trainer
from .api import Trained as Trained
from .callbacks.base import Callback as Callback
from .callbacks.base import TrainingRun as TrainingRun
from .given import Given as Given
from .rollout.input_features import inputs_of as inputs_of
from .run_state import EvaluationResult as EvaluationResult
from .settings import Settings as Settings

__all__: list[str]
