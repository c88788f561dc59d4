"""Any content of a checkpoint's files is played or refused in one sentence."""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from pathlib import Path
from typing import Any, get_args

import msgspec
import numpy as np
import pytest
from checkpoints import network_card, network_weights, rewrite_card, written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from german_whist.agents.base import CannotPlay
from german_whist.agents.checkpoints import (
    CheckpointError,
    read_card,
    read_checkpoint,
    read_fields,
    replace_card,
    write_checkpoint,
)
from german_whist.agents.checkpoints import schema as cards
from german_whist.agents.checkpoints.input_names import input_names, input_places
from german_whist.agents.checkpoints.schema import FORMAT
from german_whist.agents.networks.policy import NetworkAgent
from german_whist.engine.batch.config import AUTO, HORIZONS, REWARDS
from german_whist.engine.observation.spec import (
    MAX_OBSERVATION_SIZE,
    OBSERVATION_SPEC,
    OBSERVATION_VERSION,
)
from german_whist.engine.observation.suit_order import SUIT_ORDERS

PLACES = [OBSERVATION_SPEC.group(name).start for name in ("own_hand", "led", "upcards", "to_move")]
CARD: dict[str, Any] = network_card(PLACES, [6], rules=[{"name": "classic"}]) | {
    "reward": "win",
    "settings": {"trainer": "ppo", "hidden_sizes": [6]},
    "decisions": 100,
    "hands": 4,
    "minutes": 0.5,
    "evaluations": [
        {
            "opponent": "half as long",
            "win_rate": 0.5,
            "margin_of_error": 0.1,
            "margin": 0,
            "hands": 9,
        }
    ],
    "init": {"checkpoint": "champion", "sha256": "", "decisions": 5, "commands": ["a"]},
    "machine": "a processor, 2 cores",
    "revision": "abc",
    "commands": ["german-whist train tiny"],
}
CARD["network"]["card_ranks"] = "relative"
WEIGHTS = network_weights(4, 6, 52)
QUICK = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "player", WEIGHTS, CARD)


def refused_or_played(path: Path) -> None:
    message = ""
    try:
        agent = NetworkAgent("classic", read_checkpoint(path))
        assert np.isfinite(agent.policy.layers.weights).all()
    except (CheckpointError, CannotPlay) as error:
        message = str(error)
    assert not message or ("player" in message and "\n" not in message and len(message) < 600)


@QUICK
@given(st.lists(st.integers(0, MAX_OBSERVATION_SIZE - 1), unique=True))
def test_names_of_inputs_stand_for_their_indices(indices: list[int]) -> None:
    assert input_places(input_names(np.array(indices, np.int64))).tolist() == indices


def test_input_names_are_groups_or_parts_of_groups() -> None:
    led, draws = OBSERVATION_SPEC.slice("led"), OBSERVATION_SPEC.slice("draws_left")
    indices = [OBSERVATION_SPEC.group("decision").start, *range(led.start, led.stop)]
    indices += range(draws.start + 2, draws.start + 13)
    assert input_names(np.array(indices)) == ("decision[0]", "led", "draws_left[2:13]")


def network(inputs: list[Any]) -> dict[str, Any]:
    return {**CARD["network"], "inputs": inputs}


WRONG = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 10),
    st.just(2**70),
    st.floats(-2, 2),
    st.sampled_from(["", "classic", "mlp", "table", "foreplay", "ä" * 400]),
    st.lists(st.integers(-1, 3), max_size=3),
    st.dictionaries(st.sampled_from(["name", "layers", "suits", "x"]), st.integers(-2, 5)),
)


def key_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [path] if path else []
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, child in items:
        paths += key_paths(child, (*path, key))
    return paths


def changed(card: dict[str, Any], path: tuple[Any, ...], value: Any, delete: bool) -> Any:
    changed_card = copy.deepcopy(card)
    inner = changed_card
    for key in path[:-1]:
        inner = inner[key]
    if delete:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed_card


WHOLE = {**CARD, "format": FORMAT, "kind": "policy", "sha256": ""}


@QUICK
@given(st.sampled_from(key_paths(WHOLE)), WRONG, st.booleans())
def test_a_card_with_anything_else_in_it_is_refused_or_played(
    tmp_path: Path, key_path: tuple[Any, ...], value: Any, delete: bool
) -> None:
    path = written(tmp_path / "player", WEIGHTS, CARD)
    rewrite_card(path, lambda card: changed(card, key_path, value, delete))
    refused_or_played(path)


@QUICK
@given(st.text(max_size=40), st.integers(0, 400))
def test_a_card_of_other_text_is_refused(tmp_path: Path, other: str, at: int) -> None:
    path = written(tmp_path / "player", WEIGHTS, CARD)
    text = json.dumps(read_fields(path))
    rewrite_card(path, lambda _: text[:at] + other + text[at + len(other) :])
    refused_or_played(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 100_000, "player.safetensors: is nested too deeply"),
        ('{"format": 1, "suit_order": 1e999}', "not valid JSON"),
        ('{"format": NaN}', "not valid JSON"),
        ("", "not valid JSON"),
        ("[1]", f"its format is a list of 1, and this version reads format {FORMAT}"),
        ('{"format": 1}', "its format is 1, .*: use the version that wrote it, or train anew"),
        ('{"format": {}}', "its format is a mapping"),
    ],
)
def test_what_is_no_card_is_refused(text: str, message: str, path: Path) -> None:
    rewrite_card(path, lambda _: text)
    with pytest.raises(CheckpointError, match=message):
        read_card(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"suit_order": "upside-down"},
            r"suit_order is 'upside-down': it has to be one of raw, tru",
        ),
        ({"actions": "52"}, "actions is '52': it has to be a whole number of at least 1"),
        ({"rules": []}, "rules is an empty list: it has to be a list of one or more mappings"),
        ({"rules": [{"suits": "x"}]}, "suits is 'x'"),
        ({"rules": [3]}, r"rules\[0\] is 3: it has to be a mapping"),
        ({"horizon": 4}, "horizon is 4: it has to be one of auto, foreplay, hand, match"),
        ({"suit_ordr": "raw"}, "'suit_ordr' is not known here; did you mean 'suit_order'"),
        ({"network": network([638])}, r"network\.inputs\[0\] is 638: it has to be a text"),
        ({"network": network(["hand"])}, "network: 'hand' is no group .* mean 'own_hand'"),
        ({"network": network(["led[]"])}, r"network: 'led\[\]' is no group of inputs: write"),
        ({"network": network(["led[52]"])}, r"network: 'led\[52\]' is no part of led, .* 0 to 51"),
        ({"network": network(["led[4:4]"])}, r"network: 'led\[4:4\]' is no part of led"),
        ({"network": network(["led", "led[3]"])}, "network: .* a place of 'led' twice"),
        ({"network": {**network(["led"]), "rule_features": ["pay", "pay"]}}, "of 'pay' twice"),
        ({"network": network(["laid_away"])}, ".*reads 'laid_away', which no observation by"),
        ({"network": {**CARD["network"], "cells": 3}}, "network: .*has 3 cells: a table"),
        ({"network": {**CARD["network"], "kind": "tree"}}, "network.kind is 'tree': it has to be"),
        ({"evaluations": [{"opponent": "x"}]}, r"evaluations\[0\]: has no 'win_rate'"),
    ],
)
def test_a_wrong_field_is_named_with_its_value(changes: Any, message: str, tmp_path: Path) -> None:
    path = written(tmp_path / "player", WEIGHTS, {**CARD, **changes})
    message = f"player.safetensors: .*{message}|player.{message}"
    with pytest.raises(CheckpointError, match=message) as error:
        read_card(path)
    assert "copy the file again" in str(error.value) or "did you mean" in str(error.value)


def test_card_comes_back_as_written_and_leaves_digest_unchanged(path: Path) -> None:
    first = read_checkpoint(path)
    assert first.card.sha256 == hashlib.sha256(save(first.weights)).hexdigest()
    replace_card(path, msgspec.structs.replace(first.card, decisions=101))
    assert read_checkpoint(path).card == msgspec.structs.replace(first.card, decisions=101)
    replace_card(path, first.card)
    assert first.card.evaluations[0].opponent == "half as long"
    again = write_checkpoint(path.with_name("again"), first.weights, first.card)
    one, two = (read_card(each) for each in (path, again))
    assert one == two
    assert read_fields(again)["observation_version"] == OBSERVATION_VERSION


def test_words_of_a_card_are_those_of_environments() -> None:
    assert get_args(cards.SuitOrder) == SUIT_ORDERS
    assert get_args(cards.Horizon) == (*HORIZONS, AUTO)
    assert get_args(cards.Reward) == REWARDS


KINDS = ["float16", "float32", "float64", "int8", "int64", "uint8", "bool"]


@QUICK
@given(
    st.sampled_from(sorted(WEIGHTS)),
    st.sampled_from(KINDS),
    st.sampled_from([(), (6,), (52,), (4, 6), (6, 4), (52, 6), (0, 6)]),
    st.sampled_from([1.0, float("nan"), float("inf"), -float("inf"), 7e4]),
)
def test_other_weights_are_refused_or_played(
    tmp_path: Path, name: str, kind: str, shape: tuple[int, ...], value: float
) -> None:
    arrays = {**WEIGHTS}
    right = arrays[name].shape == shape
    with np.errstate(all="ignore"):
        arrays[name] = np.full(shape, value).astype(kind)
    path = written(tmp_path / "player", arrays, CARD)
    if right and kind.startswith("float") and np.isfinite(arrays[name]).all():
        NetworkAgent("classic", read_checkpoint(path))
        return
    with pytest.raises(CheckpointError, match=f"player.safetensors: {name} "):
        read_checkpoint(path)


def test_weights_that_the_card_does_not_tell_of_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "player", {**WEIGHTS, "more": np.zeros(3, np.float32)}, CARD)
    with pytest.raises(CheckpointError, match="holds more, which its card does not list"):
        read_checkpoint(path)


@QUICK
@given(st.binary(max_size=60), st.integers(0, 700), st.booleans())
def test_spoilt_weights_do_no_harm(tmp_path: Path, other: bytes, at: int, cut: bool) -> None:
    path = written(tmp_path / "player", WEIGHTS, CARD)
    data = path.read_bytes()
    spoilt = data[:at] + other + (b"" if cut else data[at + len(other) :])
    path.write_bytes(spoilt)
    if spoilt != data:
        with pytest.raises(CheckpointError, match=r"player\.safetensors: "):
            read_checkpoint(path)


def test_numbers_that_numpy_has_not_are_refused(path: Path) -> None:
    card = json.dumps(read_fields(path))
    array = {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}
    header = json.dumps({"__metadata__": {"card": card}, "x": array}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + b"\0\0")
    with pytest.raises(CheckpointError, match=r"player\.safetensors: "):
        read_checkpoint(path)
