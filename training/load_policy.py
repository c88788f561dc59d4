# pyright: strict
"""A trained policy as a torch module, with the observation that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..agents.checkpoints import read_checkpoint, specialize_checkpoint
from ..agents.networks.network_inputs import Observations, match_of, network_inputs
from ..agents.registry import common_rules
from ..common.typing import Array
from ..engine.options import NetworkObservation, SuitOrder
from ..engine.rules import Match, Rules, RulesLike
from ..engine.view import View

if TYPE_CHECKING:
    import torch


class TrainedPolicy(NamedTuple):
    """A policy as a torch module, with the function that makes its inputs."""

    module: torch.nn.Module
    """From observations and masks to masked logits and the likeliest action."""
    rules: Rules
    suit_order: SuitOrder
    observation: NetworkObservation = "vector"
    match: Match | None = None
    """The match that it was trained in; None if it learned single hands."""

    def observe(self, views: View | Sequence[View] | Array) -> Observations:
        """Observations and masks for `module`; `real` turns its actions into cards."""
        return network_inputs(
            views,
            self.rules,
            suit_order=self.suit_order,
            observation=self.observation,
            match=self.match,
        )


def load_policy(source: str | Path, rules: RulesLike | None = None) -> TrainedPolicy:
    """Load a trained policy as a torch module, together with the function that makes its inputs.

    Returns a `TrainedPolicy`: `observe(views)` makes observations and masks, and `module` turns
    them into logits and actions.

    - `source`: the path of a run or checkpoint, or the name of a bundled one such as
      `"champion-1"`.
    - `rules`: which rule set to use, if the checkpoint was trained on several. `None` (default):
      the rule set of the checkpoint.

    >>> import torch
    >>> from german_whist import Game
    >>> policy = load_policy("champion-1")
    >>> seen = policy.observe(Game(seed=1).view())
    >>> logits, actions = policy.module(*map(torch.from_numpy, (seen.observations, seen.masks)))
    >>> card = seen.real(actions)[0]
    """
    if find_spec("torch") is None:
        raise ValueError(
            "torch is not installed, which the module is one of: install the extra train "
            "(docs/guide/start.md), or use load_agent, which needs no torch"
        )
    from .export.policy_module import PolicyModule

    checkpoint = read_checkpoint(source)
    if checkpoint.card.network.kind == "table":
        raise ValueError(f"{checkpoint.path}: is a table and no network: use load_agent")
    chosen = common_rules([f"network:{source}"], rules)
    checkpoint = specialize_checkpoint(checkpoint, chosen)
    card = checkpoint.card
    return TrainedPolicy(
        PolicyModule(checkpoint),
        chosen,
        card.suit_order,
        card.network.observation,
        match_of(checkpoint),
    )
