"""PPO in CleanRL's manner: one file, read from top to bottom, on the Gymnasium vector.

`python examples/cleanrl_ppo.py` learns against `threshold` for some minutes. It needs torch.
"""

from __future__ import annotations

import argparse

import gymnasium
import torch
from torch import nn
from torch.distributions import Categorical

import german_whist

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--iterations", type=int, default=200)
parser.add_argument("--games", type=int, default=1024)
parser.add_argument("--steps", type=int, default=13, help="decisions of each game an iteration")
parser.add_argument("--learning-rate", type=float, default=1e-3)
given = parser.parse_args()

gymnasium.register_envs(german_whist)
torch.manual_seed(1)
torch.set_num_threads(1)
envs = gymnasium.make_vec(
    "german_whist/GermanWhist-v0", given.games, opponent="threshold", reward="win",
    layout="trump-first", horizon="foreplay",
)  # fmt: skip
observation, info = envs.reset(seed=1)
places = observation.shape[1]
body = nn.Sequential(nn.Linear(places, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
actor, critic = nn.Linear(256, 52), nn.Linear(256, 1)
parameters = [*body.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, given.learning_rate, eps=1e-5)


def policy(seen: torch.Tensor, mask: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
    """What to play, of the legal cards alone, and what the position is worth."""
    hidden = body(seen)
    return Categorical(logits=actor(hidden).masked_fill(~mask, -1e8)), critic(hidden).squeeze(-1)


for iteration in range(given.iterations):
    optimizer.param_groups[0]["lr"] = given.learning_rate * (1 - iteration / given.iterations)
    rows = []
    for _ in range(given.steps):
        seen = torch.as_tensor(observation, dtype=torch.float32)
        mask = torch.as_tensor(info["action_mask"], dtype=torch.bool)
        with torch.no_grad():
            choice, value = policy(seen, mask)
        action = choice.sample()
        observation, paid, ended, _, info = envs.step(action.numpy())
        rows.append((seen, mask, action, choice.log_prob(action), value, paid, ended))
    with torch.no_grad():
        following = critic(body(torch.as_tensor(observation, dtype=torch.float32))).squeeze(-1)
    advantages, gained = [], torch.zeros(given.games)
    for *_, value, paid, ended in reversed(rows):  # generalised advantages, undiscounted
        going = 1 - torch.as_tensor(ended, dtype=torch.float32)
        gained = torch.as_tensor(paid).float() + going * (following + 0.8 * gained) - value
        gained, following = gained, value
        advantages.insert(0, gained)
    seen, mask, action, before, value = (torch.cat([row[k] for row in rows]) for k in range(5))
    gain = torch.cat(advantages)
    goal, gain = gain + value, (gain - gain.mean()) / (gain.std() + 1e-8)
    for part in torch.cat([torch.randperm(len(gain)) for _ in range(2)]).split(2048):
        choice, told = policy(seen[part], mask[part])
        ratio = (choice.log_prob(action[part]) - before[part]).exp()
        gains = torch.min(ratio * gain[part], ratio.clamp(0.8, 1.2) * gain[part]).mean()
        loss = 0.5 * (told - goal[part]).square().mean() - gains - 0.03 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
    won = [float((row[5][row[6]] > 0).mean()) for row in rows if row[6].any()]
    print(f"iteration {iteration}: {100 * sum(won) / max(len(won), 1):.1f} % won", flush=True)
