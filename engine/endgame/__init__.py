"""Exact endgames: once both hands are known, every position has a value, and here it is.

From Python: `value`, `moves`, `best_card` for one position, `values` and
`moves_many` for arrays, `value_of`, `moves_of` and `best_card_of` for a view, and
their likes for races. From compiled code: `solve`, `solve_moves`,
`best_card_compiled`, `solve_race` and `solve_race_moves`, with `tables(...)` and a
`new_scratch()` per thread passed along.
"""

from .choices import best_card_compiled, solve_moves
from .race import Race, solve_race, solve_race_moves
from .search import Ending, Scratch, Tables, new_scratch, solve
from .solver import (
    NotOpenError,
    best_card,
    best_card_of,
    moves,
    moves_many,
    moves_of,
    race_moves,
    race_moves_of,
    race_value,
    value,
    value_of,
    values,
)
from .store import TablebaseError
from .tablebase import no_tables, smaller_tables, tables, tables_in_memory

__all__ = [
    "Ending",
    "NotOpenError",
    "Race",
    "Scratch",
    "TablebaseError",
    "Tables",
    "best_card",
    "best_card_compiled",
    "best_card_of",
    "moves",
    "moves_many",
    "moves_of",
    "new_scratch",
    "no_tables",
    "race_moves",
    "race_moves_of",
    "race_value",
    "smaller_tables",
    "solve",
    "solve_moves",
    "solve_race",
    "solve_race_moves",
    "tables",
    "tables_in_memory",
    "value",
    "value_of",
    "values",
]
