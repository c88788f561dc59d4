"""PPO in one file in CleanRL's manner, on the Gymnasium vector.

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
args = parser.parse_args()

gymnasium.register_envs(german_whist)
torch.manual_seed(1)
torch.set_num_threads(1)
envs = gymnasium.make_vec(
    "german_whist/GermanWhist-v0", args.games, opponent="threshold", reward="win",
    layout="trump-first", horizon="foreplay",
)  # fmt: skip
observation, info = envs.reset(seed=1)
size = observation.shape[1]
features = nn.Sequential(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())
actor, critic = nn.Linear(256, 52), nn.Linear(256, 1)
parameters = [*features.parameters(), *actor.parameters(), *critic.parameters()]
optimizer = torch.optim.Adam(parameters, args.learning_rate, eps=1e-5)


def evaluate(obs: torch.Tensor, action_mask: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
    """The policy over legal cards, and the value."""
    x = features(obs)
    return Categorical(logits=actor(x).masked_fill(~action_mask, -1e8)), critic(x).squeeze(-1)


for iteration in range(args.iterations):
    optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - iteration / args.iterations)
    steps = []
    for _ in range(args.steps):
        obs = torch.as_tensor(observation).float()
        action_mask = torch.as_tensor(info["action_mask"]).bool()
        with torch.no_grad():
            policy, value = evaluate(obs, action_mask)
        action = policy.sample()
        observation, reward, done, _, info = envs.step(action.numpy())
        steps.append((obs, action_mask, action, policy.log_prob(action), value, reward, done))
    with torch.no_grad():
        next_value = critic(features(torch.as_tensor(observation).float())).squeeze(-1)
    advantages, advantage = [], torch.zeros(args.games)
    for *_, value, reward, done in reversed(steps):  # GAE, with gamma 1 and lambda 0.8
        bootstrap = (1 - torch.as_tensor(done).float()) * (next_value + 0.8 * advantage)
        next_value, advantage = value, torch.as_tensor(reward).float() + bootstrap - value
        advantages.insert(0, advantage)
    columns = (torch.cat([step[k] for step in steps]) for k in range(5))
    obs, action_mask, action, old_log_prob, value = columns
    returns = (advantage := torch.cat(advantages)) + value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for rows in torch.cat([torch.randperm(len(returns)) for _ in range(2)]).split(2048):
        policy, new_value = evaluate(obs[rows], action_mask[rows])
        ratio = (policy.log_prob(action[rows]) - old_log_prob[rows]).exp()
        clipped = ratio.clamp(0.8, 1.2) * advantage[rows]
        policy_loss = -torch.min(ratio * advantage[rows], clipped).mean()
        value_loss = 0.5 * (new_value - returns[rows]).square().mean()
        loss = policy_loss + value_loss - 0.03 * policy.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 0.5)
        optimizer.step()
    rates = [float((reward[done] > 0).mean()) for *_, reward, done in steps if done.any()]
    print(f"iteration {iteration}: {100 * sum(rates) / max(len(rates), 1):.1f} % won", flush=True)
