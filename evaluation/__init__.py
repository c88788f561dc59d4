"""The arena: head-to-head evaluation on deals that are played twice with exchanged seats.

>>> from german_whist.evaluation import evaluate
>>> result = evaluate("threshold", "random-exact", hands=2000, seed=1)
>>> result.pairings[0].win_rate
Estimate(value=0.8295, low=0.813..., high=0.844...)
"""

from .arena_config import ArenaConfig
from .elo import fit_ratings
from .results import EveryHandForfeited, Ladder, Pairing, Result
from .statistics import Estimate
from .tournament import Arena, evaluate, ladder

__all__ = [
    "Arena",
    "ArenaConfig",
    "Estimate",
    "EveryHandForfeited",
    "Ladder",
    "Pairing",
    "Result",
    "evaluate",
    "fit_ratings",
    "ladder",
]
