"""Run golden games, batches and environments with the oldest and the newest dependencies allowed.

`make compat`: each in a virtual environment of its own, which later runs use again. The oldest
versions are the lower bounds in pyproject.toml, on the oldest Python of this machine that the
package allows; the newest are what pip finds on its newest Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = range(10, 20)  # 3.10 and what may follow
TOOLS = ("pytest", "hypothesis", "scipy", "setuptools>=77")
TOLD = ("numba", "llvmlite", "numpy", "gymnasium", "pettingzoo")
FILES = (
    "engine/test_golden.py",
    "engine/test_batch.py",
    "engine/test_checks.py",
    "common/test_plain_jit.py",
    "common/test_jit_compiler.py",
    "common/test_jit_dispatch.py",
    "envs/test_pettingzoo.py",
    "envs/test_gymnasium.py",
)


def interpreters() -> list[str]:
    """Every version of Python on this machine that the package allows, oldest first."""
    found: list[str] = []
    for minor in PYTHONS:
        name = f"python3.{minor}"
        kept = Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/{name}")
        for each in filter(None, [shutil.which(name), *map(str, sorted(kept))]):
            # A shim stands there for versions that are not chosen too.
            if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
                found.append(each)
                break
    return found or [sys.executable]


def environment(kind: str, interpreter: str) -> Path:
    wanted = [*PROJECT["dependencies"]]
    if kind == "oldest":
        wanted = [each.replace(">=", "==") for each in wanted]
    folder = ROOT / f".venv-{kind}"
    python, ready = folder / "bin" / "python", folder / ".ready"
    stamp = "\n".join([str(ROOT), interpreter, *wanted, *TOOLS])
    pip = (str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq")
    if not ready.exists() or ready.read_text(encoding="utf-8") != stamp:
        print(f"making {folder.name}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([interpreter, "-m", "venv", str(folder)], check=True)
        subprocess.run([*pip, *wanted, *TOOLS], check=True)
        editable = ("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        subprocess.run([*pip, *editable], check=True)
        ready.write_text(stamp, encoding="utf-8")
    elif kind == "newest":
        subprocess.run([*pip, "--upgrade", *wanted], check=True)
    return python


def main() -> None:
    """Run the tests in both, side by side, and end with a fault if any failed."""
    oldest, *_, newest = [*interpreters()] * 2
    versions = "; ".join(f"print('{each}', version('{each}'), end='  ')" for each in TOLD)
    script = f"import sys; from importlib.metadata import version; {versions}; print(sys.version)"
    tests = [str(ROOT / "tests" / each) for each in FILES]
    # An installation makes links anew that tests read: both are made before either runs.
    pythons = {
        kind: str(environment(kind, interpreter))
        for kind, interpreter in (("oldest", oldest), ("newest", newest))
    }
    runs: list[tuple[str, subprocess.Popen[bytes]]] = []
    for kind, python in pythons.items():
        told = subprocess.run([python, "-c", script], check=True, stdout=subprocess.PIPE, text=True)
        run = subprocess.Popen(
            [python, "-m", "pytest", "-p", "no:cacheprovider", *tests],
            cwd=ROOT,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        runs.append((f"{kind}: {told.stdout}", run))
    faults = 0
    for name, run in runs:
        output, _ = run.communicate()
        print(name + output.decode(), flush=True)
        faults += bool(run.returncode)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
