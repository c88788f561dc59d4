"""The built wheel and sdist install elsewhere and play; examples run with their install lines.

Of the thorough tests: `make thorough`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from environments import PACKAGE, brought_by, install_line, requirements_of, show_only
from test_examples import NOTEBOOK, RUNS, text_and_code

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).resolve().parent.parent
MADE = shutil.ignore_patterns(
    ".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache"
)


def left_out(folder: str, names: list[str]) -> set[str]:
    """What is made in a checkout, links too; a package is called `runs` as well."""
    links = {name for name in names if Path(folder, name).is_symlink()}
    return {*MADE(folder, names), *links, *(["runs"] if Path(folder) == ROOT else [])}


PLAY = """
import german_whist
from german_whist import Game, GameRecord, named_rules, record_of
for name in named_rules():
    game = Game(name, seed=4)
    while not game.over:
        game.play(game.legal()[0])
    assert GameRecord.from_line(record_of(game).to_line()).replay().payoffs == game.payoffs
print(german_whist.__file__, game.counting_tricks)
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    words, env = [str(part) for part in command], {**os.environ, **environment}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """A folder with the sdist, and the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("build")
    copy = shutil.copytree(ROOT, folder / "checkout", ignore=left_out)
    out = folder / "dist"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, cwd=copy)
    return out


class Environment:
    """A new environment with a wheel, an sdist or a checkout installed, and nothing else yet."""

    def __init__(self, folder: Path, *what: str | Path) -> None:
        venv.create(folder, with_pip=False)
        self.python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        self.packages = Path(run(self.python, "-c", where, cwd=folder).strip())
        # Setuptools builds what is no wheel.
        show_only([distribution("setuptools")], self.packages)
        options = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
        pip = (sys.executable, "-m", "pip", "--python", self.python, "install", *options)
        run(*pip, *what, cwd=folder)

    def show(self, line: str) -> None:
        """Have what a line of `pip install` brings, and no more."""
        (package,) = distributions(name=PACKAGE, path=[str(self.packages)])
        show_only(brought_by(requirements_of(line), package), self.packages)


def test_what_was_built_can_be_published(built: Path) -> None:
    told = run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir(), cwd=built)
    assert told.count("PASSED") == 2


@pytest.mark.parametrize(("kind", "plain"), [("*.whl", "0"), ("*.tar.gz", "1")])
def test_what_was_built_installs_elsewhere_and_plays(
    kind: str, plain: str, built: Path, tmp_path
) -> None:
    (archive,) = built.glob(kind)
    environment = Environment(tmp_path / "venv", archive)
    environment.show("pip install .")
    python = environment.python
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cache = str(tmp_path / "cache")
    told = run(python, "-c", PLAY, cwd=elsewhere, GERMAN_WHIST_CACHE=cache, NUMBA_DISABLE_JIT=plain)
    assert told.startswith(str(tmp_path / "venv"))
    command = python.parent / "german-whist"
    assert "small-last" in run(command, "rules", cwd=elsewhere)
    assert "8–5 pays 2" in run(command, "rules", "club-last", cwd=elsewhere, PYTHONUTF8="1")
    package = Path(told.split()[0]).parent
    assert (package / "py.typed").exists()


@pytest.fixture(scope="module")
def wheel_environment(built: Path, tmp_path_factory) -> Environment:
    return Environment(tmp_path_factory.mktemp("examples") / "venv", next(built.glob("*.whl")))


@pytest.mark.parametrize("name", [*RUNS, NOTEBOOK.stem])
def test_example_runs_with_what_its_install_line_brings(
    name: str, wheel_environment: Environment, tmp_path
) -> None:
    file, *options = name.split()
    text, code = text_and_code(file)
    words, output, written = RUNS.get(name, ([], "champion", ()))
    wheel_environment.show(install_line(text))
    (tmp_path / "example.py").write_text(code, encoding="utf-8")
    told = run(
        wheel_environment.python, "example.py", *options, *words, cwd=tmp_path, MPLBACKEND="agg"
    )
    assert output in told
    assert {*written} <= {path.name for path in tmp_path.iterdir()}


USER = """
import german_whist

env = german_whist.german_whist_v0.env("classic")
env.reset(seed=1)
name: str = env.agent_selection
number: int = env.agent_selection
"""


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_type_checkers_read_the_installed_package(kind: str, built: Path, tmp_path) -> None:
    checkout = built.parent / "checkout"
    what = ["--editable", checkout] if kind == "editable" else [*built.glob("*.whl")]
    environment = Environment(tmp_path / "venv", *what)
    environment.show("pip install .")
    user = tmp_path / "user.py"
    user.write_text(USER, encoding="utf-8")
    for checker in (
        ("pyright", "--pythonpath", environment.python),
        ("mypy", "--strict", f"--python-executable={environment.python}"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", *map(str, checker), str(user)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        errors = [line for line in done.stdout.splitlines() if " error: " in line]
        assert len(errors) == 1, done.stdout + done.stderr
        assert "user.py:7" in errors[0]


def test_editable_installation_sees_a_new_module(built: Path, tmp_path) -> None:
    checkout = built.parent / "checkout"
    environment = Environment(tmp_path / "venv", "--editable", checkout)
    environment.show("pip install .")
    (checkout / "common" / "executors" / "added.py").write_text("NUMBER = 3\n", encoding="utf-8")
    code = "from german_whist.common.executors.added import NUMBER; print(NUMBER)"
    assert run(environment.python, "-c", code, cwd=tmp_path) == "3\n"


def test_unpacked_sdist_is_the_whole_checkout_and_its_tests_run(built: Path, tmp_path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        assert max(member.size for member in archive) < 4_000_000
        archive.extractall(tmp_path, **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    (unpacked,) = tmp_path.iterdir()
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert not [name for name in listed.stdout.splitlines() if not (unpacked / name).exists()]
    environment = Environment(tmp_path / "venv", "--editable", unpacked)
    environment.show("pip install . pytest pytest-xdist hypothesis scipy")
    tests = ("tests/engine/test_cards_rules.py", "tests/engine/test_golden.py")
    assert " failed" not in run(environment.python, "-m", "pytest", *tests, cwd=unpacked)
