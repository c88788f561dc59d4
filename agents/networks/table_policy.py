"""Tabular policy: a weight for each card in each decision for the stock of a small deck.

Decisions are numbered by the public tree, so information sets that differ by the order of the
player's own unseen draws or the names of the suits share their cells.
"""

from __future__ import annotations

import numpy as np

from ...common.jit.compiler import allocates, jit
from ...engine.bitset import ONE
from ...engine.play import row
from ...engine.view import legal_in_view
from ...solvers.public_tree import public_tree, why_no_public_tree
from ...solvers.view_cells import NO_CELL, PathTables, cells_of_view, path_tables
from ..base import Array, CannotPlay
from ..checkpoints import Checkpoint, CheckpointError


@jit
@allocates
def write_table_probs(
    rules: np.ndarray, paths: PathTables, table: np.ndarray, views: np.ndarray, probs: np.ndarray
) -> None:
    """Write the probability of each card; uniform over legal cards where all weights are zero."""
    cells = np.empty(probs.shape[1], np.int64)
    for index in range(len(views)):
        cells_of_view(paths, row(views, index), cells)
        total = 0.0
        for card in range(len(cells)):
            weight = 0.0 if cells[card] == NO_CELL else np.float64(table[cells[card]])
            probs[index, card] = weight
            total += weight
        if total == 0:
            legal = legal_in_view(row(rules, 0), row(views, index))
            for card in range(len(cells)):
                probs[index, card] = np.float64((legal >> np.uint64(card)) & ONE)
                total += probs[index, card]
        for card in range(len(cells)):
            probs[index, card] /= total


class TablePolicy:
    """Policy of a tabular checkpoint."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        (rules,), self._actions = checkpoint.rules, checkpoint.card.actions
        if reason := why_no_public_tree(rules):
            raise CannotPlay(f"{checkpoint.path}: is a table, and the rules {rules.name} {reason}")
        tree, cells = public_tree(rules), checkpoint.weights["cells"]
        if len(cells) != tree.size:
            raise CannotPlay(
                f"{checkpoint.path}: has {len(cells):,} cells, and {rules.name} has "
                f"{tree.size:,}: make it anew"
            )
        if (cells < 0).any():
            raise CheckpointError(f"{checkpoint.path}: a weight is below 0: train it anew")
        # Bytes of a solution stay as they are: large decks have hundreds of millions. Compiled code
        # reads no float16, and what is added up must stay a number.
        self._table = (
            cells if cells.dtype == np.uint8 else (cells / max(1, cells.max())).astype(np.float32)
        )
        self._paths = path_tables(tree)

    def probabilities(self, rules: Array, views: Array) -> Array:
        """`(n, actions)` probabilities."""
        probs = np.zeros((len(views), self._actions))
        write_table_probs(rules, self._paths, self._table, views, probs)
        return probs
