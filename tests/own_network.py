"""A network of one's own, and a short training of it, for tests of what its class leads to."""

from __future__ import annotations

from typing import Any

NETWORK = """
from torch import nn

class Net(nn.Module):
    def __init__(self, n_inputs, n_actions, n_hidden_inputs):
        super().__init__()
        self.policy = nn.Linear(n_inputs, n_actions)

    def forward(self, observations, hidden_cards=None):
        return self.policy(observations), observations[:, 0]
"""
"""The text of `net.py` in the current folder."""


def settings_of_own_network(rules: str) -> dict[str, Any]:
    """Settings of a run that makes 16 decisions, and is measured against nobody."""
    small = {"rules": rules, "n_envs": 16, "batch_size": 32, "threads": 1, "decisions": 16}
    unmeasured: dict[str, Any] = {"eval_opponents": [], "final_eval_opponents": []}
    return {**small, **unmeasured, "network": "net.py:Net", "critic": "separate"}
