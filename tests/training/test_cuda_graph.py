"""A function as a CUDA graph, with a graph that runs it again in place of one on a GPU."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor

from german_whist.training.rollout import cuda_graph
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
        capture.output.copy_(total(*capture.inputs))


captures: list[Any] = []


def total(pair: tuple[Tensor, Tensor], factor: Tensor, is_odd: bool) -> Tensor:
    return (pair[0] + pair[1]) * factor + is_odd


@pytest.fixture
def graphed(monkeypatch: pytest.MonkeyPatch) -> GraphedFunction:
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


def test_graph_gives_each_call_its_own_inputs_and_output(graphed: GraphedFunction) -> None:
    outputs = []
    for k in range(CALLS_BEFORE + 3):
        outputs.append(graphed((torch.full((2,), k), torch.ones(2)), torch.tensor(2.0), False))
    assert [output.tolist() for output in outputs] == [[2.0 * k + 2] * 2 for k in range(6)]
    assert [graph.replays for graph in Graph.made] == [3]


def test_other_shapes_and_values_get_graphs_of_their_own(graphed: GraphedFunction) -> None:
    for size, is_odd in ((2, False), (3, False), (2, True)):
        for _ in range(CALLS_BEFORE + 1):
            output = graphed((torch.ones(size), torch.ones(size)), torch.tensor(1.0), is_odd)
            assert output.tolist() == [2.0 + is_odd] * size
    assert [graph.replays for graph in Graph.made] == [1, 1, 1]
