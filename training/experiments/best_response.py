"""How much a fixed player can be beaten by, from below: two that are made to beat it.

One is a search that knows how the player decides (`agents/search/best_response.py`). The other is
a network that is trained by games against it alone. Both are measured on deals of their own, and
whichever did better is measured once more: what it wins there is a lower bound of the player's
exploitability, which only small decks tell exactly (`exploit`).
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ...agents.base import CannotPlay
from ...agents.checkpoints.bundled import champion_for
from ...agents.checkpoints.checkpoint import read_card
from ...agents.registry import make_agent
from ...common.files import atomic_write, check_writable
from ...common.schema import convert, read_json
from ...common.typed_settings import SettingsError, check_unchanged
from ...engine.rng import secret_of_seed
from ...engine.rules import Rules
from ...evaluation import Arena, evaluate
from ...evaluation.reports import charts as pictures
from ..callbacks.evaluation import evaluation_seed
from ..checkpoint import EvaluationResult
from ..runs.api import train_or_go_on
from ..runs.presets import settings_from
from ..settings import Settings

PLAN, RESULT, PAGE = "plan.json", "best_response.json", "best_response.html"
TRAINED = "trained"
_PARTS = "parts"
_POINTS = 5
_LAYERS = (512, 256)
_REMEDY = "name another folder by --out, or give what it was begun with"


class BestResponsePlan(Struct, frozen=True, kw_only=True):
    """What is answered, and at what expense."""

    agent: str
    rules: dict[str, Any]
    model: str
    """What the search takes the player for."""
    worlds: int
    decisions: int
    """Of the training; 0 for none."""
    hands: int
    seed: int


class MatchResult(Struct, frozen=True, kw_only=True):
    """What a player won against the one that is answered."""

    player: str
    hands: int
    seed: int
    key: str
    share: float
    """Of the hands; a tie is half a win."""
    share_reach: float
    """Half of its 95 % interval."""
    points: float
    """What it was paid a hand."""
    points_reach: float
    made_of: tuple[str, ...] = ()
    """Of both players: who plays endings, and the files of weights."""

    def text(self) -> str:
        """In words."""
        return (
            f"wins {100 * self.share:.1f} ± {100 * self.share_reach:.1f} % of {self.hands:,} "
            f"hands, {self.points:+.4f} ± {self.points_reach:.4f} a hand"
        )


class BestResponse(Struct, frozen=True, kw_only=True):
    """What was found about a player."""

    plan: BestResponsePlan
    tried: dict[str, MatchResult]
    """By `search` and `trained`."""
    best: MatchResult
    """The better of them, measured anew."""
    curve: list[EvaluationResult] = []
    """What the network won while it was trained."""


def find_best_response(
    plan: BestResponsePlan, rules: Rules, folder: Path, tell: Callable[[str], object] = print
) -> BestResponse:  # fmt: skip
    """Make both, measure them, and write what was found; goes on where it was broken off."""
    players, why = _players(plan, rules)
    wanted = training(plan, rules) if plan.decisions else None
    Arena([plan.agent, plan.agent], [(0, 1)], rules, hands=plan.hands, seed=plan.seed)
    _keep_plan(plan, folder)
    if why:
        tell(why)
    curve: list[EvaluationResult] = []
    if wanted is not None:
        trained = train_or_go_on(wanted, folder / TRAINED)
        players[TRAINED] = str(trained.checkpoint)
        curve = [each for each in trained.measured if each.opponent == plan.agent]
    tried = {}
    for number, (kind, player) in enumerate(players.items()):
        tried[kind] = _measured(plan, rules, folder / _PARTS / kind, player, number)
        tell(f"{player}: {tried[kind].text()}")
    best = max(tried, key=lambda kind: tried[kind].points)
    # Chosen by those hands, it is measured by others.
    again = _measured(plan, rules, folder / _PARTS / "best", players[best], len(players))
    found = BestResponse(plan=plan, tried=tried, best=again, curve=curve)
    with atomic_write(folder / RESULT) as file:
        file.write(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    with atomic_write(folder / PAGE, "w") as file:
        file.write(page(found))
    return found


def _players(plan: BestResponsePlan, rules: Rules) -> tuple[dict[str, str], str]:
    """The search, or none and why; refused where nothing is trained either."""
    search = f"responder:{plan.worlds},against={plan.model}"
    try:
        make_agent(search, rules)
    except CannotPlay as error:
        if plan.model != plan.agent:
            raise SettingsError(f"--model: {error}") from None
        if not plan.decisions:
            raise SettingsError(
                "give --decisions, with which a network is trained, since no search answers "
                f"{plan.agent}: {error}"
            ) from None
        return {}, f"no search: {error}"
    return {"search": search}, ""


def _keep_plan(plan: BestResponsePlan, folder: Path) -> None:
    check_writable(folder / RESULT)
    kept = folder / PLAN
    if kept.exists():
        told = read_json(kept.read_bytes(), kept, _REMEDY, SettingsError)
        before = convert(told, BestResponsePlan, kept, _REMEDY, SettingsError)
        check_unchanged(folder, msgspec.to_builtins(before), msgspec.to_builtins(plan), _REMEDY)
    with atomic_write(kept) as file:
        file.write(msgspec.json.format(msgspec.json.encode(plan), indent=1))


def _measured(
    plan: BestResponsePlan, rules: Rules, path: Path, player: str, number: int
) -> MatchResult:
    """What a player wins on the `number`-th lot of deals beside the training's, measured once."""
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=MatchResult)
    path.parent.mkdir(exist_ok=True)
    seed = evaluation_seed(plan.seed) + number
    # The key follows from the seed, so that the same command gives the same result.
    key = secret_of_seed(seed, "best response").hex()
    result = evaluate(player, plan.agent, rules, hands=plan.hands, seed=seed, key=key)
    pairing = result.pairings[0]
    won = MatchResult(
        player=player, hands=pairing.hands, seed=seed, key=result.key,
        share=pairing.win_rate.value, share_reach=pairing.win_rate.half_width,
        points=pairing.points.value, points_reach=pairing.points.half_width,
        made_of=tuple(map(str, result.details)),
    )  # fmt: skip
    with atomic_write(path) as file:
        file.write(msgspec.json.encode(won))
    return won


def training(plan: BestResponsePlan, rules: Rules) -> Settings:
    """A training against one player, from the champion's weights where there are any."""
    each = max(1, plan.decisions // _POINTS)
    return settings_from({
        "trainer": "ppo", "about": f"to beat {plan.agent}", "rules": plan.rules,
        "init": _init(rules), "hidden_sizes": list(_LAYERS), "decisions": plan.decisions,
        "reward": "win" if rules.pay == "win" else "points", "horizon": "auto",
        "opponents": [plan.agent], "pool_fraction": 1.0, "pool_size": 0, "seed": plan.seed,
        # A critic that was made for other games misleads a policy that begins well.
        "critic_warmup": 0.1, "critic_lr_scale": 2.0,
        "n_envs": 1024, "batch_size": 1024, "learning_rate": 5e-4,
        "ent_coef": 0.01, "ent_coef_end": 0.001,
        "eval_every": each, "save_every": each, "eval_opponents": [plan.agent],
        "eval_hands": 2_000, "final_eval_hands": 2_000, "eval_mode": "sync",
    })  # fmt: skip


def _init(rules: Rules) -> str:
    try:
        path = champion_for(rules)
    except CannotPlay:
        return ""
    return "champion" if tuple(read_card(path).network.hidden_sizes) == _LAYERS else ""


def page(found: BestResponse) -> str:
    """A page with what was found, and the curve of the training."""
    plan = found.plan
    rows = [[kind, won.player, won.text()] for kind, won in found.tried.items()]
    rows.append(["the better, again", found.best.player, found.best.text()])
    parts = [
        f"<h1>What beats {plan.agent}</h1>",
        pictures.card(pictures.table(["", "player", "against it"], rows)),
    ]
    parts += [f"<p class='soft'>{escape(each)}</p>" for each in found.best.made_of]
    if found.curve:
        line = pictures.Curve(
            [(each.decisions, 100 * each.win_rate) for each in found.curve],
            [100 * each.half_width for each in found.curve],
        )
        picture = pictures.curves({TRAINED: line}, "decisions", "hands won, in %", reference=50.0)
        parts.append(pictures.card(pictures.figure(picture, "the network while it was trained")))
    return pictures.page(f"What beats {plan.agent}", parts)
