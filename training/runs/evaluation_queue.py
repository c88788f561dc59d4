"""Evaluation of checkpoints in a process of its own, so that the training need not wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path

from ...common.executors import Executor, WorkersLost
from ..callbacks.evaluation import CheckpointEvaluation, evaluate_checkpoint

_Task = tuple[Path, tuple[str, ...], int]


class EvaluationQueue:
    """Evaluations of checkpoints, one at a time in the order of submission."""

    def __init__(self, opponents: Iterable[str], hands: int) -> None:
        self._opponents, self._hands = tuple(opponents), hands
        self._executor: Executor[_Task, CheckpointEvaluation] = Executor(_worker)
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
