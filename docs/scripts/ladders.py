"""Play the published ladders, one for each rule set, and write their page: `make ladder`.

First the champion plays against two opponents in every rule set, then a ladder of each, then
against searches with more and more time. Results are stored as JSON in build/ladder, and not played
again. With the names of rule sets only those are played; with `--page` nothing is. The page is
written from docs/results/ladder.json, where new results replace old ones.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from german_whist.agents.checkpoints import model_file, read_card
from german_whist.agents.checkpoints.bundled import CLASSIC_WEIGHTS
from german_whist.common.markup import markdown_table
from german_whist.engine.rules import named_rules
from german_whist.evaluation import Result
from german_whist.evaluation.elo import ELO_SCALE
from german_whist.evaluation.reports import charts, plots
from german_whist.evaluation.statistics import Estimate, mean_of

ROOT = Path(__file__).resolve().parents[2]
PLAYED = ROOT / "build" / "ladder"
FIGURES = ROOT / "docs" / "results" / "ladder.json"
PAGE = ROOT / "docs" / "results" / "ladder.md"
PICTURE = ROOT / "docs" / "pictures" / "time.svg"
SEED = 17042026
KEY = f"{SEED:032}"
"""Of the champion's hands, so that they are the same again."""
YARDSTICKS = {"counting": 10_000, "flat-mc:64": 10_000}
"""Opponents of the champion, with the number of hands."""
SEARCHES = [
    *(f"flat-mc:{n}" for n in (4, 16, 64, 256, 1024, 4096)),
    *(f"thinker:{n}" for n in (4, 16, 64, 256, 1024)),
    *(f"thinker:{n},ahead=1" for n in (16, 160, 1600, 8000)),
]
"""Opponents of the champion in the chart of strength against time per move."""
SEARCH_HANDS = 500
BESIDE = ("ismcts:1000", "ismcts:1000,endgame=search")
"""Agents that play against all of the classic ladder, whose ratings stay as they are."""
BESIDE_HANDS = 200
BESIDE_SEARCHES = [
    *(f"ismcts:{n}" for n in (10, 100, 1000)),
    *(f"ismcts:{n},endgame=search" for n in (100, 1000)),
    "flat-mc:64",
]
"""The same for the chart of strength against time per move."""

Figures = dict[str, Any]


def stored(name: str) -> Result | None:
    """A complete result of the present networks, if it is stored.

    An interrupted run has written what there was.
    """
    path = PLAYED / f"{name}.json"
    if not path.exists():
        return None
    result = Result.from_json(json.loads(path.read_text("utf-8")))
    bundled = CLASSIC_WEIGHTS.parent
    current = all(
        (bundled / file.file).exists() and model_file(bundled / file.file) == file
        for each in result.details
        for file in each.checkpoints
    )
    return result if result.complete and current else None


def play(name: str, words: Sequence[str]) -> None:
    """Store the result of a command of the arena as JSON, once."""
    if stored(name) is None:
        print(f"{name}: {' '.join(words)}", flush=True)
        command = [sys.executable, "-m", "german_whist", *words]
        subprocess.run([*command, "--json", str(PLAYED / f"{name}.json")], check=True)


def result_name(rules: str, opponent: str) -> str:
    """The name of the champion's hands against an agent."""
    return f"{rules}-{opponent.replace(':', '-')}"


def play_opponent(rules: str, opponent: str) -> None:
    """Let the champion play against one agent."""
    words = ["evaluate", "champion", "--against", opponent, "--rules", rules]
    words += ["--hands", str(YARDSTICKS[opponent]), "--seed", str(SEED), "--key", KEY]
    play(result_name(rules, opponent), words)


def play_ladder(rules: str) -> None:
    """Play the ladder of a rule set: of the classic one with more agents."""
    config = ["--config", "ladder"] if rules == "classic" else ["--config", "family"]
    key = figures()["ladders"].get(rules, {}).get("key")
    words = ["ladder", *config, "--rules", rules]
    play(rules, [*words, "--key", key] if key else words)


def play_searches() -> None:
    """Let the champion play against searches with more and more time."""
    words = ["evaluate", "champion", "--against", *SEARCHES, "--hands", str(SEARCH_HANDS)]
    result = stored("searches")
    if result is not None and result.agents[1:] != (*SEARCHES,):
        (PLAYED / "searches.json").unlink()
    play("searches", [*words, "--reduce-variance", "--seed", str(SEED), "--key", KEY])


def play_beside() -> None:
    """Let more agents play the deals of the classic ladder against all of its agents."""
    ladder = figures()["ladders"]["classic"]
    for agent in BESIDE:
        words = ["evaluate", agent, "--against", *ladder["players"], "--hands", str(BESIDE_HANDS)]
        words += ["--seed", str(ladder["seed"]), "--key", ladder["key"]]
        name = _file_name(agent)
        play(name, [*words, "--resume", str(PLAYED / f"{name}.journal")])
    words = ["evaluate", "champion", "--against", *BESIDE_SEARCHES, "--hands", str(SEARCH_HANDS)]
    play("beside", [*words, "--reduce-variance", "--seed", str(SEED), "--key", KEY])


def _file_name(agent: str) -> str:
    return agent.replace(":", "-").replace(",", "-").replace("=", "-")


# -- figures


def figures() -> Figures:
    """The figures of the page, those of stored results among them."""
    found: Figures = json.loads(FIGURES.read_text("utf-8"))
    for rules in named_rules():
        for opponent in YARDSTICKS:
            if (result := stored(result_name(rules, opponent))) is not None:
                found["champion"].setdefault(rules, {})[opponent] = _match_figures(result)
        if (result := stored(rules)) is not None:
            found["ladders"][rules] = _ladder_figures(result)
    if (result := stored("searches")) is not None:
        found["searches"] = _search_figures(result)
    if (result := stored("beside")) is not None:
        more = _search_figures(result)["lines"]
        found["searches"]["beside_ms"] = more["flat-mc"][0][0]
        for kind in ("ismcts", "ismcts,endgame=search"):
            found["searches"]["lines"][kind] = more[kind]
        found["searches"]["beside"] = [*result.agents[1:]]
    for agent in BESIDE:
        if (result := stored(_file_name(agent))) is not None:
            found.setdefault("beside", {})[agent] = _figures_beside(result, found)
    return found


def _figures_beside(result: Result, found: Figures) -> Figures:
    """Figures of an agent against those of the ladder, whose ratings are given."""
    agent, *others = result.agents
    pairings = [result.pairing(agent, other) for other in others]
    assert all(pairings)
    stages = [pairing.stages[0] for pairing in pairings if pairing is not None]
    ratings = np.array([found["ladders"]["classic"]["players"][other]["elo"] for other in others])
    lines = (PLAYED / f"{_file_name(agent)}.journal").read_text("utf-8").splitlines()[1:]
    deals = np.zeros(result.pairings[0].pairs)
    for line in map(json.loads, lines):
        start, scores = line["task"]["start"], np.array(line["chunk"]["scores"])
        deals[start : start + len(scores)] += scores / 2
    # Maximum likelihood: the rating at which the expected score is the one that was won.
    grid = np.arange(3000.0)
    probs = 1 / (1 + np.exp((ratings - grid[:, None]) / ELO_SCALE))
    elo = float(np.interp(deals.mean(), probs.sum(axis=1), grid))
    at_elo = probs[round(elo)]
    slope = float((at_elo * (1 - at_elo)).sum()) / ELO_SCALE
    mean = mean_of(deals)
    return {
        "hands": sum(2 * pairing.pairs for pairing in result.pairings),
        "machine": result.machine,
        "elo": round(elo),
        "reach": round(mean.margin_of_error / slope),
        "mean_wins": round(100 * mean.value / len(others), 1),
        "upcards": _mean([stage.upcards for stage in stages], 2),
        "thrown": _mean([stage.thrown for stage in stages], 2),
        "ms_a_move": _mean([stage.ms_a_move for stage in stages], 3),
        "wins": {
            other: [
                round(100 * pairing.win_rate.value, 1),
                round(100 * pairing.win_rate.margin_of_error, 1),
            ]
            for other, pairing in zip(others, pairings, strict=True)
            if pairing is not None
        },
    }


def strongest_circle(players: Figures) -> tuple[float, tuple[str, str, str]]:
    """Three agents of which each beats the next, and the lowest of these win rates in %."""
    circles = []
    for circle in permutations(players, 3):
        one, two, three = (players[name]["wins"] for name in circle)
        lowest = min(one[circle[1]], two[circle[2]], three[circle[0]])
        circles.append((lowest, circle))
    return max(circles)


def _match_figures(result: Result) -> Figures:
    pairing = result.pairings[0]
    return {
        "wins": _value_and_reach(asdict(pairing.win_rate), 100, 1),
        "pay": _value_and_reach(asdict(pairing.points), 1, 3),
        "hands": pairing.hands,
    }


def _ladder_figures(result: Result) -> Figures:
    assert result.ladder is not None
    ranked = result.ladder.ranked()
    players: Figures = {}
    for player, elo in ranked:
        met = {other: result.pairing(player, other) for other, _ in ranked if other != player}
        pairings = [pairing for pairing in met.values() if pairing is not None]
        win_rates = [pairing.win_rate.value for pairing in pairings]
        thrown = _mean([pairing.stages[0].thrown for pairing in pairings], 2)
        players[player] = {
            "elo": round(elo.value),
            "reach": _reach(elo, player == result.ladder.anchor),
            "mean_wins": round(100 * sum(win_rates) / len(win_rates), 1),
            "upcards": _mean([pairing.stages[0].upcards for pairing in pairings], 2),
            "ending_margin": _mean([pairing.ending_margin for pairing in pairings], 2),
            "thrown": 0.0 if pairings[0].stages[0].perfect and thrown is not None else thrown,
            "ms_a_move": _mean([pairing.stages[0].ms_a_move for pairing in pairings], 4),
            "wins": {
                other: round(100 * pairing.win_rate.value, 1)
                for other, pairing in met.items()
                if pairing is not None
            },
        }
    return {
        "hands": sum(2 * pairing.pairs for pairing in result.pairings),
        "seed": result.seed,
        "key": result.key,
        "machine": result.machine,
        "seconds": round(result.seconds, 1),
        "players": players,
    }


def _search_figures(result: Result) -> Figures:
    """Of each kind of search the milliseconds a move, and the hands won in %, with intervals."""
    lines = plots.curves_by_move_time(result)
    return {
        "hands": result.pairings[0].hands,
        "machine": result.machine,
        "revision": read_card(CLASSIC_WEIGHTS).revision,
        "searches": [*result.agents[1:]],
        "lines": {
            kind: [
                [float(f"{ms:.3g}"), round(wins, 1), round(margin_of_error, 1)]
                for (ms, wins), margin_of_error in zip(
                    line.points, line.margins_of_error, strict=True
                )
            ]
            for kind, line in lines.items()
        },
    }


def _reach(elo: Estimate, anchor: bool) -> int | None:
    """Half of a rating's interval, where it has one."""
    return None if anchor or math.isinf(elo.margin_of_error) else round(elo.margin_of_error)


def _mean(values: Sequence[float | None], digits: int) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), digits) if known else None


def _value_and_reach(estimate: dict[str, float], factor: float, digits: int) -> list[float]:
    """An estimate and half of its interval."""
    reach = factor * (estimate["high"] - estimate["low"]) / 2
    return [round(factor * estimate["value"], digits), round(reach, digits)]


def estimate_text(estimate: dict[str, float], factor: float, form: str) -> str:
    """A figure with half of its interval."""
    reach = factor * (estimate["high"] - estimate["low"]) / 2
    return f"{format(factor * estimate['value'], form)} ± {format(reach, form.lstrip('+'))}"


# -- the page

ABOUT = """\
# The ladder

This page shows how strong the agents are. On a *ladder*, every agent plays every other agent,
and all of them are rated by Elo. Use the page to choose opponents that are hard enough for your
agent, and to see how much a better policy or a longer search wins. A small ladder takes some
seconds:

```
german-whist ladder random threshold counting --hands 200
```

[Evaluate an agent](../guide/evaluate.md#rate-many-agents-on-a-ladder) explains what this
command prints. The [list of agents](../develop/agents.md) says how each agent plays.

All results on this page were played in the same way:

- Every deal is played twice, with the seats exchanged. A tie counts as half a win.
- When the *stock* (the cards that were not dealt) is empty, a player can work out the
  opponent's cards. From there on, the exact solver plays for all agents except `random`, and
  except agents with `endgame=search` in their name. If it plays for both agents, the hand is not
  played to its end, because the value of the endgame is known.
- In `humbug` and in the races (`race-7`, `race-9`), the solver does not know the value of an
  endgame. Their hands are played to the end.
- Elo ratings are fitted by maximum likelihood (Bradley–Terry). The rating of `threshold` is set
  to 1000.
- Intervals are 95 % intervals over deals.
- `--seed` determines the deals, and `--key` all other random numbers. With both, you get the
  same result again.

`make ladder` plays everything again, which takes some hours of one core. The file
`docs/results/ladder.json` has the result of every pairing, and the keys."""

CLASSIC = """\
## classic

This is the ladder of the rule set `classic`:

{ratings}

- *wins* is the mean win rate against all other agents.
- *upcards* is the number of tricks that an agent wins in the foreplay of a hand. The foreplay
  is the part of the hand with the stock.
- *ending* says how good the cards are that an agent collects in the foreplay. It is the number
  of tricks by which the agent wins the endgame if both players play it perfectly.

{circle}

Of the agents of the ladder, only `random` plays its own endgames. It loses {thrown:.2f} tricks
per hand there, compared with perfect play.

This command repeats the ladder. It plays {hands:,} hands, which took {minutes:.0f} minutes on
one core:

```
german-whist ladder --config ladder --key {key}
```

The ladder was played on this machine: {machine}.
This table is the [tablebase](../develop/endgame.md), which stores the values of endgames.

### Information-set search

`ismcts` is information-set Monte Carlo tree search with one tree for the player who searches
(Cowling, Powley and Whitehouse 2012). It is a standard search for games with hidden cards. Here
it makes 1,000 iterations per move. In the first row the exact solver plays the endgame. In the
second row, `ismcts` plays the endgame too, as is usual in the literature:

{beside}

*lost* is the number of tricks that the agent loses per endgame, compared with perfect play.
Times are processor times on {beside_machine}, while it was busy with other work.

`ismcts` was not part of the ladder. It played against all agents of the ladder, and their ratings
were held fixed:

```
german-whist evaluate AGENT --against ... --hands {beside_hands} --seed {seed} --key {key}
```

With the exact solver in the endgame, `ismcts:1000` is about as strong as `flat-mc:64`, which
samples deals and plays out each card. Without the solver, `ismcts:1000` is clearly weaker."""

CHAMPION = """\
## The champion in every rule set

The table shows how `champion` does in each [rule set](../reference/rules.md) against two
opponents: the rule of thumb `counting`, and the search `flat-mc:64`. The columns with an
opponent have the hands that `champion` wins, in percent. *points* is what it wins per hand:

{table}

Every cell comes from {hands:,} hands of this command:

```
german-whist evaluate champion --against AGENT --rules NAME --hands {hands} --seed {seed} \
--key {key}
```"""

FAMILY = """\
## Elo in the other rule sets

The table has a small ladder of five agents for each of the other rule sets. The rating of
`threshold` is 1000 in every one of them:

{table}

In some rule sets, agents make the same choices, so they have the same rating. In the races
`threshold`, `upcard-value` and `counting` agree. In `humbug`, `threshold` and `counting` agree.

Each ladder has {hands:,} hands with the seed {seed}. This command plays a ladder again. To
repeat it exactly, add `--key` with the key of the rule set in `docs/results/ladder.json`:

```
german-whist ladder --config family --rules NAME
```"""


TIME = """\
## Strength against time per move

How much stronger does a search get if it thinks longer? Each search played {hands:,} hands
against `champion`, on {machine}. The table has the time that the search needs per move, and the
hands that the search wins:

{table}

![Hands that searches win against the champion, over their time per move](../pictures/time.svg)

- `champion` itself takes {own_ms:g} ms per move.
- The number in a name says how much the search does. For `flat-mc` and `thinker` it is the
  number of sampled deals per move, and for `ismcts` the number of iterations.
- With `ahead=1`, `thinker` looks one trick further ahead.
- `flat-mc` and `ismcts` get stronger with more time, but they lose to `champion` at all of
  these settings. `thinker` uses the network of `champion`. From 64 sampled deals on, it is
  about as strong as `champion` or a little stronger.
- The rows of `ismcts` were measured separately, while the machine was busy. `flat-mc:64` then
  took {beside_ms:g} ms per move, so compare the times of `ismcts` with this figure.

```
german-whist evaluate champion --against {searches} --hands {hands} --reduce-variance \
--seed {seed} --key {key}
```"""


def page(found: Figures) -> str:
    """The page with these figures."""
    machine = found["ladders"]["classic"]["machine"]
    parts = [ABOUT, _classic_section(found["ladders"]["classic"], found["beside"])]
    others = {name: found["ladders"][name] for name in named_rules() if name != "classic"}
    parts.append(_champion_section(found["champion"]))
    if "searches" in found:
        parts.append(_time_section(found["searches"], machine))
    parts.append(_family_section(others))
    return "\n\n".join(parts) + "\n"


_BESIDE_COLUMNS = ("threshold", "counting", "flat-mc:64", "champion", "thinker:64")


def _unless_known(machine: str, known: str) -> str:
    return "the machine of the ladder" if machine == known else machine


def _classic_section(ladder: Figures, beside: Figures) -> str:
    players = ladder["players"]
    ratings = [["agent", "Elo", "wins, %", "upcards", "ending"]]
    for place, (name, player) in enumerate(players.items(), 1):
        figures = [
            f"{player['mean_wins']:.1f}",
            f"{player['upcards']:.2f}",
            f"{player['ending_margin']:+.2f}",
        ]
        ratings.append([f"{place}. `{name}`", _elo(player), *figures])
    lowest, circle = strongest_circle(players)
    one, two, three = (f"`{name}`" for name in circle)
    wins = {f"`{a}`": {f"`{b}`": won for b, won in players[a]["wins"].items()} for a in circle}
    worst = min((one, two), (two, three), (three, one), key=lambda pair: wins[pair[0]][pair[1]])
    verdict = (
        "A rating is misleading if three agents beat each other in a circle: A beats B, B beats C, "
        f"and C beats A. There is no such circle here. {one}, {two} and {three} come closest, but "
        f"{worst[0]} wins only {lowest:.1f} % against {worst[1]}."
        if lowest <= 50
        else f"The ratings hide a circle: {one} beats {two}, {two} beats {three}, and "
        f"{three} beats {one}, each with {lowest:.1f} % of hands or more."
    )
    rows = [["agent", "Elo", "wins, %", "upcards", "lost", "ms per move"]]
    rows[0] += [f"against `{name}`" for name in _BESIDE_COLUMNS]
    for name, figures in beside.items():
        cells = [f"{figures['mean_wins']:.1f}", f"{figures['upcards']:.2f}"]
        cells += [f"{figures['thrown'] or 0:.2f}", f"{figures['ms_a_move']:.1f}"]
        against = [figures["wins"][other] for other in _BESIDE_COLUMNS]
        rows.append(
            [f"`{name}`", _elo(figures), *cells, *(f"{w:.1f} ± {m:.1f}" for w, m in against)]
        )
    return CLASSIC.format(
        circle=verdict,
        beside_hands=BESIDE_HANDS,
        beside_machine=_unless_known(next(iter(beside.values()))["machine"], ladder["machine"]),
        beside=table(rows),
        **{name: ladder[name] for name in ("key", "seed", "hands", "machine")},
        minutes=ladder["seconds"] / 60,
        thrown=players["random"]["thrown"],
        ratings=table(ratings),
    )


def _champion_section(champion: Figures) -> str:
    rows = [["rule set"]]
    for opponent in YARDSTICKS:
        rows[0] += [f"against `{opponent}`", "points"]
    for rules in named_rules():
        cells = [f"`{rules}`"]
        for opponent in YARDSTICKS:
            result = champion[rules][opponent]
            (wins, wins_reach), (pay, pay_reach) = result["wins"], result["pay"]
            cells += [f"{wins:.1f} ± {wins_reach:.1f}", f"{pay:+.3f} ± {pay_reach:.3f}"]
        rows.append(cells)
    hands = next(iter(YARDSTICKS.values()))
    return CHAMPION.format(hands=hands, seed=SEED, key=KEY, table=table(rows))


def _family_section(ladders: Figures) -> str:
    first = next(iter(ladders.values()))
    names = [name for name in first["players"] if name != "threshold"]
    rows = [["rule set", *(f"`{name}`" for name in names)]]
    for rules, ladder in ladders.items():
        rows.append([f"`{rules}`", *(_elo(ladder["players"][name]) for name in names)])
    return FAMILY.format(seed=first["seed"], hands=first["hands"], table=table(rows))


def _time_section(searches: Figures, machine: str) -> str:
    rows = [["search", "ms per move", "hands won, %"]]
    names = dict.fromkeys([*searches["searches"], *searches["beside"]])
    for kind, points in searches["lines"].items():
        if kind != "champion":
            # Points are in order of time, as the names of a kind are in order of their amounts.
            of_kind = [name for name in names if plots.search_kind(name) == kind]
            for name, (ms, wins, reach) in zip(of_kind, points, strict=True):
                rows.append([f"`{name}`", f"{ms:g}", f"{wins:.1f} ± {reach:.1f}"])
    return TIME.format(
        hands=searches["hands"],
        own_ms=searches["lines"]["champion"][0][0],
        seed=SEED,
        key=KEY,
        machine=_unless_known(searches["machine"], machine),
        searches=" ".join(searches["searches"]),
        beside_ms=searches["beside_ms"],
        table=table(rows),
    )


def time_picture(searches: Figures) -> str:
    """The chart of strength against time per move."""
    lines = {
        kind: charts.Curve([(ms, wins) for ms, wins, _ in points], [reach for *_, reach in points])
        for kind, points in searches["lines"].items()
    }
    return charts.standalone(plots.strength_by_move_time("champion", lines), [*lines])


def _elo(player: Figures) -> str:
    reach = "" if player["reach"] is None else f" ± {player['reach']}"
    return f"{player['elo']}{reach}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A header and rows, numbers to the right."""
    return markdown_table(rows[0], rows[1:], right=range(1, len(rows[0])))


def main() -> None:
    """Play what is asked for, and write figures and page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rules", nargs="*", default=[*named_rules()], help="rule sets (all)")
    parser.add_argument("--page", action="store_true", help="play nothing, write the page")
    given = parser.parse_args()
    if not given.page:
        PLAYED.mkdir(parents=True, exist_ok=True)
        for opponent in YARDSTICKS:
            for rules in given.rules:
                play_opponent(rules, opponent)
        for rules in given.rules:
            play_ladder(rules)
        if "classic" in given.rules:
            play_searches()
            play_beside()
    found = figures()
    FIGURES.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(found), encoding="utf-8")
    if "searches" in found:
        PICTURE.write_text(time_picture(found["searches"]), encoding="utf-8")
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
