"""Digests of the code and weights that settings name beside the package's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from own_network import NETWORK, settings_of_own_network

from german_whist import train
from german_whist.agents.checkpoints import (
    read_card,
    read_checkpoint,
    replace_card,
    write_checkpoint,
)
from german_whist.agents.checkpoints.schema import Measurement
from german_whist.common import plugins
from german_whist.common.trust import UntrustedCode, restricted_to
from german_whist.training.experiments.foreign_code import foreign_code
from german_whist.training.folder import agents_of
from german_whist.training.presets import settings_from
from german_whist.training.settings import Settings

SOURCE = """
from functools import partial
from german_whist.agents.heuristic.random import RandomAgent

class Own(RandomAgent):
    def __init__(self, rules, *words, match=None):
        super().__init__(rules, match=match)

made = partial(RandomAgent)
"""


def code_of(*opponents: str) -> dict[str, str]:
    return foreign_code(settings_from({"trainer": "mccfr"}), opponents)


@pytest.fixture
def digest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """The digests of opponents, as in a process of their own."""
    monkeypatch.chdir(tmp_path)
    Path("foreign_agents.py").write_text(SOURCE, "utf-8")

    def of(*opponents: str) -> dict[str, str]:
        monkeypatch.delitem(sys.modules, "foreign_agents", raising=False)
        return code_of(*opponents)

    return of


@pytest.mark.parametrize(
    "name",
    ["foreign_agents:Own", "foreign_agents:made", "responder:64,against=foreign_agents:Own"],
)
def test_source_of_an_agent_is_in_its_digest(
    name: str, digest: Callable[..., dict[str, str]]
) -> None:
    before = digest(name)
    assert before.keys() == {name.rpartition("=")[2]}
    assert digest(name) == before
    Path("foreign_agents.py").write_text(SOURCE + "# A remark.\n", "utf-8")
    assert digest(name) != before


def test_words_of_a_foreign_agent_are_its_own(digest: Callable[..., dict[str, str]]) -> None:
    Path("log.txt").write_text("a", "utf-8")
    names = [f"foreign_agents:Own:{words}" for words in ("log=log.txt", "mode:fast", "dir=./")]
    before = digest(*names)
    assert set(before) == {"foreign_agents:Own"}
    Path("log.txt").write_text("another", "utf-8")
    assert digest(*names) == before


def test_evaluations_of_a_checkpoint_leave_its_digest(tmp_path: Path) -> None:
    good = read_checkpoint("champion-1")
    path = write_checkpoint(tmp_path / "weak", good.weights, good.card)
    before = code_of(f"{path},sample")
    assert before.keys() == {str(path)}
    card = read_card(path)
    result = Measurement(opponent="random", win_rate=0.5, margin_of_error=0.1, margin=0.0, hands=2)
    replace_card(path, replace(card, evaluations=(result,)))
    assert code_of(f"{path},sample") == before
    write_checkpoint(tmp_path / "weak", {k: 2 * v for k, v in good.weights.items()}, good.card)
    assert code_of(f"{path},sample") != before


def test_class_of_a_network_is_in_its_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NETWORK, "utf-8")
    own = settings_of_own_network("2x4-h2")
    path = str(train(own, folder="run", quiet=True).checkpoint)
    begun = settings_from({**own, "init": "run"})
    of_init, before = foreign_code(begun), code_of("run,sample")
    assert before.keys() == {path, "net.py:Net"}
    assert of_init == before
    with restricted_to(["benchmark"]), pytest.raises(UntrustedCode, match=r"--trust net\.py:Net"):
        code_of("run")
    Path("net.py").write_text(NETWORK + "# A remark.\n", "utf-8")
    plugins._loaded_file.cache_clear()  # as in another process
    after = code_of("run,sample")
    assert after[path] == before[path]
    assert after["net.py:Net"] != before["net.py:Net"]
    assert foreign_code(begun) == after


@pytest.mark.parametrize("name", ["threshold", "champion", "flat-mc:16", "thinker:64"])
def test_agents_of_the_package_need_no_digest(name: str) -> None:
    assert code_of(name) == {}


def test_untrusted_code_is_not_imported(digest: Callable[..., dict[str, str]]) -> None:
    with restricted_to(["benchmark", "a.yaml"]):
        with pytest.raises(UntrustedCode, match="add --trust foreign_agents:Own"):
            digest("foreign_agents:Own")
        with pytest.raises(UntrustedCode, match="add --trust foreign_agents:Own"):
            digest("responder:64,against=foreign_agents:Own")
    assert "foreign_agents" not in sys.modules


def test_setting_of_another_trainer_may_be_called_opponents() -> None:
    own = settings_from({"trainer": "sb3", "opponents": ["threshold"]})
    assert agents_of(own)[-1] == "threshold"

    class Counting(Settings, frozen=True, kw_only=True):
        trainer: str = "mccfr"
        opponents: int = 3

    settings = Counting(eval_opponents=("random",), final_eval_opponents=())
    assert agents_of(settings) == ["random"]
    assert not foreign_code(settings)
