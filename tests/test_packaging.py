"""The built wheel and sdist install elsewhere and play.

Of the thorough tests: `make thorough`.
"""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.thorough
ROOT = Path(__file__).resolve().parent.parent
MADE = shutil.ignore_patterns(
    *(".git", ".venv*", "build", "dist", "*.egg-info", "__pycache__", ".*_cache")
)


def left_out(folder: str, names: list[str]) -> set[str]:
    """What is made in a checkout; a package is called `runs` as well."""
    return {*MADE(folder, names), *(["runs"] if Path(folder) == ROOT else [])}


PLAY = """
import german_whist
from german_whist import Game, GameRecord, named_rules, record_of
for name in named_rules():
    game = Game(name, seed=4)
    while not game.over:
        game.play(game.legal()[0])
    assert GameRecord.from_line(record_of(game).to_line()).replay().pays == game.pays
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


def installed(archive: Path, folder: Path) -> Path:
    """The Python of a new environment with the archive installed, and nothing of this checkout."""
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    # Packages that the project needs are borrowed; a path in a .pth file runs no .pth files
    # that lie there, so this checkout's editable install is not among them.
    own = run(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).strip()
    borrowed = [each for each in [*site.getsitepackages(), *sys.path] if "site-packages" in each]
    Path(own, "borrowed.pth").write_text("\n".join(dict.fromkeys(borrowed)) + "\n")
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, archive, cwd=folder)
    return python


def test_what_was_built_can_be_published(built: Path) -> None:
    told = run(sys.executable, "-m", "twine", "check", "--strict", *built.iterdir(), cwd=built)
    assert told.count("PASSED") == 2


@pytest.mark.parametrize(("kind", "plain"), [("*.whl", "0"), ("*.tar.gz", "1")])
def test_what_was_built_installs_elsewhere_and_plays(
    kind: str, plain: str, built: Path, tmp_path
) -> None:
    (archive,) = built.glob(kind)
    python = installed(archive, tmp_path / "venv")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cache = str(tmp_path / "cache")
    environment = {"GERMAN_WHIST_CACHE": cache, "NUMBA_DISABLE_JIT": plain}
    told = run(python, "-c", PLAY, cwd=elsewhere, **environment)
    assert told.startswith(str(tmp_path / "venv"))
    command = python.parent / "german-whist"
    assert "small-last" in run(command, "rules", cwd=elsewhere)
    assert "8–5 pays 2" in run(command, "rules", "club-last", cwd=elsewhere, PYTHONUTF8="1")
    package = Path(told.split()[0]).parent
    assert (package / "py.typed").exists()
