"""Players out of a training under way, without going through files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...agents.checkpoints.checkpoint import Checkpoint
from ...agents.checkpoints.schema import NetworkCard
from ...agents.networks.policy import NetworkAgent
from ...engine.rules import Rules
from ..checkpoint import card_of
from ..settings import Settings


def player_of(
    settings: Settings,
    weights: Mapping[str, np.ndarray[Any, Any]],
    network: NetworkCard,
    *words: str,
    rules: Rules | None = None,
) -> NetworkAgent:
    """The player that a checkpoint with these weights would be; `words` as for the agent.

    Of several rule sets it plays the first, or the one that is given.
    """
    checkpoint = Checkpoint(Path("training"), dict(weights), card_of(settings, network))
    return NetworkAgent(rules or settings.options.rules, checkpoint, *words)
