"""CleanRL: its `ppo.py` on the Gymnasium vector, with masks, by replacing lines of the file.

Run it with `python docs/interop/cleanrl_example.py`, in an environment with the file of
cleanrl 1.2.0; options go to `ppo.py`.
"""

from __future__ import annotations

import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import torch

from german_whist import PolicyAgent, evaluate

MAKE_VEC = """\
envs = gym.make_vec(
        "german_whist/GermanWhist-v0", args.num_envs, opponent="threshold", reward="win",
        suit_order="trump-first", horizon="foreplay",
    )
"""
# Gymnasium in place of Gym.
ENVIRONMENT = {
    "import gym\n": "import gymnasium as gym\nimport german_whist\n",
    """envs = gym.vector.SyncVectorEnv(
        [make_env(args.env_id, args.seed + i, i, args.capture_video, run_name) \
for i in range(args.num_envs)]
    )
""": MAKE_VEC,
    "    next_obs = torch.Tensor(envs.reset()).to(device)\n": """\
    next_obs, info = envs.reset(seed=args.seed)
    next_obs = torch.Tensor(next_obs).to(device)
""",
    "next_obs, reward, done, info = envs.step(": "next_obs, reward, done, _, info = envs.step(",
    "for item in info:": """\
for item in [{"episode": {"r": reward.mean(), "l": 13}}] * bool(done.all()):""",
}
# The masks: kept beside the observations, and given to the policy.
MASKS = {
    "def get_action_and_value(self, x, action=None):\n        logits = self.actor(x)\n": """\
def get_action_and_value(self, x, mask, action=None):
        logits = self.actor(x).masked_fill(mask == 0, -1e8)
""",
    "    global_step = 0\n": "    masks = torch.zeros((*obs.shape[:2], 52))\n    global_step = 0\n",
    "            obs[step] = next_obs\n": """\
            obs[step] = next_obs
            masks[step] = mask = torch.Tensor(info["action_mask"])
""",
    "agent.get_action_and_value(next_obs)": "agent.get_action_and_value(next_obs, mask)",
    "b_obs[mb_inds], b_actions": "b_obs[mb_inds], masks.reshape(-1, 52)[mb_inds], b_actions",
}
OPTIONS = (
    "--cuda False --num-envs 1024 --num-steps 13 --num-minibatches 8 --update-epochs 2 "
    "--learning-rate 1e-3 --gamma 1 --gae-lambda 0.8 --ent-coef 0.03 --total-timesteps 300000"
)


def changed_source() -> str:
    """The text of `ppo.py` with the replacements, each of which has to occur once."""
    path = Path(str(distribution("cleanrl").locate_file("cleanrl/ppo.py")))
    text = path.read_text(encoding="utf-8")
    for old, new in (ENVIRONMENT | MASKS).items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def main() -> None:
    """Train, and evaluate the policy."""
    torch.set_num_threads(1)
    sys.argv[1:] = [*OPTIONS.split(), *sys.argv[1:]]
    variables: dict[str, Any] = {"__name__": "__main__", "__file__": "ppo.py"}
    exec(compile(changed_source(), "ppo.py", "exec"), variables)

    def logits(observations: np.ndarray[Any, Any], _masks: Any) -> Any:
        with torch.no_grad():
            return variables["agent"].actor(torch.Tensor(observations))

    player = PolicyAgent("classic", logits, suit_order="trump-first", name="cleanrl")
    result = evaluate(player, ["random", "threshold"], hands=2000, seed=1, workers=1)
    for pairing in result.pairings:
        rate = pairing.win_rate.scaled(100)
        print(f"{pairing.opponent}: {rate.value:.1f} ± {rate.margin_of_error:.1f} % of hands won")


if __name__ == "__main__":
    main()
