"""Every command answers wrong arguments with one sentence, and writes nothing."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from german_whist.cli import main

FILES: dict[str, str | bytes] = {
    "file": "text",
    "empty": "",
    "binary": bytes(range(256)),
    "a.safetensors": b"not weights",
    "broken.yaml": "a: [1",
    "list.yaml": "- 1\n",
    "nan.yaml": "hand: .nan\n",
    "binary.yaml": bytes(range(256)),
    "empty.yaml": "",
    "deep.yaml": "name: " + "[" * 5000,
    "number.yaml": "agents: 3\n",
    "one.yaml": "agents: [random]\n",
    "until.yaml": "agents: [random, threshold]\nuntil: .nan\n",
    "match.yaml": "agents: [random, threshold]\nmatch: 0\n",
    "seed.yaml": "agents: [random, threshold]\nseed: -1\n",
    "rules.yaml": "agents: [random, threshold]\nrules: {hand: 99}\n",
    "hands.yaml": "agents: [random, threshold]\nhands: 1000000000000000000000000\n",
    "decisions.yaml": "decisions: .inf\n",
    "layers.yaml": "layers: {a: 1}\n",
}
RULES = (
    "''",
    "missing.yaml",
    "folder.yaml",
    "folder",
    "broken.yaml",
    "list.yaml",
    "nan.yaml",
    "binary.yaml",
    "empty.yaml",
    "deep.yaml",
    "Grüße",
)
PLAYERS = (
    "''",
    "missing/path",
    "folder",
    "file",
    "a",
    "missing.safetensors",
    "x.py:Y",
    "no_module:Thing",
    "upcard-value:nan",
    "flat-mc:-3",
    "champion:x",
    "network:missing",
    "Grüße",
    "'a b'",
    "a=",
    "random=threshold",
)
WRONG_ARGUMENTS = {
    "evaluate random --against random": (
        "--hands 0",
        "--hands -4",
        f"--hands {10**30}",
        "--hands x",
        "--hands ''",
        "--seed -1",
        f"--seed {2**64}",
        "--seed x",
        "--seed 1.5",
        "--match 0",
        "--match best-of-2",
        "--match best-of-x",
        "--match x",
        "--match ''",
        "--until 0%",
        "--until nan",
        "--until inf",
        "--until 60%",
        "--until x",
        "--until ''",
        "--workers -1",
        "--workers 5000",
        "--workers x",
        *(
            f"--{name} {path}"
            for name in ("json", "csv", "records", "html", "markdown")
            for path in ("folder", "''", "file/x")
        ),
        *(f"--rules {rules}" for rules in RULES),
    ),
    "evaluate --against random": ("", "human", *PLAYERS),
    "evaluate random": ("", "--against", *(f"--against {name}" for name in PLAYERS)),
    "ladder": (
        "",
        "random",
        "random random",
        "--config ''",
        "--config missing.yaml",
        "--config folder.yaml",
        "--config broken.yaml",
        "--config number.yaml",
        "--config one.yaml",
        "--config until.yaml",
        "--config match.yaml",
        "--config seed.yaml",
        "--config rules.yaml",
        "--config hands.yaml",
        "random threshold --anchor ''",
        "random threshold --anchor x",
    ),
    "agents": ("x", "--x"),
    "rules": ("--yaml", "a b", *RULES),
    "replay": (
        "",
        "missing",
        "folder",
        "empty",
        "''",
        "file --hand x",
        "file --list --analyse",
        "file --search x",
        "file --network x",
        "file --hand 1 --list",
        *(f"file --html {path}" for path in ("/", "folder", "''", "file/x")),
    ),
    "puzzles": (
        "",
        "x",
        "grade --out nofile.jsonl",
        "make --endgames 0 --foreplay 0",
        "make --seed -1",
        "make --endgames -1",
        "make --foreplay x",
        "make --rules x",
    ),
    "tablebase": (
        "",
        "x",
        "build --cards 0",
        "build --cards 14",
        "build --cards -1",
        "build --cards x",
        "build --threads 0",
        f"build --threads {10**12}",
        "verify --cards 0",
        "verify --samples -1",
        "verify --samples x",
        "verify --threads -1",
        "info x",
    ),
    "exploitability": (
        "",
        "random",
        "''",
        "missing",
        "random --rules quick",
        "champion",
        "random --rules missing.yaml",
        "random --rules quick --samples x",
        "random --rules 2x4-h2 --samples 0",
        "random --rules 2x4-h2 --samples -1",
        "random --rules 2x6-h3",
        "threshold --rules classic",
        "nash --rules 2x8-h7",
    ),
    "solve": (
        "",
        "missing",
        "classic",
        "draft",
        "2x4-h2 --target 0",
        "2x4-h2 --target nan",
        "2x4-h2 --target x",
        "2x4-h2 --threads 0",
        f"2x4-h2 --threads {10**12}",
        "2x4-h2 --folder file",
        "2x4-h2 2x5-h2",
    ),
    "export": (
        "",
        "''",
        "missing",
        "folder",
        "file",
        "champion -o x.txt",
        "champion -o folder",
        "a",
        "threshold",
    ),
    "play": (
        "human",
        "--watch human",
        "--match 0",
        "--match x",
        "--best-of 2",
        "--match 3 --best-of 3",
        "--seed -1",
        f"--seed {2**64}",
        "--export x.txt",
        "--export ''",
        "--export file/x.csv",
        "--data file",
        "--watch missing",
        "''",
        "missing",
        "--rules ''",
        "--rules missing.yaml",
    ),
    "table": ("--port -1", "--port 70000", "--port x", "missing", "--port 0 --data file"),
    "train": (
        "",
        "''",
        "missing",
        "missing.yaml",
        "folder.yaml",
        "broken.yaml",
        "decisions.yaml",
        "layers.yaml",
        "quick quick",
        "quick entropy",
        "quick =3",
        "quick ent_coef=",
        "quick ent_coef=nan",
        "quick ent_coef=inf",
        "quick decisions=1e400",
        "quick decisions=-5",
        "quick hidden_sizes=a",
        "quick hidden_sizes=-3",
        "quick rules=missing.yaml",
        "quick seed=-1",
        "quick seed=x",
        "'quick' 'ent_coef=[1'",
        "quick trainer=x",
        "quick Grüße=1",
        "--seed 3",
        "--run",
    ),
}
LINES = [
    f"{command} {words}".strip()
    for command, several in WRONG_ARGUMENTS.items()
    for words in several
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    for name, content in FILES.items():
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    for name in ("folder", "folder.yaml", "data"):
        (folder / name).mkdir()
    return folder


@pytest.mark.parametrize("line", LINES)
def test_wrong_arguments_get_one_sentence(line: str, folder: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GERMAN_WHIST_DATA", str(folder / "data"))
    before = sorted(folder.iterdir())
    words = shlex.split(line)
    status = main(words)
    found = capsys.readouterr()
    *others, message = found.err.splitlines()
    assert status == 2, found
    assert message.startswith(f"german-whist {words[0]}: "), found
    assert all("is left out" in each or "compiling" in each for each in others), found
    assert "[Errno" not in message
    assert "fault of the program" not in message
    assert found.out == ""
    assert sorted(folder.iterdir()) == before
