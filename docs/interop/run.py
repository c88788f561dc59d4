"""Run the examples and the programs of the pages here, each in a virtual environment of its own.

`python docs/interop/run.py [NAME ...]` makes `.venv-interop-NAME` beside the Makefile
if it is not there (some minutes the first time), installs the project into it, and runs
the example. It ends with an error if one fails.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HOME = Path(__file__).resolve().parent
ROOT = HOME.parent.parent

# What each example needs besides the project. RLlib 2.60 pins an older Gymnasium, MLflow and
# Tianshou older packages of other kinds, so these get versions of their own choice; the others get
# those that the project is tested with. CleanRL declares Python below 3.11: one file of it is used.
NEEDS = {
    "torchrl": ["torch==2.13.0", "torchrl==0.14.1"],
    "supersuit": ["supersuit==3.11.0"],
    "rllib": ["torch==2.13.0", "ray[rllib]==2.60.0"],
    "wandb": ["torch==2.13.0", "tensorboard==2.21.0", "wandb==0.31.0"],
    "mlflow": ["torch==2.13.0", "mlflow==3.17.2"],
    "ray": ["torch==2.13.0", "ray==2.60.0"],
    "pgx": ["jax==0.10.2"],
    "open_spiel": ["open-spiel"],
    # Its HDF5 storage imports Pillow, which it does not require.
    "minari": ["minari[hdf5]==0.5.4", "pillow"],
    "textarena": ["textarena==0.7.4"],
    "openenv": ["openenv==0.10.0"],
    # The page's program needs none of verifiers, which reads the server by its address.
    "verifiers": [],
    "sb3": ["torch==2.13.0", "stable_baselines3==2.9.2", "sb3_contrib==2.9.2"],
    "tianshou": ["torch==2.13.0", "tianshou==2.0.1"],
    "cleanrl": [
        "torch==2.13.0",
        "tensorboard==2.21.0",
        "setuptools",
        "--no-deps --ignore-requires-python cleanrl==1.2.0",
    ],
}
FREE = ("rllib", "mlflow", "tianshou", "textarena", "openenv")
# Programs elsewhere, with small budgets.
PROGRAMS = {
    "sb3": [str(ROOT / "examples" / "maskable_ppo.py"), "--steps", "500000", "--hands", "2000"]
}


def prepared(name: str) -> Path:
    """The Python of an example's environment, which is made when it is not there."""
    folder = ROOT / f".venv-interop-{name}"
    python = folder / "bin" / "python"
    ready = folder / ".ready"
    if ready.exists() and ready.read_text() == " ".join(NEEDS[name]):
        return python
    print(f"making {folder.name}", flush=True)
    venv.create(folder, clear=True, with_pip=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    if name not in FREE:
        pip += ["-c", str(ROOT / "constraints.txt")]
    # Torch first and alone, so that nothing else chooses another build of it.
    for requirement in (*map(str.split, NEEDS[name]), ["--editable", str(ROOT)]):
        subprocess.run([*pip, *requirement], check=True)
    ready.write_text(" ".join(NEEDS[name]))
    return python


def program_of(page: Path) -> str:
    """The Python blocks of a page."""
    parts = page.read_text(encoding="utf-8").split("```")
    blocks = [part for part in parts if part.startswith("python\n")]
    return "\n".join(block.removeprefix("python\n") for block in blocks)


def main() -> None:
    """Run the examples that were named, or all of them."""
    names = sys.argv[1:] or list(NEEDS)
    unknown = [name for name in names if name not in NEEDS]
    if unknown:
        sys.exit(f"{', '.join(unknown)}: there are {', '.join(NEEDS)}")
    for name in names:
        python = prepared(name)
        print(f"\n{name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            if name in PROGRAMS:
                words = PROGRAMS[name]
            elif (example := HOME / f"{name}_example.py").exists():
                words = [str(example)]
            else:
                # Under a name of its own: `import ray` in a file `ray.py` would find that file.
                page = Path(folder) / f"use_{name}.py"
                page.write_text(program_of(HOME / f"{name}.md"), encoding="utf-8")
                words = [str(page)]
            local = {**os.environ, "WANDB_MODE": "offline", "MINARI_DATASETS_PATH": folder}
            subprocess.run([str(python), *words], check=True, timeout=600, cwd=folder, env=local)


if __name__ == "__main__":
    main()
