"""TorchRL: both seats share one masked policy, trained by REINFORCE for a few hands.

Run it with `python docs/interop/torchrl_example.py`, in an environment with torchrl.
"""

from __future__ import annotations

import torch
from tensordict import TensorDict
from tensordict.nn import ProbabilisticTensorDictModule, TensorDictModule, TensorDictSequential
from torch import nn
from torchrl.envs.libs.pettingzoo import PettingZooWrapper
from torchrl.modules import MaskedCategorical

from german_whist import german_whist_v0

HANDS_PER_STEP, STEPS = 4, 3


def make_env() -> PettingZooWrapper:
    """One game; both agents are rows of the group `players`."""
    return PettingZooWrapper(
        env=german_whist_v0.env(rules="small-last"),
        use_mask=True,  # one agent acts at a time
        group_map={"players": ["player_0", "player_1"]},
    )


class PolicyNetwork(nn.Module):
    """Logits; an agent that is not to act gets one action, which is not played."""

    def __init__(self, size: int, actions: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, 64), nn.ReLU(), nn.Linear(64, actions))

    def forward(
        self, observation: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits, and the mask with an action for idle agents."""
        idle = ~mask.any(dim=-1, keepdim=True)
        first = torch.zeros_like(mask)
        first[..., 0] = True
        return self.layers(observation.float()), mask | (idle & first)


def make_policy(env: PettingZooWrapper) -> TensorDictSequential:
    """A masked categorical policy over the group."""
    spec = env.observation_spec["players", "observation", "observation"]
    network = PolicyNetwork(spec.shape[-1], 52)
    return TensorDictSequential(
        TensorDictModule(
            network,
            in_keys=[("players", "observation", "observation"), ("players", "action_mask")],
            out_keys=[("players", "logits"), ("players", "legal")],
        ),
        ProbabilisticTensorDictModule(
            in_keys={"logits": ("players", "logits"), "mask": ("players", "legal")},
            out_keys=[("players", "action")],
            distribution_class=MaskedCategorical,
            return_log_prob=True,
            log_prob_key=("players", "log_prob"),
        ),
    )


def loss_of(hand: TensorDict) -> torch.Tensor:
    """REINFORCE: log probabilities of the acting agents times their returns."""
    acting = hand["players", "mask"]
    returns = hand["next", "players", "reward"].sum(dim=0).squeeze(-1)
    return -(hand["players", "log_prob"] * acting * returns).sum()


def main() -> None:
    """Train, and check that all cards were legal."""
    torch.manual_seed(0)
    env = make_env()
    policy = make_policy(env)
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    for step in range(STEPS):
        hands = [env.rollout(100, policy) for _ in range(HANDS_PER_STEP)]
        for hand in hands:
            acting = hand["players", "mask"]
            legal = hand["players", "action_mask"].gather(
                -1, hand["players", "action"].unsqueeze(-1)
            )
            assert legal.squeeze(-1)[acting].all()
            assert acting.sum() == 28, "a hand of small-last has 28 moves"
            returns = hand["next", "players", "reward"].sum(dim=0).squeeze(-1)
            assert returns.sum() == 0
        optimizer.zero_grad()
        loss = torch.stack([loss_of(hand) for hand in hands]).mean()
        loss.backward()
        optimizer.step()
        print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
