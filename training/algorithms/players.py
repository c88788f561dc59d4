"""Agents from the weights of a training, without a file."""

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


def agent_from_weights(
    settings: Settings,
    weights: Mapping[str, np.ndarray[Any, Any]],
    network: NetworkCard,
    *words: str,
    rules: Rules | None = None,
) -> NetworkAgent:
    """Agent of a checkpoint with these weights; `words` are its options, as in `network:PATH,WORD`.

    Of several rule sets it plays the first by default.
    """
    checkpoint = Checkpoint(Path("training"), dict(weights), card_of(settings, network))
    return NetworkAgent(rules or settings.options.rules, checkpoint, *words)
