# pyright: strict
"""Advisers for the table: one for each rule set, and no more at once than there are processors."""

from __future__ import annotations

import threading
from typing import Any

from ..engine.endgame.build import usable_threads
from ..engine.rules import Rules
from ..engine.view import View
from .helping import Adviser


class Advisers:
    """Hints for views of any rule set."""

    def __init__(self) -> None:
        self._advisers: dict[Rules, Adviser] = {}
        self._room = threading.BoundedSemaphore(usable_threads())

    def hint(self, view: View) -> dict[str, Any]:
        """The adviser's hint for a view of a player to move."""
        with self._room:
            adviser = self._advisers.get(view.rules)
            if adviser is None:
                adviser = self._advisers[view.rules] = Adviser(view.rules)
            return adviser.hint(view)
