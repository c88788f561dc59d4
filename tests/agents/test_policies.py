"""External policies: observations, logits, actions, ONNX, SB3, plug-ins."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agent_views import act_on, selfplay_views

from german_whist import OBSERVATION_SPEC, Game, PolicyAgent, load_agent, network_inputs
from german_whist.agents import agent_names
from german_whist.agents.base import CannotPlay
from german_whist.agents.heuristic.random import RandomAgent
from german_whist.cli import main
from german_whist.engine.dtypes import VIEW
from german_whist.evaluation import evaluate, ladder
from german_whist.evaluation.exploitability.exact import measure_exploitability
from german_whist.training.callbacks.base import CALLBACKS

pytestmark = pytest.mark.usefixtures("few_checked_hands")

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("suit_order", ["raw", "trump-first"])
@pytest.mark.parametrize("observation", ["vector", "history"])
@pytest.mark.parametrize("rules", ["classic", "draft", "no-trump"])
def test_views_look_as_in_the_environments(rules: str, suit_order: str, observation: str) -> None:
    views, step, env = selfplay_views(rules, suit_order=suit_order, observation=observation)
    observed = network_inputs(views, rules, suit_order=suit_order, observation=observation)
    assert np.array_equal(observed.observations, step.observations)
    assert np.array_equal(observed.masks, step.masks)
    # The way back: what is chosen as it is shown is the card that the environment plays.
    shown = (step.masks * np.random.default_rng(2).random(step.masks.shape)).argmax(1)
    seats = step.seats
    real = observed.real(shown)
    before = [env.view(k, int(seats[k])) for k in range(64)]
    assert all(int(real[k]) in before[k].legal() for k in range(64))
    env.step(shown)
    for k in range(64):
        if int(real[k]) < 52 and before[k].phase == "lead":
            after = env.view(k, int(seats[k]))
            assert int(real[k]) not in after.hand


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda views: network_inputs(views, suit_order="trumps"), "suit_order is 'trumps'"),
        (lambda views: network_inputs(views, observation="rows"), "observation is 'rows'"),
        (lambda views: network_inputs(views["hand"]), "views are uint64: give VIEW records"),
        (lambda views: network_inputs(views).real([1, 2]), "one whole number for each of 64 views"),
        (lambda views: network_inputs(views).real(np.zeros(64)), "actions are float64"),
    ],
)
def test_what_can_not_be_observed_is_refused(call: Any, message: str) -> None:
    views, _, _ = selfplay_views()
    with pytest.raises(ValueError, match=message):
        call(views)


def test_a_policy_of_histories_is_given_whole_histories() -> None:
    batches: list[Any] = []

    def policy(observations: Any, masks: Any) -> Any:
        batches.append(observations)
        return masks

    options = {"suit_order": "trump-first", "observation": "history"}
    agent = PolicyAgent("classic", policy, **options)  # type: ignore[arg-type]
    evaluate(agent, "random", hands=4, seed=1)
    tricks_led = [(batch[..., 0] == 4).sum(1).max() for batch in batches]
    assert max(tricks_led) > 10, "the tricks that are over are left out"
    views, step, _ = selfplay_views(**options)
    act_on(agent, views)
    assert np.array_equal(batches[-1], step.observations)


def lowest(observations: Any, masks: Any) -> Any:
    return -np.arange(52) - np.zeros(masks.shape)


def test_a_function_plays_by_logits_or_by_actions() -> None:
    views, _, _ = selfplay_views()
    by_logits = act_on(PolicyAgent("classic", lowest), views)
    by_actions = act_on(PolicyAgent("classic", lambda observations, masks: masks.argmax(1)), views)
    assert np.array_equal(by_logits, by_actions)
    assert np.array_equal(by_logits, [min(legal) for legal in legal_of(views)])
    assert PolicyAgent("classic", lowest).name == "lowest"
    # One view is observed as well.
    view = Game("classic", seed=1).view()
    observed = network_inputs(view, suit_order="trump-first")
    assert observed.observations.shape == (1, OBSERVATION_SPEC.size)
    assert int(observed.real([int(observed.masks[0].argmax())])[0]) in view.legal()


def legal_of(views: Any) -> list[list[int]]:
    return [np.flatnonzero(mask).tolist() for mask in network_inputs(views).masks]


def test_a_policy_draws_by_its_logits() -> None:
    views = np.repeat(np.array(Game("classic", seed=1).view().array, VIEW).reshape(-1), 4000)
    cards = legal_of(views[:1])[0]
    logits = np.zeros(52)
    logits[cards[0]] = np.log(3.0)
    agent = PolicyAgent(
        "classic", lambda observations, masks: logits + np.zeros(masks.shape), sample=True
    )
    drawn = act_on(agent, views)
    frequency = np.mean(drawn == cards[0])
    assert frequency == pytest.approx(3 / (2 + len(cards)), abs=0.03)
    assert set(drawn.tolist()) == {*cards}


def test_policy_draws_by_the_probabilities_it_states() -> None:
    """In a suit order whose suits are others than the real ones, and in open endings."""
    weights = np.random.default_rng(1).normal(size=(OBSERVATION_SPEC.size, 52))

    def policy(observations: Any, masks: Any) -> Any:
        return observations @ weights / 5

    drawing = PolicyAgent("classic", policy, suit_order="trump-first", sample=True)
    game, views = Game("classic", seed=1), []
    while not game.over:
        views.append(game.view().array)
        game.play(game.legal()[0])
    chosen = np.array(views, VIEW).reshape(-1)[::4]
    drawn = act_on(drawing, np.repeat(chosen, 2000)).reshape(-1, 2000)
    frequencies = np.stack([np.bincount(row, minlength=52) / 2000 for row in drawn])
    assert drawing.probabilities(chosen) == pytest.approx(frequencies, abs=0.05)
    assert 1 in frequencies[-1]
    greedy = PolicyAgent("classic", policy, suit_order="trump-first")
    assert greedy.greedy
    assert not drawing.greedy
    np.testing.assert_array_equal(greedy.probabilities(chosen), drawing.probabilities(chosen))


def test_the_exploitability_of_a_policy_that_draws_is_exact() -> None:
    def uniform(observations: Any, masks: Any) -> Any:
        return np.zeros(masks.shape)

    agent = PolicyAgent("2x4-h2", uniform, suit_order="trump-first", sample=True)
    found = measure_exploitability(agent, "2x4-h2")
    random = measure_exploitability(load_agent("random-exact", "2x4-h2"), "2x4-h2")
    assert found.exploitability == pytest.approx(random.exploitability)
    assert not found.estimated

    choosing = PolicyAgent("2x4-h2", lambda _, masks: masks.argmax(1), sample=True, name="mine")
    with pytest.raises(ValueError, match=r"mine answers with actions, .* use act, without sample"):
        measure_exploitability(choosing, "2x4-h2")


@pytest.mark.parametrize(
    "answer", [np.zeros((64, 3)), np.zeros((64, 52), complex), np.full(64, "2C"), None]
)
def test_wrong_answer_of_a_policy_names_wanted_shapes(answer: Any) -> None:
    views, _, _ = selfplay_views()
    with pytest.raises(ValueError, match=r"mine answered with .*logits of shape \(64, 52\)"):
        act_on(PolicyAgent("classic", lambda observations, masks: answer, name="mine"), views)


def test_modules_of_torch_are_given_tensors() -> None:
    torch = pytest.importorskip("torch")

    class Linear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(OBSERVATION_SPEC.size, 52)

        def forward(self, observations: Any, masks: Any) -> Any:
            assert masks.dtype == torch.bool
            return self.layer(observations)

    network = Linear()
    views, step, _ = selfplay_views()
    weight, bias = (param.detach().numpy() for param in network.parameters())
    logits = np.where(step.masks == 1, step.observations @ weight.T + bias, -np.inf)
    agent = PolicyAgent("classic", network, exact=False)
    assert np.array_equal(act_on(agent, views), logits.argmax(1))


def test_a_graph_plays_as_the_checkpoint_that_it_was_made_of(graph: Path) -> None:
    views, _, _ = selfplay_views()
    graph_agent, network_agent = load_agent(f"onnx:{graph}"), load_agent("champion-1")
    assert np.mean(act_on(graph_agent, views) == act_on(network_agent, views)) > 0.98
    assert graph_agent.perfect_endgame


@pytest.mark.parametrize(
    ("text", "rules", "why"),
    [
        ("onnx:{graph}", "draft", "plays classic, and not draft"),
        ("onnx:{graph},endgame=network", "classic", "never saw an ending"),
        ("onnx:{graph},greedi", "classic", "'greedi' is no option of onnx:"),
        ("onnx:{graph},suit_order=trumps", "classic", "suit_order is 'trumps'"),
        ("onnx:nothing.onnx", "classic", "'nothing.onnx' is no file"),
        (f"onnx:{__file__}", "classic", "cannot be read as ONNX"),
    ],
)
def test_a_graph_that_can_not_play_is_refused(text: str, rules: str, why: str, graph: Path) -> None:
    with pytest.raises(ValueError, match=why) as error:
        load_agent(text.format(graph=graph), rules)
    assert isinstance(error.value, CannotPlay) == (rules != "classic" or "never" in why)


@pytest.mark.parametrize("place", ["graph", "branch", "function"])
def test_onnx_agent_refuses_graphs_with_loops(place: str, tmp_path: Path) -> None:
    """A loop without an end, in the graph, in a branch of an `If` or in a local function."""
    onnx = pytest.importorskip("onnx")
    helper, boolean, number = onnx.helper, onnx.TensorProto.BOOL, onnx.TensorProto.FLOAT
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    value = helper.make_tensor_value_info
    true = helper.make_node(
        "Constant", [], ["go"], value=helper.make_tensor("", boolean, [], [True])
    )
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [value("i", onnx.TensorProto.INT64, []), value("c", boolean, []), value("x", number, None)],
        [value("d", boolean, []), value("y", number, None)],
    )
    nodes = [true, helper.make_node("Loop", ["", "go", "observation"], ["logits"], body=body)]
    if place == "branch":
        branch = helper.make_graph(nodes, "branch", [], [value("logits", number, None)])
        branches = {"then_branch": branch, "else_branch": branch}
        nodes = [true, helper.make_node("If", ["go"], ["logits"], **branches)]
    functions = []
    if place == "function":
        outputs = ["observation"], ["logits"]
        functions = [helper.make_function("own", "Forever", *outputs, nodes, opsets)]
        nodes = [helper.make_node("Forever", *outputs, domain="own")]
    graph = helper.make_graph(
        nodes,
        "policy",
        [value("observation", number, ["n", OBSERVATION_SPEC.size])],
        [value("logits", number, ["n", 52])],
    )
    model = helper.make_model(graph, opset_imports=opsets, functions=functions)
    onnx.save(model, tmp_path / "loop.onnx")
    with pytest.raises(ValueError, match="has the operator Loop, which may run for ever"):
        load_agent(f"onnx:{tmp_path}/loop.onnx,suit_order=raw")


@pytest.mark.parametrize("data", [b"", b"    ORTM    ", b"\x3a\xff", b"\x3b"])
def test_onnx_agent_refuses_bytes_without_a_graph(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "bytes.onnx").write_bytes(data)
    with pytest.raises(ValueError, match="cannot be read as ONNX"):
        load_agent(f"onnx:{tmp_path}/bytes.onnx,suit_order=raw")


def test_a_package_makes_its_players_known(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    source, target = tmp_path / "source", tmp_path / "installed"
    shutil.copytree(ROOT / "docs" / "plugin", source, ignore=lambda *_: {"__pycache__", "build"})
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(target),
        str(source),
    ]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.syspath_prepend(target)
    assert "low-leader" in agent_names()
    assert CALLBACKS.find("print-strength").__name__ == "PrintStrength"
    assert main(["evaluate", "low-leader:high", "--against", "low-leader", "--hands", "20"]) == 0
    assert "low-leader:high – low-leader" in capsys.readouterr().out


def test_an_agent_is_loaded_with_the_rules_of_its_checkpoint() -> None:
    assert load_agent("threshold").rules.name == "classic"
    assert load_agent("nash").rules.name == "2x4-h2"
    assert load_agent("threshold", "draft").rules.name == "draft"
    with pytest.raises(CannotPlay, match="and not draft"):
        load_agent("champion-1", "draft")


def test_module_plays_in_evaluation_mode_and_stays_as_it_was() -> None:
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            size = OBSERVATION_SPEC.size
            self.layers = torch.nn.Sequential(torch.nn.BatchNorm1d(size), torch.nn.Dropout())
            self.logits = torch.nn.Linear(size, 52)
            self.modes: set[bool] = set()

        def forward(self, observations: Any, masks: Any) -> Any:
            self.modes.add(self.layers[1].training)
            return self.logits(self.layers(observations))

    module = Net()
    mean = module.layers[0].running_mean.clone()
    agent = PolicyAgent("classic", module)
    one, two = (evaluate(agent, "random", hands=20, seed=1).rows()[0] for _ in range(2))
    assert (one["win_rate"], one["margin"]) == (two["win_rate"], two["margin"])
    assert module.modes == {False}
    assert module.training
    assert module.layers[1].training
    assert torch.equal(module.layers[0].running_mean, mean)


def test_agents_of_one_name_are_told_apart() -> None:
    class First(RandomAgent):
        name = "agent"

    class Second(RandomAgent):
        name = "agent"

    result = evaluate(First, [Second, "random"], "2x5-h3", hands=8)
    assert [row["opponent"] for row in result.rows()] == ["agent-2", "random"]
    assert {row["agent"] for row in result.rows()} == {"agent"}
    with pytest.raises(ValueError, match="stands twice"):
        ladder([First, First, "random"], "2x5-h3", hands=8)
