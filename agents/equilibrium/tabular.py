"""A policy that is a table: a weight for each card in each decision for the stock of a small deck.

Decisions are numbered by the public tree, so what a player knows is told apart but for the order
of its own unseen draws and the names of the suits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...common.jit.bitset import ONE
from ...common.jit.compiler import jit
from ...engine.play import row
from ...engine.view import legal_in_view
from ..base import Array, CannotPlay
from ..checkpoints.checkpoint import Checkpoint, CheckpointError
from .path import NO_CELL, cells_of_view, paths_of
from .public_tree import public_tree, why_not


@jit
def write_shares(
    rules: np.ndarray, paths: Any, table: np.ndarray, views: np.ndarray, out: np.ndarray
) -> None:
    """With what probability a table plays each card; any legal one where it says nothing."""
    cells = np.empty(out.shape[1], np.int64)
    for index in range(len(views)):
        cells_of_view(paths, row(views, index), cells)
        total = 0.0
        for card in range(len(cells)):
            weight = 0.0 if cells[card] == NO_CELL else np.float64(table[cells[card]])
            out[index, card] = weight
            total += weight
        if total == 0:
            legal = legal_in_view(row(rules, 0), row(views, index))
            for card in range(len(cells)):
                out[index, card] = np.float64((legal >> np.uint64(card)) & ONE)
                total += out[index, card]
        for card in range(len(cells)):
            out[index, card] /= total


class TablePolicy:
    """The policy of a checkpoint that is a table."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        (rules,), self._actions = checkpoint.rules, checkpoint.card.actions
        if why := why_not(rules):
            raise CannotPlay(f"{checkpoint.path}: is a table, and the rules {rules.name} {why}")
        tree, cells = public_tree(rules), checkpoint.weights["cells"]
        if len(cells) != tree.size:
            raise CannotPlay(
                f"{checkpoint.path}: has {len(cells):,} cells, and {rules.name} has "
                f"{tree.size:,}: train it anew"
            )
        if (cells < 0).any():
            raise CheckpointError(f"{checkpoint.path}: a weight is below 0: train it anew")
        # Compiled code reads no float16, and what is added up must stay a number.
        self._table = (cells / max(1, cells.max())).astype(np.float32)
        self._paths = paths_of(tree)

    def logits(self, rules: Array, views: Array) -> Array:
        """`(n, actions)`: of the real actions in each view, minus infinity where never played."""
        shares = np.zeros((len(views), self._actions))
        write_shares(rules, self._paths, self._table, views, shares)
        with np.errstate(divide="ignore"):
            return np.log(shares).astype(np.float32)
