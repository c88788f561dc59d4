"""What the commands print and write: tables, JSON, CSV, pages, and configs."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from checkpoints import champion_at

from german_whist import Match
from german_whist.cli import main
from german_whist.engine.rules import load_rules
from german_whist.evaluation import Arena, Result, evaluate, ladder
from german_whist.evaluation.config import LADDERS, load_ladder
from german_whist.evaluation.reports.html import as_html
from german_whist.evaluation.reports.plots import (
    curves_by_move_time,
    intervals,
    parts_of_margin,
)
from german_whist.evaluation.reports.text import as_csv, as_markdown, as_text
from german_whist.evaluation.statistics import Estimate
from support import KEY


@pytest.fixture(scope="module")
def run() -> Result:
    return evaluate("threshold", ["random", "random-exact"], hands=200, seed=1, key=KEY)


@pytest.fixture(scope="module")
def rungs() -> Result:
    return ladder(["random", "random-exact", "threshold"], hands=200, seed=1, key=KEY)


@pytest.fixture(scope="module")
def matches() -> Result:
    return evaluate("random", "random-exact", "quick", match=Match(best_of=3), hands=20, key=KEY)


def of_no_machine(result: Result) -> Result:
    """A result with times and versions that are the same everywhere."""
    pairings = [
        replace(each, stages=tuple(replace(stage, ms_a_move=0.0123) for stage in each.stages))
        for each in result.pairings
    ]
    return replace(result, pairings=tuple(pairings), seconds=77.7, machine="this", version="9.9")


@pytest.mark.parametrize("name", ["run", "rungs", "matches"])
def test_reports_equal_the_stored_ones(name: str, request: pytest.FixtureRequest) -> None:
    """After an intended change, what is printed here becomes the file."""
    known = Path(__file__).with_name("golden") / f"{name}.txt"
    result = of_no_machine(request.getfixturevalue(name))
    text = f"{as_text(result)}\n\n{as_csv(result)}"
    assert text.splitlines() == known.read_text(encoding="utf-8").splitlines(), text


@pytest.mark.parametrize("name", ["run", "rungs", "matches"])
def test_a_result_is_read_from_its_json(name: str, request: pytest.FixtureRequest) -> None:
    result = of_no_machine(request.getfixturevalue(name))
    assert Result.from_json(json.loads(result.text())) == result


def test_pairing_is_found_from_both_sides_if_it_was_played(run: Result) -> None:
    first, second, third = run.agents
    assert run.pairing(first, second) is run.pairings[0]
    turned = run.pairing(second, first)
    assert turned is not None
    assert turned.win_rate.value == pytest.approx(1 - run.pairings[0].win_rate.value)
    assert run.pairing(second, third) is None
    assert run.win_rate(second, third) is None
    with pytest.raises(ValueError, match=f"'nobody' is none of the agents {first}, "):
        run.win_rate(first, "nobody")


def test_ladder_of_few_hands_shows_no_unknown_interval() -> None:
    few = ladder(["random", "threshold"], hands=20, seed=1, key=KEY)
    assert few.pairings[0].win_rate.value == 1
    text = as_text(few)
    assert re.search(r"1\. threshold +\d+ +– ", text)
    assert "± 0 " not in text
    assert "Where Elo has no interval (–), these results tell none" in text
    told = json.loads(few.text())["ladder"]["elo"][0]
    assert (told["low"], told["high"]) == (None, None)
    page = as_html(few, load_rules("classic"))
    assert not re.search(r"\b(inf|nan)\b", page)
    lone = as_text(ladder(["random", "threshold"], hands=2, seed=1, key=KEY))
    assert "inf" not in lone.replace("information", "")
    few = of_no_machine(few)
    assert Result.from_json(json.loads(few.text())) == few


def test_players_that_play_the_same_cards_are_told_so() -> None:
    alike = as_text(ladder(["a=random", "b=random", "threshold"], hands=40, seed=1, key=KEY))
    assert "a and b came out level on every deal" in alike
    assert alike.count("came out level") == 1
    measured = evaluate("random", "random", hands=40, seed=1, key=KEY)
    assert "random and random came out level on every deal" in measured.notes[-1]
    assert measured.pairings[0].margin.value == 0


def test_markdown_escapes_what_a_name_contains() -> None:
    names = "<script>alert(1)<script>", "a|b`c*d*", "[x] _e_ f_g"
    result = evaluate(f"{names[0]}=random", [f"{name}=random" for name in names[1:]], hands=4)
    result = replace(result, command="evaluate '`a`'", notes=(f"{names[0]} raised <b>\n# x",))
    page = as_markdown(result, f"{names[0]} in the arena", "About <script>.")
    assert "<" not in page
    assert "\n# &lt;script&gt;alert(1)&lt;script&gt; in the arena\n" in f"\n{page}"
    assert r"a\|b\`c\*d\*" in page
    assert r"\[x\] \_e\_ f_g" in page
    assert "raised &lt;b&gt; # x" in page
    assert "- Command: `` evaluate '`a`' ``\n" in page
    assert "<code>evaluate &#x27;`a`&#x27;</code>" in as_html(result, load_rules("classic"))


def with_move_times(result: Result, times: dict[str, float]) -> Result:
    """A result with milliseconds a move that are given for each player."""
    pairings = [
        replace(
            each,
            stages=tuple(
                replace(stage, ms_a_move=times[player])
                for stage, player in zip(each.stages, (each.agent, each.opponent), strict=True)
            ),
        )
        for each in result.pairings
    ]
    return replace(result, pairings=tuple(pairings))


@pytest.mark.parametrize("rules", ["classic", "all-margin"])
def test_the_page_needs_nothing_from_elsewhere(rungs: Result, rules: str) -> None:
    page = as_html(rungs, load_rules(rules))
    assert page.count("<svg") == page.count("</svg>") == 3 + 3 * 3
    assert not re.search(r"(src|href)=|url\(|@import|<script|https?:", page)
    assert "nan" not in re.sub(r"<[^>]*title>|[a-z-]*nan[a-z]+", "", page)


def test_plot_shows_interval_and_parts_of_margin_add_up(
    rungs: Result,
) -> None:
    rates = [("a – b", Estimate(100.0, 1.2, 100.0))]
    assert "100.0 % ± 98.8" in intervals(rates, 50.0, " %", "Win rates")
    for pairing in rungs.pairings:
        total = sum(part for _, part in parts_of_margin(pairing, counts_all=False))
        assert total == pytest.approx(pairing.margin.value)


# -- commands


def test_strength_chart_has_a_curve_for_each_search(run: Result) -> None:
    opponents = ["flat-mc:4", "random", "flat-mc:2", "flat-mc:2,voids"]
    result = evaluate("threshold", opponents, "quick", hands=8, seed=1, key=KEY)
    searches = {"flat-mc:4": 5.0, "flat-mc:2": 0.5, "flat-mc:2,voids": 1.0}
    result = with_move_times(result, {"random": 0.05, "threshold": 0.01, **searches})
    lines = curves_by_move_time(result)
    assert [*lines] == ["flat-mc", "random", "flat-mc,voids", "threshold"]
    wins = [100 - 100 * result.pairings[k].win_rate.value for k in (2, 0)]
    assert [ms for ms, _ in lines["flat-mc"].points] == pytest.approx([0.5, 5.0])
    assert [y for _, y in lines["flat-mc"].points] == pytest.approx(wins)
    assert lines["threshold"].points == [(pytest.approx(0.01), 50.0)]
    assert "Strength against time per move" in as_html(result, load_rules("quick"))
    assert not curves_by_move_time(run), "no kind of agent with two budgets"


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["thinker:0.5ms", "thinker:1s", "thinker:64"], {"thinker": 3}),
        (["thinker:4,policy=a:1", "thinker:4,policy=a:2"], {}),
        (["upcard-value:9", "upcard-value"], {}),
        (["FLAT-MC:5MS,voids", "FLAT-MC:6,voids"], {"FLAT-MC,voids": 2}),
    ],
)
def test_move_time_curves_are_of_one_agent_with_budgets(
    names: list[str], kinds: dict[str, int]
) -> None:
    result = evaluate("threshold", "random", "quick", hands=4, seed=1, key=KEY)
    (pairing,) = result.pairings
    pairings = [replace(pairing, opponent=name) for name in names]
    pairings[0] = pairings[0].mirror()  # as of a player that a ladder ranks above the first
    result = replace(result, agents=("threshold", *names), pairings=tuple(pairings))
    lines = {kind: len(line.points) for kind, line in curves_by_move_time(result).items()}
    lines.pop("threshold", None)
    assert lines == kinds


def test_evaluate_writes_every_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {name: tmp_path / f"run.{name}" for name in ("json", "csv", "records", "html")}
    files = [word for name, path in names.items() for word in (f"--{name}", str(path))]
    command = ["evaluate", "threshold", "--against", "random", "random-exact", "--hands", "40"]
    command += ["--seed", "7", "--rules", "quick", *files]
    assert main(command) == 0
    out = capsys.readouterr()
    assert all(f"wrote {path}" in out.err for path in names.values())
    assert "quick, seed 7: 80 hands" in out.out
    assert all(path.stat().st_size for path in names.values())
    assert len(names["records"].read_text().splitlines()) == 80
    told = json.loads(names["json"].read_text())
    typed = shlex.join(["german-whist", *command])
    assert told["run"]["command"] == f"{typed} --key {told['key']}"
    assert told["run"]["machine"]


@pytest.mark.skipif(sys.platform != "linux", reason="bytes that are no text, as names of files")
def test_names_that_are_no_text_cost_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [os.fsdecode(b"o\xff." + each) for each in (b"json", b"csv", b"html", b"md", b"jsonl")]
    options = ("--json", "--csv", "--html", "--markdown", "--records")
    words = [word for pair in zip(options, files, strict=True) for word in pair]
    assert main(["evaluate", "random", "--against", "random-exact", "--hands", "4", *words]) == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(files)
    assert files[1] in json.loads((tmp_path / files[0]).read_text())["run"]["command"]


@pytest.mark.parametrize("player", ["Closer", "Wanderer", "Quitter"])
def test_what_a_player_does_to_its_process_costs_no_file(
    player: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    words = ["evaluate", f"arena_players:{player}", "--against", "random", "--hands", "20"]
    words += ["--json", "a.json", "--html", "b.html", "--records", "c"]
    assert main(words) == (player == "Quitter")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.json", "b.html", "c"]
    (pairing,) = json.loads((tmp_path / "a.json").read_text())["pairings"]
    assert pairing["hands"] == 20
    assert bool(pairing["forfeits"]) == (player == "Quitter")


def test_the_command_in_a_result_makes_it_again(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    given = ["evaluate", "random", "--against", "random-exact", "--hands", "40", "--json"]
    assert main([*given, str(first)]) == 0
    told = json.loads(first.read_text())
    command = told["run"]["command"].split()
    assert command[-2:] == ["--key", told["key"]]
    assert main([str(second) if each == str(first) else each for each in command[1:]]) == 0
    again = json.loads(second.read_text())
    for each in (told, again):
        del each["run"], each["pairings"][0]["timing"]
    assert told == again


def test_debug_shows_where_a_player_raised(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "arena_players:Raiser", "--against", "random", "--hands", "40"]
    for words, shown in ((command, 0), ([*command, "--debug"], 1)):
        main(words)
        assert capsys.readouterr().err.count("RuntimeError: this hand is too hard") == shown


def test_ladder_reads_its_config(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "small.yaml"
    config.write_text(
        "agents: ['one=random', threshold]\nhands: 20\nseed: 3\nanchor: one\ntitle: Two\n"
    )
    page = tmp_path / "page.md"
    assert main(["ladder", "--config", str(config), "--hands", "40", "--markdown", str(page)]) == 0
    told = capsys.readouterr().out
    assert "classic, seed 3: 40 hands" in told
    assert "threshold – one" in told
    assert "random" not in told
    assert page.read_text().startswith("# Two")
    assert f"--config {config} --hands 40" in page.read_text()


def test_a_player_that_forfeits_every_hand_fails_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # That of a worker is told the same: `test_arena` has its traceback.
    path = tmp_path / "run.json"
    command = ["evaluate", "arena_players:Broken", "--against", "random", "--hands", "20"]
    assert main([*command, "--workers", "1", "--json", str(path)]) == 1
    printed = capsys.readouterr()
    assert "Note: arena_players:Broken raised an error and so forfeited 20" in printed.out
    assert "in act\n" in printed.err
    assert "RuntimeError: broken\narena_players:Broken forfeited every hand, so" in printed.err
    assert Result.from_json(json.loads(path.read_text())).forfeited_all
    others = ["arena_players:Raiser", "random", "--hands", "200", "--key", KEY]
    assert main(["ladder", *others]) == 0
    assert main(["ladder", "arena_players:Broken", *others[:4]]) == 1


def test_every_config_is_a_ladder() -> None:
    assert "ladder" in LADDERS.names()
    for name in LADDERS.names():
        config = load_ladder(name)
        assert len(config.agents) >= 2
        assert config.anchor in config.agents


def test_ctrl_c_prints_what_there_is(tmp_path: Path) -> None:
    words = ["evaluate", "threshold", "--against", "random", "--hands", "100000000"]
    words += ["--workers", "2", "--json", str(tmp_path / "run.json")]
    code = (  # a line of progress as soon as there is any
        "import sys\nfrom german_whist.common import progress\nprogress._SECONDS_A_LINE = 0.2\n"
        "from german_whist.cli import main\nsys.exit(main(sys.argv[1:]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    while not re.search(" left|threshold – random", process.stderr.readline()):
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        # A compiler that the signal met swallowed what it raised: people press the keys again.
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "threshold – random" in out
    assert "stopped by Ctrl-C" in out
    assert json.loads((tmp_path / "run.json").read_text())["complete"] is False


# -- what goes wrong with files and readers

SHORT = ("evaluate", "random", "--against", "random", "--hands", "4")


def test_players_in_workers_outlive_those_who_hear_them(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    path = tmp_path / "run.json"
    words = ("evaluate", "mine=arena_players:Talker", "--against", "random", "--hands", "4")
    done = subprocess.run(
        [sys.executable, "-m", "german_whist", *words, "--workers", "2", "--json", str(path)],
        stdout=writing,
        stderr=writing,
        cwd=Path(__file__).parent.parent,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 0
    told = json.loads(path.read_text())
    assert told["complete"]
    assert told["agents"] == ["mine", "random"]
    assert told["pairings"][0]["forfeits"] == []


def test_files_are_written_before_anything_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Result) -> str:
        raise RuntimeError("telling failed")

    monkeypatch.setattr("german_whist.commands.evaluation_options.as_text", fail)
    path = tmp_path / "run.json"
    assert main([*SHORT, "--json", str(path)]) == 1
    assert json.loads(path.read_text())["complete"]


def test_unwritable_files_are_reported_before_play(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Arena, "play", lambda *_: pytest.fail("it played"))
    (tmp_path / "file").touch()
    wrong = str(tmp_path / "file" / "run.json")
    missing = str(tmp_path / "reslts" / "run.json")
    for name in ("json", "csv", "records", "html", "markdown", "resume"):
        assert main([*SHORT, f"--{name}", wrong]) == 2
        told = capsys.readouterr().err
        assert f"{wrong} cannot be written (Not a directory): a file stands" in told
        assert main([*SHORT, f"--{name}", missing]) == 2
        assert (
            f"{missing} cannot be written (there is no folder {tmp_path / 'reslts'}): make it, or "
            "name a path elsewhere"
        ) in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["file"]
    twice = str(tmp_path / "run")
    assert main([*SHORT, "--json", twice, "--html", twice]) == 2
    assert "is named for two files" in capsys.readouterr().err


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file may grow beyond 20 kB, as on a disk that fills."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    ("words", "status", "lost"),
    [(["--html"], 1, "html"), (["--hands", "200", "--records"], 2, "records")],
)
@pytest.mark.usefixtures("small_disk")
def test_a_disk_that_fills_meanwhile_costs_that_file_alone(
    words: list[str], status: int, lost: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, kept = tmp_path / lost, tmp_path / "csv"
    assert main([*SHORT, *words, str(path), "--csv", str(kept)]) == status
    found = capsys.readouterr()
    assert "Pairings" in found.out
    assert f"wrote {kept}" in found.err
    assert f"{path} cannot be written (File too large)" in found.err
    assert os.listdir(tmp_path) == ["csv"]


# -- players that are named, and rules that they bring along


@pytest.fixture
def margin(tmp_path: Path) -> str:
    """A checkpoint that plays the rules `margin`, as its card says."""
    return champion_at(tmp_path / "player", load_rules("margin"))


def test_rules_and_names_are_taken_from_the_players(
    margin: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, data = tmp_path / "page.html", tmp_path / "run.json"
    words = ["--hands", "4", "--html", str(page), "--json", str(data)]
    assert main(["evaluate", f"mine={margin}", "--against", "easy one=random", *words]) == 0
    found = capsys.readouterr().out
    assert found.startswith("margin, seed 0")
    assert "mine – easy one" in found
    told = json.loads(data.read_text(encoding="utf-8"))
    assert told["rules"] == "margin"
    pairing = told["pairings"][0]
    assert told["agents"] == [pairing["agent"], pairing["opponent"]] == ["mine", "easy one"]
    shown = page.read_text(encoding="utf-8")
    assert "<title>mine in the arena" in shown
    assert shown.count(margin) == 2  # in the command that made it, and as the file of its weights


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("evaluate a=random --against a=threshold", "a is what a=threshold and a=random"),
        ("ladder a=random a=random", "a stands twice"),
        ("ladder champion-1 PATH", "there are no rules that all of these play: champion-1"),
        ("evaluate champion-1 --against random --rules quick", "champion-1"),
        ("exploitability random", "no rules for 'random': name some with a small deck by --rules"),
        ("exploitability champion", "are too large to traverse"),
    ],
)
def test_players_that_can_not_meet_get_a_sentence(
    words: str, told: str, margin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([margin if word == "PATH" else word for word in words.split()]) == 2
    found = capsys.readouterr().err
    assert told in found
    assert len([line for line in found.splitlines() if "compiling" not in line]) == 1
