"""A language model plays, and is measured: wins, refused answers, and the cost of its cards.

`python examples/language_model.py` asks a scripted stand-in: put a call of your model in its place.
Install in a clone: `pip install .`.
"""

import argparse
import math
import random
from collections import defaultdict

import gymnasium

import german_whist

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rules", default="classic")
parser.add_argument("--opponent", default="threshold")
parser.add_argument("--costs", default="flat-mc:500,voids", help="exact, or a search")
parser.add_argument("--hands", type=int, default=20)
args = parser.parse_args()
chance = random.Random(1)


def model(conversation: list[str]) -> str:
    """Stands in for a language model: low cards, in changing words and at times a wrong format."""
    legal = conversation[-1].rpartition("Legal: ")[2].rstrip(".").split(", ")
    cards = [text for text in legal if len(text) == 2]  # others: "the hidden card", "keep the hand"
    chosen = min(cards or legal, key=lambda text: "23456789TJQKA".find(text[0]))
    name = german_whist.card(chosen).name if cards else chosen
    forms = [
        "{code}",
        "[{code}]",
        "I play the [{name}].",
        '{{"card": "{code}"}}',
        "I play the {name}.",
    ]
    return chance.choice(forms).format(code=chosen, name=name)


gymnasium.register_envs(german_whist)
env = gymnasium.make(
    "german_whist/GermanWhistText-v0",
    rules=args.rules,
    opponent=args.opponent,
    costs=args.costs,
    reward="win",
)
wins, answers, refused = 0.0, 0, 0
costs: dict[str, list[float]] = defaultdict(list)
for hand in range(args.hands):
    text, info = env.reset(seed=hand)
    conversation, reward, over = [text], 0.0, False
    while not over:
        answer = model(conversation)
        text, reward, over, _, info = env.step(answer)
        conversation += [answer, text]
        answers += 1
        refused += "refused" in info
        if math.isfinite(info.get("cost", math.nan)):
            costs[info["cost_source"]].append(info["cost"])
    wins += (float(reward) + 1) / 2
print(f"{args.opponent}: {100 * wins / args.hands:.0f} % of {args.hands} hands won")
print(f"{refused} of {answers} answers refused")
for source, found in costs.items():
    mean = sum(found) / len(found)
    print(f"a card costs {mean:.3f} on average, {source}, in {len(found)} decisions")
