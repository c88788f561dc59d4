"""Audit of claims: agents that claim perfect endings are checked by playing a sample out.

Where both players claim to play endings perfectly, the exact value of an ending replaces playing
it. In a sample of the chunks endings are played out all the same: a player that errs there is
not trusted any more, and all of its pairings are played again from their beginning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..engine.dtypes import SEATS
from ..engine.rng import key_of_bytes, siphash
from .chunks import MatchConfig, Tally
from .kernels import ENDINGS

# The first chunk of a pairing is audited, and of the others one in so many.
_PERIOD = np.uint64(16)
# What the key of a run is hashed with, beside a chunk's number, to draw them.
_DRAWS = np.uint64(1 << 11)

Both = tuple[bool, bool]


@dataclass
class EndgameErrors:
    """Errors of a player that claims perfect endings, in a sample of its endings."""

    endgame_error: int = 0
    """Tricks given away and hands forfeited."""
    endings: int = 0


class Audit:
    """Which players' endings are trusted to be exact."""

    def __init__(self, config: MatchConfig) -> None:
        self._key = key_of_bytes(config.key)
        self._solvable = config.solvable
        self.errors: dict[str, EndgameErrors] = {}
        """By name the players whose claim was refuted."""

    def samples(self, chunk: int, trusted_exact: Both) -> bool:
        """Whether endings of a chunk are played out, to check who is trusted."""
        if not self._solvable or not any(trusted_exact):
            return False
        return bool(chunk == 0 or siphash(self._key, np.uint64(chunk), _DRAWS) % _PERIOD == 0)

    def refutes(self, names: tuple[str, str], trusted_exact: Both, tally: Tally) -> bool:
        """Whether a trusted player erred in a chunk; its errors are noted."""
        refuted = False
        for player in range(SEATS):
            errors = tally.endgame_errors(player)
            if trusted_exact[player] and errors:
                refuted = True
                noted = self.errors.setdefault(names[player], EndgameErrors())
                noted.endgame_error += errors
                noted.endings += int(tally.sums[ENDINGS]) + sum(tally.failed)
        return refuted

    def still_trusted(self, names: tuple[str, str], trusted_exact: Both) -> Both:
        """Who is left of the trusted players of a pairing."""
        one, two = (
            trusted and name not in self.errors
            for name, trusted in zip(names, trusted_exact, strict=True)
        )
        return one, two

    def notes(self) -> Iterator[str]:
        """A sentence on each player whose claim was refuted."""
        for name, found in self.errors.items():
            count = found.endgame_error
            tricks = "1 trick" if count == 1 else f"{count:,} tricks"
            yield (
                f"{name} says that it plays endings perfectly, and does not: it gave away {tricks} "
                f"in a sample of {found.endings:,} endings. All of its endings were played out."
            )
