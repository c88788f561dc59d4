"""PPO with a GRU over the `history` observation. Install in a clone: `pip install ".[train]"`.

`python examples/history_gru.py` learns ten minutes of one core against `threshold`.
"""

import argparse
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributions import Categorical

from german_whist import PolicyAgent, evaluate
from german_whist.envs import GermanWhistVectorEnv

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--minutes", type=float, default=10, help="of processor time")
parser.add_argument("--games", type=int, default=1024)
parser.add_argument("--hands", type=int, default=10_000, help="of the evaluation")
args = parser.parse_args()
torch.manual_seed(1)
torch.set_num_threads(1)
options: dict[str, Any] = {"suit_order": "trump-first", "observation": "history"}
envs = GermanWhistVectorEnv(
    args.games, opponent="threshold", horizon="foreplay", illegal="raise", **options
)
observation, info = envs.reset(seed=1)
event_embedding, trick_embedding = nn.Embedding(8 * 3 * 54, 128), nn.Embedding(26, 128)
gru, mlp = nn.GRU(128, 64, batch_first=True), nn.Sequential(nn.Linear(64 + 128, 256), nn.ReLU())
actor, critic = nn.Linear(256, 52), nn.Linear(256, 1)
network = nn.ModuleList([event_embedding, trick_embedding, gru, mlp, actor, critic])
optimizer = torch.optim.Adam(network.parameters(), eps=1e-5)


def policy(events: Tensor, last: Tensor, mask: Tensor) -> tuple[Categorical, Tensor]:
    """Policy and value after the `last` events of hands: from a GRU and the sum of embeddings."""
    kind, who, card, trick = events[:, : int(last.max()) + 1].long().unbind(-1)
    x = 0.3 * event_embedding((kind * 3 + who) * 54 + card) + 0.1 * trick_embedding(trick)
    hidden = mlp(torch.cat([gru(x)[0], x.cumsum(1)], -1)[torch.arange(len(events))[:, None], last])
    return Categorical(logits=actor(hidden).masked_fill(~mask, -1e8)), critic(hidden).squeeze(-1)


def tensors(events: Any, masks: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Events, the index of the last one of each hand, and masks."""
    last = (events[..., 0] > 0).sum(1, keepdims=True) - 1
    return torch.as_tensor(events), torch.as_tensor(last), torch.as_tensor(masks)[:, None] > 0


start = time.process_time()
while (progress := (time.process_time() - start) / (60 * args.minutes)) < 1:
    optimizer.param_groups[0]["lr"] = 2e-3 * (1 - progress)
    steps, events, reward = [], observation, observation
    for _ in range(13):  # until the stock is empty, which ends every hand
        events, last, mask = tensors(observation, info["action_mask"])
        distribution, value = torch.no_grad()(policy)(events, last, mask)
        action = distribution.sample()
        observation, reward, _, _, info = envs.step(action[:, 0].numpy())
        steps.append((last, mask, action, distribution.log_prob(action), value))
    last, mask, action, old_log_prob, value = (torch.cat(x, 1) for x in zip(*steps, strict=True))
    advantage = torch.cat([value[:, 1:], torch.as_tensor(reward).float()[:, None]], 1) - value
    for t in reversed(range(12)):  # GAE, with gamma 1 and lambda 0.8
        advantage[:, t] += 0.8 * advantage[:, t + 1]
    returns = advantage + value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    for rows in torch.cat([torch.randperm(args.games) for _ in range(2)]).split(128):
        distribution, new_value = policy(events[rows], last[rows], mask[rows])  # whole hands
        ratio = (distribution.log_prob(action[rows]) - old_log_prob[rows]).exp()
        loss = 0.5 * (new_value - returns[rows]).square().mean()
        loss -= torch.min(ratio * advantage[rows], ratio.clamp(0.8, 1.2) * advantage[rows]).mean()
        loss -= 0.03 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimizer.step()
    print(f"{100 * progress:.1f} % of the time: {100 * (reward > 0).mean():.1f} % won", flush=True)
likeliest = torch.no_grad()(lambda rows, masks: policy(*tensors(rows, masks))[0].logits[:, 0])
agent = PolicyAgent("classic", likeliest, **options)
result = evaluate(agent, "threshold", hands=args.hands, seed=10**9).pairings[0]
rate = result.win_rate.scaled(100)
print(f"threshold: {rate.value:.1f} ± {rate.margin_of_error:.1f} % won")
