"""PPO in one file in CleanRL's manner, on the Gymnasium vector.

`python examples/cleanrl_ppo.py` learns ten minutes of one core against `threshold`, and with
`--opponent self` against its own policy. With `--state` the critic sees both hands and the stock.
Install in a clone: `pip install ".[train]"`.
"""

import argparse
import time
from typing import Any

import gymnasium
import torch
from torch import Tensor, nn
from torch.distributions import Categorical

import german_whist
from german_whist import OBSERVATION_SPEC, STATE_SPEC

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--minutes", type=float, default=10, help="of processor time")
parser.add_argument("--rules", default="classic", help="with a stock, and cards alone to choose")
parser.add_argument("--opponent", default="threshold", help="self: the policy that learns")
parser.add_argument("--games", type=int, default=1024)
parser.add_argument("--hands", type=int, default=10_000, help="of the evaluation")
parser.add_argument("--state", action="store_true", help="a privileged critic")
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
tricks = (rules := german_whist.load_rules(args.rules)).foreplay_tricks
if rules.choice or not tricks:
    parser.error(f"{args.rules}: its hands differ in length, or have no stock")
gymnasium.register_envs(german_whist)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
likeliest = torch.no_grad()(lambda observations, masks: policy(observations, masks)[0].logits)
agent, itself = (
    german_whist.PolicyAgent(args.rules, likeliest, suit_order="trump-first", sample=by, name="ppo")
    for by in (False, True)
)
opponent = itself if args.opponent == "self" else args.opponent
options: Any = {"rules": args.rules, "illegal": "raise", "with_state": args.state}
name = "german_whist/GermanWhistForeplay-v0"
envs = gymnasium.make_vec(name, args.games, opponent=opponent, **options)
position = slice(STATE_SPEC.group("played_at").start)  # the state without its history


def hidden_layers(size: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(size, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU())


features = hidden_layers(OBSERVATION_SPEC.size)
critic_features = hidden_layers(position.stop) if args.state else features
actor, critic = nn.Linear(256, 52), nn.Linear(256, 1)
network = nn.ModuleList([features, critic_features, actor, critic])
optimizer = torch.optim.Adam(network.parameters(), eps=1e-5)


def policy(observations: Any, masks: Any, states: Any = None) -> tuple[Categorical, Tensor]:
    """The policy over legal cards, and the value, which a privileged critic tells by the state."""
    x = features(torch.as_tensor(observations).float())
    logits = actor(x).masked_fill(~torch.as_tensor(masks).bool(), -1e8)
    if args.state and states is not None:
        x = critic_features(states.float())
    return Categorical(logits=logits), critic(x).squeeze(-1)


observation, info = envs.reset(seed=args.seed)
start = time.process_time()
while (progress := (time.process_time() - start) / (60 * args.minutes)) < 1:
    optimizer.param_groups[0]["lr"] = 1e-3 * (1 - progress)
    steps, reward = [], observation
    for _ in range(tricks):  # until the stock is empty, which ends every hand
        obs, mask = torch.as_tensor(observation), torch.as_tensor(info["action_mask"])
        state = torch.as_tensor(info["state"][:, position] if args.state else observation[:, :0])
        distribution, value = torch.no_grad()(policy)(obs, mask, state)
        action = distribution.sample()
        observation, reward, _, _, info = envs.step(action.numpy())
        steps.append((obs, mask, state, action, distribution.log_prob(action), value))
    obs, mask, state, action, old_log_prob, value = map(torch.stack, zip(*steps, strict=True))
    advantage = torch.cat([value[1:], torch.as_tensor(reward).float()[None]]) - value
    for t in reversed(range(tricks - 1)):  # GAE, with gamma 1 and lambda 0.8
        advantage[t] += 0.8 * advantage[t + 1]
    returns = advantage + value
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    batch = [x.flatten(0, 1) for x in (obs, mask, state, action, old_log_prob, returns, advantage)]
    for rows in torch.cat([torch.randperm(tricks * args.games) for _ in range(2)]).split(2048):
        obs, mask, state, action, old_log_prob, returns, advantage = (x[rows] for x in batch)
        distribution, new_value = policy(obs, mask, state)
        ratio = (distribution.log_prob(action) - old_log_prob).exp()
        policy_loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        value_loss = 0.5 * (new_value - returns).square().mean()
        loss = policy_loss + value_loss - 0.03 * distribution.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        optimizer.step()
    print(f"{100 * progress:.1f} % of the time: {100 * (reward > 0).mean():.1f} % won", flush=True)
opponents = ["threshold", "counting"]
print(german_whist.evaluate(agent, opponents, args.rules, hands=args.hands, seed=10**9))
