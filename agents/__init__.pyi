"""The public names; at run time `__init__.py` reads from here where each of them is."""

from .base import Agent as Agent
from .base import CannotPlay as CannotPlay
from .base import agent_key as agent_key
from .base import decision_streams as decision_streams
from .costs import CostModel as CostModel
from .external.sb3 import SB3Agent as SB3Agent
from .perfect_endgame import EndgamePlayer as EndgamePlayer
from .player import Player as Player
from .registry import agent_names as agent_names
from .registry import as_agent as as_agent
from .registry import load_agent as load_agent
from .registry import register_agent as register_agent

__all__: list[str]
