"""What an illegal action does: its options, and the warning that names the mask."""

from __future__ import annotations

from typing import Literal, get_args

import gymnasium

Illegal = Literal["lose", "raise"]
LOSE, RAISE = get_args(Illegal)
"""The episode ends at its worst reward, or an error."""

_warned = False


def warn_of_illegal_action() -> None:
    """Warn, once per process, that a learner does not read the mask."""
    global _warned
    if not _warned:
        _warned = True
        gymnasium.logger.warn(
            "an illegal action ends the episode at its worst reward, and this is said once: "
            "choose among the ones in info['action_mask'], or make the environment with "
            "illegal='raise' if your code does"
        )
