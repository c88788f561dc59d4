"""A hand of random cards in pictures: as text, as a drawing, and as a film.

`python examples/random_hand.py` prints the table now and then, and writes `hand.svg` and
`hand.gif`; `--players champion threshold` lets others play. Pictures need
`pip install 'german-whist[render]'`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from PIL import Image

from german_whist import german_whist_v0
from german_whist.agents import Player
from german_whist.envs.render.modes import Painter

TEXT, DRAWING, PHOTOGRAPH = Painter("ansi"), Painter("svg"), Painter("rgb_array")


def main() -> None:
    """Play a hand, and write its pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", nargs=2, default=["random", "random"], metavar="NAME")
    parser.add_argument("--rules", default="classic")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--width", type=int, default=560, help="of the film, in pixels")
    parser.add_argument("--out", type=Path, default=Path("."), help="the folder for pictures")
    given = parser.parse_args()

    env = german_whist_v0.env(rules=given.rules)
    env.reset(seed=given.seed)
    game = env.unwrapped.game()
    names = (given.players[0], given.players[1])
    players = {
        agent: Player(name, given.rules, seed=given.seed)
        for agent, name in zip(env.agents, names, strict=True)
    }

    def photograph() -> Image.Image:
        shown = Image.fromarray(PHOTOGRAPH.paint(game, 0, names, open_hands=True))
        shown.thumbnail((given.width, given.width))
        return shown.quantize(32, dither=Image.Dither.NONE)

    film = [photograph()]
    for agent in env.agent_iter():
        _, _, over, cut, info = env.last()
        if over or cut:
            print(agent, info["result"])
            env.step(None)
            continue
        view = env.unwrapped.view(agent)
        env.step(int(players[agent].choose(view)))
        game = env.unwrapped.game()
        film.append(photograph())
        if len(film) % 13 == 0:
            print(TEXT.paint(game, 0, names, open_hands=True))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "hand.svg").write_text(DRAWING.paint(game, 0, names, open_hands=True))
    film[0].save(
        given.out / "hand.gif", save_all=True, append_images=film[1:], duration=800, loop=0
    )


if __name__ == "__main__":
    main()
