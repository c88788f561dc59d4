"""Evaluation of checkpoints: matches against opponents and earlier checkpoints."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from msgspec import Struct

from ...agents.base import CannotPlay
from ...agents.checkpoints import list_checkpoints, read_card, read_checkpoint
from ...agents.checkpoints.schema import Measurement
from ...agents.networks.policy import NetworkAgent
from ...agents.registry import check_agent_names, is_own_code, load_agent
from ...common.executors import Executor, WorkersLost
from ...common.jit.side_by_side import compiled_in_background
from ...engine.rng import secret_of_seed
from ...evaluation import EveryHandForfeited, evaluate
from ...evaluation.chunk_player import PlayConfig, make_all
from ...evaluation.formats import in_columns
from ..run_state import EvaluationResult
from ..settings import Settings

# Evaluations have deals of their own, far from the seeds that people give to trainings. The key of
# the agents' random streams follows from the seed, so that a resumed run has the same results.
EVALUATION_SEED = 0x6D656173757265
ITSELF = "itself"


def evaluation_seed(seed: int) -> int:
    """Seed of the deals on which an agent that was trained with `seed` is evaluated.

    Training and evaluation both number the deals of their seed from 0.
    """
    return EVALUATION_SEED + 1 + seed


def check_eval_names(settings: Settings) -> None:
    """Refuse unknown opponents, before anything is compiled."""
    with _naming_the_setting():
        check_agent_names(_opponents_of(settings))


def check_eval_opponents(settings: Settings) -> None:
    """Refuse opponents that cannot be made; a known one may be unable to play these rules."""
    names = [*_opponents_of(settings)]
    own = [name for name in names if is_own_code(name)]
    configs = [PlayConfig(options.rules) for options in settings.all_options]
    with compiled_in_background(partial(make_all, own, configs if names else [])):
        for name in names:
            for options in settings.all_options:
                with _naming_the_setting(), suppress(CannotPlay):
                    load_agent(name, options.rules)


def _opponents_of(settings: Settings) -> Iterable[str]:
    return dict.fromkeys((*settings.eval_opponents, *settings.final_eval_opponents))


@contextmanager
def _naming_the_setting() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"eval_opponents: {error}") from None


class CheckpointEvaluation(Struct):
    """Results of a checkpoint, and reasons why opponents could not play."""

    results: list[EvaluationResult]
    messages: list[str]


def evaluate_checkpoint(
    path: Path,
    opponents: Iterable[str],
    hands: int,
    *,
    seed: int = EVALUATION_SEED,
    against_earlier: bool = True,
) -> CheckpointEvaluation:
    """Evaluate a checkpoint against opponents and an earlier one, in each of its rule sets.

    Every evaluation plays the same deals, those of the seed.
    """
    checkpoint = read_checkpoint(path)
    earlier = earlier_checkpoint(path) if against_earlier else None
    key = secret_of_seed(seed, "measuring").hex()
    evaluation = CheckpointEvaluation([], [])
    for rules in checkpoint.rules:
        agent = NetworkAgent(rules, checkpoint)
        named_opponents: list[tuple[str, str | NetworkAgent]] = [
            (n, n) for n in dict.fromkeys(opponents)
        ]
        if earlier is not None:
            name = f"{ITSELF}@{int(earlier.stem):,}"
            named_opponents.append((name, NetworkAgent(rules, read_checkpoint(earlier))))
        for name, opponent in named_opponents:
            try:
                result = evaluate(agent, opponent, rules, hands=hands, seed=seed, key=key)
            except (CannotPlay, EveryHandForfeited) as error:
                evaluation.messages.append(str(error))
                continue
            if result.signal:  # a part of the hands is no evaluation
                raise KeyboardInterrupt
            pairing = result.pairings[0]
            evaluation.results.append(
                EvaluationResult(
                    decisions=int(path.stem),
                    opponent=name,
                    win_rate=pairing.win_rate.value,
                    margin_of_error=pairing.win_rate.margin_of_error,
                    margin=pairing.margin.value,
                    hands=pairing.hands,
                    rules=rules.name if len(checkpoint.rules) > 1 else "",
                )
            )
    return evaluation


def earlier_checkpoint(path: Path) -> Path | None:
    """The checkpoint of the same run after about half of the decisions."""
    decisions = int(path.stem)
    earlier = [other for other in list_checkpoints(path.parent) if int(other.stem) < decisions]
    return min(earlier, key=lambda other: abs(int(other.stem) - decisions / 2), default=None)


RESULT_COLUMNS = ["against", "wins", "margin", "hands"]


def result_row(result: Measurement) -> list[str]:
    """Opponent, win rate, margin and hands as text."""
    win_rate = f"{100 * result.win_rate:.1f} ± {100 * result.margin_of_error:.1f} %"
    return [result.title, win_rate, f"{result.margin:+.2f}", f"{result.hands:,}"]


def results_table(path: Path) -> str:
    """Results on a checkpoint's card, as lines of text."""
    return "\n".join(in_columns(RESULT_COLUMNS, [*map(result_row, read_card(path).evaluations)]))


_Task = tuple[Path, tuple[str, ...], int]


class EvaluationQueue:
    """Evaluations of checkpoints, one at a time in the order of submission."""

    def __init__(self, opponents: Iterable[str], hands: int) -> None:
        self._opponents, self._hands = tuple(opponents), hands
        self._executor: Executor[_Task, CheckpointEvaluation] = Executor(_worker, helper=True)
        self._submitted: deque[tuple[Path, Future[CheckpointEvaluation]]] = deque()

    @property
    def pending(self) -> list[int]:
        """Decisions of the checkpoints that are still to be evaluated."""
        return [int(path.stem) for path, _ in self._submitted]

    def submit(self, path: Path) -> None:
        """Evaluate a checkpoint after those that were submitted before."""
        future = self._executor.submit((path, self._opponents, self._hands))
        self._submitted.append((path, future))

    def finished(self, wait: bool = False) -> Iterator[tuple[Path, CheckpointEvaluation]]:
        """Results so far, in order; with `wait` those of all submitted checkpoints."""
        while self._submitted and (wait or self._submitted[0][1].done()):
            path, future = self._submitted[0]
            try:
                results = future.result()
            except WorkersLost as error:  # for want of memory, perhaps
                results = CheckpointEvaluation([], [f"{path.name} is not evaluated: {error}"])
            # Only now: a signal during the wait leaves it pending, and a resumed run repeats it.
            self._submitted.popleft()
            yield path, results

    def close(self) -> None:
        self._executor.close()


def _worker(_: None) -> Callable[[_Task], CheckpointEvaluation]:
    return lambda task: evaluate_checkpoint(*task)
