"""A hand of random cards in pictures: as text, as SVG, and as an animated GIF.

`python examples/random_hand.py` prints the table every 13 decisions, and writes `hand.svg` and
`hand.gif`; `--players champion threshold` lets other agents play.

Install in a clone: `pip install ".[render]"`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from PIL import Image

from german_whist import german_whist_v0
from german_whist.agents import Player
from german_whist.envs import Painter

TEXT, SVG, PIXELS = Painter("ansi"), Painter("svg"), Painter("rgb_array")


def main() -> None:
    """Play a hand, and write its pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", nargs=2, default=["random", "random"], metavar="NAME")
    parser.add_argument("--rules", default="classic")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=560, help="of the GIF, in pixels")
    parser.add_argument("--out", type=Path, default=Path("."), help="the folder for pictures")
    args = parser.parse_args()

    env = german_whist_v0.env(rules=args.rules)
    env.reset(seed=args.seed)
    game = env.unwrapped.game()
    names = (args.players[0], args.players[1])
    players = {
        agent: Player(name, args.rules, seed=args.seed)
        for agent, name in zip(env.agents, names, strict=True)
    }

    def frame() -> Image.Image:
        image = Image.fromarray(PIXELS.paint(game, 0, names, open_hands=True))
        image.thumbnail((args.width, args.width))
        return image.quantize(32, dither=Image.Dither.NONE)

    frames = [frame()]
    for agent in env.agent_iter():
        _, _, termination, truncation, info = env.last()
        if termination or truncation:
            print(agent, info["result"])
            env.step(None)
            continue
        view = env.unwrapped.view(agent)
        env.step(int(players[agent].choose(view)))
        game = env.unwrapped.game()
        frames.append(frame())
        if len(frames) % 13 == 0:
            print(TEXT.paint(game, 0, names, open_hands=True))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "hand.svg").write_text(SVG.paint(game, 0, names, open_hands=True))
    frames[0].save(
        args.out / "hand.gif", save_all=True, append_images=frames[1:], duration=800, loop=0
    )


if __name__ == "__main__":
    main()
