"""Data sets: every row against a game that is played again, resuming, refusals."""

from __future__ import annotations

import json
import shutil
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from german_whist import Game, View, load_agent, network_inputs
from german_whist.agents import Agent
from german_whist.common.files import partial_path
from german_whist.engine.batch.batch import Batch
from german_whist.engine.batch.config import options_from
from german_whist.engine.batch.kernels import REAL, Moves
from german_whist.engine.dtypes import OVER
from german_whist.engine.endgame import moves_of
from german_whist.engine.view import action_masks
from german_whist.training import datasets
from german_whist.training.datasets import EXTRAS, Dataset, generate_dataset
from german_whist.training.folder import FolderLock
from support import with_other_hidden_cards


def row_is_true(game: Game, data: dict[str, Any], row: int, suit_order: str) -> int:
    """Check a row against the game before its action; returns that action."""
    seat = game.turn
    assert seat == data["seat"][row]
    view = game.view()
    seen = network_inputs(view, suit_order=suit_order)
    assert (seen.observations[0] == data["observation"][row]).all()
    assert (seen.masks[0] == data["action_mask"][row]).all()
    action = int(seen.real(data["action"][row : row + 1])[0])
    assert seen.shown([action])[0] == data["action"][row]
    if "hidden_opponent_hand" in data:
        hidden = sorted(seen_cards(seen, data["hidden_opponent_hand"][row]))
        assert hidden == sorted(int(card) for card in game.hands[1 - seat])
    if "endgame_cost" in data:
        costs = data["endgame_cost"][row]
        assert (costs >= 0).any() == view.open
        if view.open:
            tricks = moves_of(view)
            best = (min if game.low else max)(tricks.values())
            for card, taken in tricks.items():
                assert costs[seen.shown([int(card)])[0]] == abs(best - taken)
            assert (costs >= 0).sum() == len(tricks)
    return action


def seen_cards(seen: Any, places: Any) -> list[int]:
    shown = np.flatnonzero(places)
    orders = np.repeat(seen.orders, len(shown), 0)
    return type(seen)(seen.observations, seen.masks, orders).real(shown).tolist()


@pytest.mark.parametrize(
    ("rules", "suit_order", "extras"),
    [
        ("classic", "trump-first", ("endgame_cost", "hidden_opponent_hand")),
        ("colour", "raw", ("endgame_cost",)),
        ("draft", "raw", ("hidden_opponent_hand",)),
        ("humbug", "trump-first", ("hidden_opponent_hand",)),
        ("race-7", "trump-first", ()),
    ],
)
def test_rows_are_the_decisions_of_the_deals(
    rules: str, suit_order: str, extras: tuple[str, ...], tmp_path: Path
) -> None:
    agents = ["random", "threshold"]
    threshold = load_agent("threshold", rules)
    generate_dataset(
        agents,
        tmp_path / "data",
        hands=6,
        rules=rules,
        seed=7,
        suit_order=suit_order,
        extras=extras,
    )
    dataset = Dataset(tmp_path / "data")
    data = dataset.read()
    assert [*data] == [*dataset.columns]
    assert {name for name in data if name in EXTRAS} == set(extras)
    row = 0
    for number in range(6):
        game = Game(rules, seed=7, number=number)
        first = row
        while not game.over:
            assert data["deal"][row] == number
            assert data["agent"][row] == (number + game.turn) % 2
            action = row_is_true(game, data, row, suit_order)
            if agents[data["agent"][row]] == "threshold":
                assert action == threshold.act(game.view())
            game.play(action)
            row += 1
        assert (data["payoff"][first:row] == np.array(game.payoffs)[data["seat"][first:row]]).all()
    assert row == len(data["deal"])


@pytest.mark.parametrize(
    ("agent", "rules", "extras"),
    [
        ("champion", "classic", ("value", "endgame_cost", "hidden_opponent_hand")),
        ("counting", "draft", ("hidden_opponent_hand",)),
    ],
)
def test_visible_columns_do_not_depend_on_hidden_cards(
    agent: str, rules: str, extras: tuple[str, ...], tmp_path: Path
) -> None:
    card = generate_dataset([agent], tmp_path, hands=1, rules=rules, extras=extras).card
    writer = datasets._HandWriter(card, tmp_path, [load_agent(agent, rules)])
    loaded, chance, exchanged = card.loaded_rules, np.random.default_rng(6), 0
    batch = Batch(options_from(loaded, suit_order=card.suit_order), 8)
    batch.reset(7)
    while len(games := np.flatnonzero(batch.games["phase"] != OVER)):
        own = batch.games.copy()
        for index in games.tolist():
            game = batch.game(index)
            twin = with_other_hidden_cards(game, game.turn or 0, chance)
            batch.games[index] = twin.array[0]
        others = writer._decide(batch, games)[0]
        batch.games[:] = own
        rows, actions = writer._decide(batch, games)
        for name in rows:
            if name == "hidden_opponent_hand":
                exchanged += int((rows[name] != others[name]).any(axis=1).sum())
            else:
                np.testing.assert_array_equal(rows[name], others[name], name)
        batch.apply_actions(Moves(games, actions, REAL))
    assert exchanged > 10 * len(own)


def test_probabilities_and_values_are_those_of_the_views(tmp_path: Path) -> None:
    agent = load_agent("champion")
    generate_dataset(
        ["champion"], tmp_path, hands=2, seed=3, suit_order="trump-first", extras=["value"]
    )
    data = Dataset(tmp_path).read()
    row = 0
    for number in range(2):
        game = Game(seed=3, number=number)
        while not game.over:
            view = game.view()
            seen = network_inputs(view, suit_order="trump-first")
            probs = np.zeros(52)
            orders = np.repeat(seen.orders, 52, 0)
            every = type(seen)(seen.observations, seen.masks, orders)
            probs[every.shown(np.arange(52))] = agent.probabilities(view)
            assert data["probabilities"][row] == pytest.approx(probs, abs=1e-3)
            assert data["value"][row] == pytest.approx(agent.value(view), abs=1e-5)
            action = int(seen.real(data["action"][row : row + 1])[0])
            if not 0 < view.stock_left <= 4:  # the champion searches there
                assert data["probabilities"][row].argmax() == data["action"][row]
            game.play(action)
            row += 1


def test_an_interrupted_data_set_goes_on(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(datasets, "HANDS_IN_FILE", 4)
    options: dict[str, Any] = {"hands": 10, "rules": "quick", "extras": ["hidden_opponent_hand"]}
    dataset = generate_dataset(["random", "counting"], tmp_path / "whole", **options)
    whole = dataset.read()
    done: list[float] = []

    def stop(fraction: float) -> None:
        done.append(fraction)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        generate_dataset(["random", "counting"], tmp_path / "part", progress=stop, **options)
    part = Dataset(tmp_path / "part")
    assert part.written == {0}
    with pytest.raises(ValueError, match="is not complete, 2 of 3 files are missing"):
        part.read()
    written = (tmp_path / "part" / "hands-00000.npz").stat().st_mtime_ns
    resumed = generate_dataset(["random", "counting"], tmp_path / "part", **options).read()
    assert (tmp_path / "part" / "hands-00000.npz").stat().st_mtime_ns == written
    assert all((resumed[name] == whole[name]).all() for name in whole)


def test_workers_do_not_change_the_rows(tmp_path: Path) -> None:
    one, two = (
        generate_dataset(
            ["random"], tmp_path / f"{n}", hands=1003, rules="2x4-h2", workers=n
        ).read()
        for n in (1, 2)
    )
    assert len(np.unique(one["deal"])) == 1003
    assert all((one[name] == two[name]).all() for name in one)


class Remembering(Agent):
    """Plays its lowest card, and keeps the numbers of its games."""

    keeps_state = True
    seen: ClassVar[list[Any]] = []
    forgotten: ClassVar[list[Any]] = []

    def act(self, views: Any, rng: Any, *, indices: Any = None) -> Any:
        if len(views):
            self.seen += [*zip(indices.tolist(), views["seat"].tolist(), strict=True)]
        return np.array(
            [min(View(self.rules, views[k : k + 1]).legal()) for k in range(len(views))]
        )

    def reset(self, indices: Any) -> None:
        self.forgotten.append(indices.tolist())


def test_an_agent_that_keeps_state_has_a_number_a_seat(tmp_path: Path) -> None:
    generate_dataset([f"{__name__}:Remembering"], tmp_path, hands=3, rules="2x4-h2")
    assert Remembering.forgotten == [[0, 1, 2, 3, 4, 5]]
    assert set(Remembering.seen) == {
        (game + 3 * seat, seat) for game in range(3) for seat in (0, 1)
    }


class Illegal(Agent):
    """Always plays the two of clubs."""

    def act(self, views: Any, rng: Any) -> Any:
        return np.zeros(len(views), np.int64)


@pytest.mark.parametrize(
    ("agents", "options", "sentence"),
    [
        ([], {}, "0 agents are named: give one, which plays itself, or two"),
        (["random"] * 3, {}, "3 agents are named"),
        ("champion", {}, r"agents is 'champion': give a list, as \['champion'\]"),
        (["random"], {"extras": "value"}, "extras is 'value': give a list"),
        (["random"], {"hands": 0}, "hands is 0: it has to be a number from 1"),
        (["random"], {"extras": ["values"]}, "column is 'values': it has to be one of value"),
        (["random"], {"suit_order": "trumps"}, "suit_order is 'trumps'"),
        (["random"], {"extras": ["value"]}, "random has no value network"),
        (
            ["random"],
            {"rules": "humbug", "extras": ["endgame_cost"]},
            "endgame_cost is not known in humbug: its rules set cards aside",
        ),
        (
            [f"{__name__}:Illegal"],
            {},
            r"Illegal played 0 \(2C\) at trick 1 of a hand, which is not legal: ",
        ),
    ],
)
def test_bad_requests_are_refused(
    agents: list[str], options: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=sentence):
        generate_dataset(agents, tmp_path / "data", **{"hands": 3, **options})


class Answers(Agent):
    """Plays its lowest card, and states what a test has it state."""

    stated: ClassVar[Any] = None
    valued: ClassVar[Any] = None

    def act(self, views: Any, rng: Any) -> Any:
        return action_masks(self.rules_array, views, self.rules.actions).argmax(1)

    def probabilities(self, views: Any) -> Any:
        actions = self.act(views, None)
        probs = np.eye(self.rules.actions)[actions]
        return probs if self.stated is None else self.stated(probs)

    def value(self, views: Any) -> Any:
        return np.zeros(len(views)) if self.valued is None else self.valued(len(views))


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        (lambda probs: probs * np.nan, "Answers gives the probabilities .*nan.* are legal"),
        (lambda probs: probs - 0.5 * np.roll(probs, 1) + 0.5 * probs, "from 0 to 1"),
        (lambda probs: np.roll(probs, 26, axis=1), "those of illegal actions 0"),
        (lambda probs: 2 * probs, "their sum 1"),
        (lambda probs: probs[:, :5], r"gives probabilities of the shape \(3, 5\)"),
        (lambda probs: [*"abc"], "gives probabilities of the shape .* and type <U1"),
    ],
)
def test_data_set_refuses_what_is_no_distribution(
    stated: Any, sentence: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(Answers, "stated", staticmethod(stated))
    with pytest.raises(ValueError, match=sentence):
        generate_dataset([f"{__name__}:Answers"], tmp_path / "data", hands=3, rules="2x4-h2")
    assert not Dataset(tmp_path / "data").written


@pytest.mark.parametrize(
    ("valued", "sentence"),
    [
        (lambda count: np.full(count, np.nan), "Answers gives the value nan: give finite"),
        (lambda count: np.full(count, 1e300), r"gives the value 1e\+300"),
        (lambda count: np.zeros(()), r"gives values of the shape \(\) and type float64 for 3"),
        (lambda count: [*"abc"], "gives values of the shape .* and type <U1"),
    ],
)
def test_data_set_refuses_values_that_are_not_finite(
    valued: Any, sentence: str, tmp_path: Path, monkeypatch: Any
) -> None:
    name, options = f"{__name__}:Answers", {"hands": 3, "rules": "2x4-h2", "extras": ["value"]}
    data = generate_dataset([name], tmp_path / "finite", **options).read()
    assert not data["value"].any()
    monkeypatch.setattr(Answers, "valued", staticmethod(valued))
    with pytest.raises(ValueError, match=sentence):
        generate_dataset([name], tmp_path / "data", **options)


def test_other_folders_and_full_disks_are_refused(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("")
    with pytest.raises(ValueError, match="is not empty: name another folder"):
        generate_dataset(["random"], tmp_path / "other", hands=2)
    with pytest.raises(ValueError, match=r"is no data set: there is no dataset.json in it"):
        Dataset(tmp_path / "other")
    with pytest.raises(ValueError, match="file is a file: name a folder"):
        generate_dataset(["random"], tmp_path / "other" / "file", hands=2)
    unnamed: Any = [3]
    with pytest.raises(ValueError, match="an agent is 3: name it, as 'champion'"):
        generate_dataset(unnamed, tmp_path / "more", hands=2)
    data = tmp_path / "data"
    dataset = generate_dataset(["random"], data, hands=2, rules="2x4-h2")
    with pytest.raises(ValueError, match="is of another data set: seed is 1 there and 2 here"):
        generate_dataset(["random"], data, hands=2, rules="2x4-h2", seed=2)
    (data / "hands-00000.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"hands-00000.npz cannot be read .* delete it"):
        dataset.read()
    usage = namedtuple("usage", "free")
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: usage(1000))
    for hands in (2000, 10**30):
        with pytest.raises(ValueError, match="and 1,000 are free on its disk: make room"):
            generate_dataset(["random"], tmp_path / "more", hands=hands)
    monkeypatch.undo()
    assert generate_dataset(["random"], tmp_path / "more", hands=2, rules="2x4-h2").card.hands == 2


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("hands", 10**30, "it has to be a whole number of at least 1 and at most 1000000000000"),
        ("hands", 0, "hands is 0: it has to be a whole number of at least 1"),
        ("hands", -5, "hands is -5: it has to be a whole number of at least 1"),
        ("hands", 10**12, "is not complete, 999,999,999 of 1,000,000,000 files are missing"),
        ("hands", 1, "its rows are not those of deals 0 to 0"),
        ("hands", 3, "its rows are not those of deals 0 to 2"),
        ("seed", -1, "seed is -1: it has to be from 0"),
        ("seed", 2**64, "seed is"),
        ("suit_order", "trumps", "suit_order is 'trumps': it has to be one of raw, trump-first"),
        (
            "observation_version",
            2,
            "observation_version is 2, and this package reads",
        ),
        ("extras", ["values"], "it has to be one of endgame_cost, hidden_opponent_hand"),
        ("extras", ["value", "value"], "extras names a column twice"),
        ("extras", ["value"], "value is not a file in the archive"),
        ("agents", [], "agents"),
        ("agents", ["random"] * 3, "agents"),
        ("format", "german-whist dataset 1", "format is 'german-whist dataset 1'"),
    ],
)
def test_data_set_refuses_a_card_that_was_changed(
    field: str, value: object, sentence: str, tmp_path: Path
) -> None:
    dataset = generate_dataset(["random"], tmp_path, hands=2, rules="2x4-h2")
    assert len({*dataset.read("deal")["deal"].tolist()}) == 2
    card = json.loads((tmp_path / "dataset.json").read_text())
    (tmp_path / "dataset.json").write_text(json.dumps({**card, field: value}))
    with pytest.raises(ValueError, match=sentence):
        Dataset(tmp_path).read()


def test_data_set_refuses_files_whose_rows_do_not_fit(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(datasets, "HANDS_IN_FILE", 2)
    dataset = generate_dataset(["random"], tmp_path, hands=4, rules="2x4-h2")
    path, other = (tmp_path / f"hands-0000{number}.npz" for number in (0, 1))
    columns = dict(np.load(path))
    changed = {
        "action": columns["action"][:-1],
        "probabilities": columns["probabilities"].astype(np.float32),
        "observation": columns["observation"][:, 1:],
        "deal": columns["deal"][::-1],
    }
    for name, array in changed.items():
        np.savez(path, **{**columns, name: array})
        with pytest.raises(ValueError, match=f"cannot be read .({name} has the shape|its rows)"):
            dataset.read(name)
    path.write_bytes(other.read_bytes())
    with pytest.raises(ValueError, match="its rows are not those of deals 0 to 1"):
        dataset.read("action")


def test_resumed_data_set_refuses_another_version_of_a_module(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr(datasets, "HANDS_IN_FILE", 4)
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "my_players"
    package.mkdir()
    code = "from .lowest import act\ndef play(views, rng):\n    return act(views)\n"
    (package / "__init__.py").write_text(code)
    lowest = package / "lowest.py"
    lowest.write_text("def act(views):\n    return choose(views['hand'])\n")
    lowest.write_text(
        "import numpy as np\nfrom german_whist.engine.rules import load_rules\n"
        "from german_whist.engine.view import action_masks\n"
        "def act(views):\n"
        "    return action_masks(load_rules('2x4-h2').array(None), views, 52).argmax(1)\n"
    )

    def stop(fraction: float) -> None:
        raise KeyboardInterrupt

    options: dict[str, Any] = {"hands": 6, "rules": "2x4-h2"}
    with pytest.raises(KeyboardInterrupt):
        generate_dataset(["my_players:play"], tmp_path / "data", progress=stop, **options)
    text = lowest.read_text()

    def write(changed: str) -> None:
        """As between two processes."""
        lowest.write_text(changed)
        shutil.rmtree(package / "__pycache__", ignore_errors=True)
        for module in ("my_players", "my_players.lowest"):
            monkeypatch.delitem(sys.modules, module)

    write(text.replace(".argmax(1)", "[:, ::-1].argmax(1)"))
    with pytest.raises(ValueError, match=r"code is {'my_players': '.*'} there and {'my_players'"):
        generate_dataset(["my_players:play"], tmp_path / "data", **options)
    write(text)
    resumed = generate_dataset(["my_players:play"], tmp_path / "data", **options)
    assert len(np.unique(resumed.read("deal")["deal"])) == 6


def test_resumed_data_set_deletes_what_killed_writers_left(tmp_path: Path) -> None:
    generate_dataset(["random"], tmp_path, hands=2, rules="2x4-h2")
    left = [partial_path(tmp_path / name) for name in ("hands-00000.npz", "dataset.json")]
    own = tmp_path / ".notes"
    for path in (*left, own):
        path.touch()
    generate_dataset(["random"], tmp_path, hands=2, rules="2x4-h2")
    assert not any(path.exists() for path in left)
    assert own.exists()
    # Killed before it was described.
    (tmp_path / "new").mkdir()
    partial_path(tmp_path / "new" / "dataset.json").touch()
    generate_dataset(["random"], tmp_path / "new", hands=2, rules="2x4-h2").read()


def test_second_writer_of_a_data_set_is_refused(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    with pytest.raises(ValueError, match=r"is being written by process .* lose nothing"):
        generate_dataset(["random"], tmp_path, hands=2, rules="2x4-h2")
    lock.release()
    generate_dataset(["random"], tmp_path, hands=2, rules="2x4-h2")


def test_the_command_tells_the_size_before_and_after(tmp_path: Path, whist: Any) -> None:
    out = whist("dataset", "random", "--hands", "20", "--out", str(tmp_path / "data")).out
    assert out.startswith("20 hands in 1 files: at most 0.2 MB of ")
    size = sum(path.stat().st_size for path in (tmp_path / "data").iterdir())
    assert f"{size / 20:,.0f} bytes a hand" in out
    assert size < 20 * Dataset(tmp_path / "data").card.bytes_per_hand + 4000
    told = whist("dataset", "random", status=2).err
    assert "name an agent and a folder, as in `dataset champion counting" in told
