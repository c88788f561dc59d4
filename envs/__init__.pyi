"""The public names; at run time `__init__.py` reads from here where each of them is."""

from . import german_whist_v0 as german_whist_v0
from .gymnasium_env import GermanWhistEnv as GermanWhistEnv
from .gymnasium_env import GermanWhistVectorEnv as GermanWhistVectorEnv
from .open_spiel import open_spiel_game as open_spiel_game
from .opponent_pool import OpponentPool as OpponentPool
from .render.modes import Painter as Painter
from .sb3 import GermanWhistVecEnv as GermanWhistVecEnv
from .self_play import SelfPlayEnv as SelfPlayEnv

__all__: list[str]
