"""Lower bound on a player's exploitability: two approximate best responses to it.

One is a search that knows the player's probabilities (`agents/search/best_response.py`), the other
a network trained by games against it alone, as in Timbers and others 2022, "Approximate
exploitability", arXiv:2004.09677. Both are evaluated on deals of their own, and the better one on
fresh deals: its result there is the bound. Small decks have the exact value (`exploitability`).
"""

from __future__ import annotations

import math
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
from ...common.files import check_writable, write_file
from ...common.settings_files import keep_settings
from ...common.typed_settings import CheckedSettings, SettingsError
from ...engine.rng import secret_of_seed
from ...engine.rules import Rules
from ...evaluation import Arena, evaluate
from ...evaluation.reports import charts
from ..callbacks.evaluation import evaluation_seed
from ..checkpoint import EvaluationResult
from ..runs.api import train_or_go_on
from ..runs.presets import settings_from
from ..settings import Settings

PLAN, RESULT, PAGE = "plan.yaml", "best_response.json", "best_response.html"
TRAINED = "trained"
_MATCHES = "parts"
_EVALUATIONS = 5
_HIDDEN_SIZES = (512, 256)
_REMEDY = "name another folder by --out, or give what it was begun with"


class BestResponsePlan(CheckedSettings, frozen=True, kw_only=True):
    """The player to beat, and the budget."""

    agent: str
    rules: dict[str, Any]
    model: str
    """Opponent model of the search, by default the agent."""
    worlds: int
    """Determinizations of the search."""
    decisions: int
    """Budget of the training; 0: no training."""
    hands: int
    seed: int


class MatchResult(Struct, frozen=True, kw_only=True):
    """Result of a match against the player."""

    player: str
    hands: int
    seed: int
    key: str
    win_rate: float
    """A tie is half a win."""
    half_width: float
    """Half of the 95 % interval of the win rate."""
    points: float
    """Mean pay of a hand."""
    points_half_width: float | None
    """None where the points of all deals were equal, which bounds nothing."""
    details: tuple[str, ...] = ()
    """Endgame player and weight files of both players."""

    def text(self) -> str:
        half = "" if self.points_half_width is None else f" ± {self.points_half_width:.4f}"
        return (
            f"wins {100 * self.win_rate:.1f} ± {100 * self.half_width:.1f} % of {self.hands:,} "
            f"hands, {self.points:+.4f}{half} a hand"
        )


class BestResponse(Struct, frozen=True, kw_only=True):
    """Results of both responses to a player."""

    plan: BestResponsePlan
    matches: dict[str, MatchResult]
    """Matches of `search` and `trained`."""
    best: MatchResult
    """Match of the better one on fresh deals."""
    evaluations: list[EvaluationResult] = []
    """Evaluations of the network during its training."""


def find_best_response(
    plan: BestResponsePlan, rules: Rules, folder: Path, tell: Callable[[str], object] = print
) -> BestResponse:  # fmt: skip
    """Make and evaluate both responses; resumes an interrupted computation of the folder."""
    players, problem = _search_player(plan, rules)
    settings = training_settings(plan, rules) if plan.decisions else None
    Arena([plan.agent, plan.agent], [(0, 1)], rules, hands=plan.hands, seed=plan.seed)
    check_writable(folder / RESULT)
    keep_settings(folder / PLAN, plan, _REMEDY)
    if problem:
        tell(problem)
    evaluations: list[EvaluationResult] = []
    if settings is not None:
        trained = train_or_go_on(settings, folder / TRAINED)
        players[TRAINED] = str(trained.checkpoint)
        evaluations = [
            evaluation for evaluation in trained.evaluations if evaluation.opponent == plan.agent
        ]
    matches: dict[str, MatchResult] = {}
    for number, (kind, player) in enumerate(players.items()):
        matches[kind] = _play_match(plan, rules, folder / _MATCHES / kind, player, number)
        tell(f"{player}: {matches[kind].text()}")
    best = players[max(matches, key=lambda kind: matches[kind].points)]
    # The better of two results is biased upwards, so it plays again on other deals.
    again = _play_match(plan, rules, folder / _MATCHES / "best", best, len(players))
    result = BestResponse(plan=plan, matches=matches, best=again, evaluations=evaluations)
    write_file(folder / RESULT, msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n")
    write_file(folder / PAGE, page(result))
    return result


def _search_player(plan: BestResponsePlan, rules: Rules) -> tuple[dict[str, str], str]:
    """The search by its kind, or none and the reason; refused where nothing is trained either."""
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


def _play_match(
    plan: BestResponsePlan, rules: Rules, path: Path, player: str, number: int
) -> MatchResult:
    """Match against the agent on the evaluation deals with this number, stored in a file."""
    if path.exists():
        return msgspec.json.decode(path.read_bytes(), type=MatchResult)
    path.parent.mkdir(exist_ok=True)
    seed = evaluation_seed(plan.seed) + number
    # The key follows from the seed, so that the same command gives the same result.
    key = secret_of_seed(seed, "best response").hex()
    result = evaluate(player, plan.agent, rules, hands=plan.hands, seed=seed, key=key)
    pairing = result.pairings[0]
    points_half_width = pairing.points.half_width
    match = MatchResult(
        player=player, hands=pairing.hands, seed=seed, key=result.key,
        win_rate=pairing.win_rate.value, half_width=pairing.win_rate.half_width,
        points=pairing.points.value,
        points_half_width=points_half_width if math.isfinite(points_half_width) else None,
        details=tuple(map(str, result.details)),
    )  # fmt: skip
    write_file(path, msgspec.json.encode(match))
    return match


def training_settings(plan: BestResponsePlan, rules: Rules) -> Settings:
    """A training against the player alone, initialized with the champion where there is one."""
    try:
        champion = read_card(champion_for(rules)).network.hidden_sizes
    except CannotPlay:
        champion = ()
    every = max(1, plan.decisions // _EVALUATIONS)
    return settings_from({
        "trainer": "ppo", "about": f"to beat {plan.agent}", "rules": plan.rules,
        "init": "champion" if tuple(champion) == _HIDDEN_SIZES else "",
        "hidden_sizes": list(_HIDDEN_SIZES), "decisions": plan.decisions,
        "reward": "win" if rules.pay == "win" else "points", "horizon": "auto",
        "opponents": [plan.agent], "pool_fraction": 1.0, "pool_size": 0, "seed": plan.seed,
        # A critic that was trained for other games misleads a policy that starts well.
        "critic_warmup": 0.1, "critic_lr_scale": 2.0,
        "n_envs": 1024, "batch_size": 1024, "learning_rate": 5e-4,
        "ent_coef": 0.01, "ent_coef_end": 0.001,
        "eval_every": every, "save_every": every, "eval_opponents": [plan.agent],
        "eval_hands": 2_000, "final_eval_hands": 2_000, "eval_mode": "sync",
    })  # fmt: skip


def page(result: BestResponse) -> str:
    """The matches and the learning curve as a page of HTML."""
    agent = result.plan.agent
    rows = [[kind, match.player, match.text()] for kind, match in result.matches.items()]
    rows.append(["the better, again", result.best.player, result.best.text()])
    parts = [
        f"<h1>What beats {agent}</h1>",
        charts.card(charts.table(["", "player", "against it"], rows)),
    ]
    parts += [f"<p class='soft'>{escape(detail)}</p>" for detail in result.best.details]
    if result.evaluations:
        curve = charts.Curve(
            [
                (evaluation.decisions, 100 * evaluation.win_rate)
                for evaluation in result.evaluations
            ],
            [100 * evaluation.half_width for evaluation in result.evaluations],
        )
        chart = charts.curves({TRAINED: curve}, "decisions", "hands won, in %", reference=50)
        parts.append(charts.card(charts.figure(chart, "the network while it was trained")))
    return charts.page(f"What beats {agent}", parts)
