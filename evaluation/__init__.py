"""The arena: head-to-head evaluation on deals that are played twice with exchanged seats.

>>> from german_whist.evaluation import evaluate
>>> result = evaluate("threshold", "random-exact", hands=2000, seed=1)
>>> print(result.pairings[0].win_rate)
"""

from .results import Ladder, Pairing, Result
from .statistics import Estimate, Ratings, fit_ratings
from .tournament import Arena, ArenaOptions, evaluate, ladder

__all__ = [
    "Arena",
    "ArenaOptions",
    "Estimate",
    "Ladder",
    "Pairing",
    "Ratings",
    "Result",
    "evaluate",
    "fit_ratings",
    "ladder",
]
