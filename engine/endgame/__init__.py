"""Exact endgames: values and best moves once both hands are known.

In Python: `value`, `moves` and `best_card` for one position, `values` for arrays of them,
`value_of`, `moves_of` and `best_card_of` for a view, and `race_moves` for races. In compiled code:
`solve`, `solve_moves`, `best_card_compiled`, `solve_race` and `solve_race_moves`, with
`load_tablebase(...)` and one `new_scratch()` per thread.
"""

from .choices import best_card_compiled, solve_moves
from .load import empty_tablebase, load_tablebase, tablebase_in_memory
from .race import Race, solve_race, solve_race_moves
from .search import Ending, Scratch, new_scratch, solve
from .solver import (
    NotOpenError,
    best_card,
    best_card_of,
    moves,
    moves_of,
    race_moves,
    race_moves_of,
    value,
    value_of,
    values,
)
from .store import TablebaseError
from .tablebase import Tablebase

__all__ = [
    "Ending",
    "NotOpenError",
    "Race",
    "Scratch",
    "Tablebase",
    "TablebaseError",
    "best_card",
    "best_card_compiled",
    "best_card_of",
    "empty_tablebase",
    "load_tablebase",
    "moves",
    "moves_of",
    "new_scratch",
    "race_moves",
    "race_moves_of",
    "solve",
    "solve_moves",
    "solve_race",
    "solve_race_moves",
    "tablebase_in_memory",
    "value",
    "value_of",
    "values",
]
