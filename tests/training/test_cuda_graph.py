"""A function as a CUDA graph, with a graph that runs it again in place of one on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, ClassVar

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from german_whist.training.algorithms.ppo import PPO
from german_whist.training.algorithms.settings import PPOSettings
from german_whist.training.distributed import Ranks
from german_whist.training.rollout import cuda_graph
from german_whist.training.rollout.backends import CpuTrainingBackend
from german_whist.training.rollout.cuda_graph import GraphedFunction

CALLS_BEFORE = 3


class Stream:
    def wait_stream(self, other: Stream) -> None:
        pass


class Graph:
    """Computes from the captured inputs, into the captured output."""

    made: ClassVar[list[Graph]] = []

    def __init__(self) -> None:
        self.replays = 0
        self.made.append(self)

    def replay(self) -> None:
        self.replays += 1
        capture = next(each for each in captures if each.graph is self)
        capture.values.copy_(torch.stack([*total(*capture.inputs).values()]))


captures: list[Any] = []


def total(pair: tuple[Tensor, Tensor], factor: Tensor, is_odd: bool) -> dict[str, Tensor]:
    sums = (pair[0] + pair[1]).sum()
    return {"total": sums * factor + is_odd, "sum": sums}


@pytest.fixture
def function(monkeypatch: pytest.MonkeyPatch) -> GraphedFunction:
    Graph.made.clear()
    captures.clear()
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", nullcontext)
    monkeypatch.setattr(torch.cuda, "graph", nullcontext)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)

    class Capture(cuda_graph._Capture):
        def __init__(self, *arguments: Any) -> None:
            captures.append(self)
            super().__init__(*arguments)

    monkeypatch.setattr(cuda_graph, "_Capture", Capture)
    return GraphedFunction(total)


def test_graph_gives_each_call_its_own_inputs_and_output(function: GraphedFunction) -> None:
    outputs = []
    for k in range(CALLS_BEFORE + 3):
        outputs.append(function((torch.full((2,), k), torch.ones(2)), torch.tensor(2.0), False))
    shown = [{name: each.item() for name, each in output.items()} for output in outputs]
    assert shown == [{"total": 4.0 * k + 4, "sum": 2.0 * k + 2} for k in range(6)]
    assert [graph.replays for graph in Graph.made] == [3]


def test_other_shapes_and_values_get_graphs_of_their_own(function: GraphedFunction) -> None:
    for size, is_odd in ((2, False), (3, False), (2, True)):
        for _ in range(CALLS_BEFORE + 1):
            output = function((torch.ones(size), torch.ones(size)), torch.tensor(1.0), is_odd)
            assert output["total"].item() == 2.0 * size + is_odd
    assert [graph.replays for graph in Graph.made] == [1, 1, 1]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Number of calls of each function that a trainer on the CPU would replay on a GPU."""
    counts: list[int] = []

    def as_graph(
        self: CpuTrainingBackend, function: Callable[..., dict[str, Tensor]]
    ) -> Callable[..., dict[str, Tensor]]:
        place = len(counts)
        counts.append(0)

        def call(*inputs: Any) -> dict[str, Tensor]:
            counts[place] += 1
            return function(*inputs)

        return call

    monkeypatch.setattr(CpuTrainingBackend, "as_graph", as_graph)
    return counts


SMALL: dict[str, Any] = {"n_envs": 4, "n_steps": 5, "hidden_sizes": (8,), "batch_size": 10}


def test_restored_ppo_makes_a_new_graph(calls: list[int]) -> None:
    trainer = PPO(PPOSettings(**SMALL))
    calls.clear()
    trainer.restore(*trainer.state())
    trainer.iterate()
    assert calls == [2]


@pytest.mark.parametrize(
    ("ranks", "n_graphs"), [(Ranks(), 1), (Ranks(0, 2), 0)], ids=["alone", "two ranks"]
)
def test_ppo_makes_graphs_where_it_learns_alone(
    ranks: Ranks, n_graphs: int, calls: list[int]
) -> None:
    PPO(PPOSettings(**SMALL))
    calls.clear()
    PPO(PPOSettings(**SMALL), ranks=ranks)
    assert len(calls) == n_graphs
