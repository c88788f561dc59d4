"""Where an extra is not installed, a sentence names it and the command that installs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

START = """
import sys
for name in {hidden!r}:
    sys.modules[name] = None
"""
WAYS = {
    "the VecEnv": ("train", "import german_whist.envs.sb3"),
    "OpenSpiel": ("open-spiel", "import german_whist.envs.open_spiel"),
    "pictures": (
        "render",
        "from german_whist import german_whist_v0\n"
        "env = german_whist_v0.env(render_mode='rgb_array')\nenv.reset(seed=1)\nenv.render()",
    ),
    "a Gymnasium window": (
        "render",
        "import gymnasium\nimport german_whist\n"
        "env = gymnasium.make('german_whist/GermanWhist-v0', render_mode='human')\n"
        "env.reset(seed=1)",
    ),
    "ONNX": ("onnx", "from german_whist.agents import make_agent\nmake_agent('onnx:some.onnx')"),
    "a model of SB3": (
        "train",
        "import tempfile\n"
        "from german_whist.agents import make_agent\n"
        "with tempfile.NamedTemporaryFile(suffix='.zip') as model:\n"
        "    make_agent(f'sb3:{model.name},trusted')",
    ),
    "training": ("train", "from german_whist import train\ntrain('tiny', folder='here')"),
    "a sweep": ("sweep", "from german_whist.training.trials import optuna_here\noptuna_here()"),
    "the table": ("table", "from german_whist.cli import main\nsys.exit(main(['table']))"),
}
HIDDEN = {
    "train": ["torch", "stable_baselines3", "sb3_contrib"],
    "open-spiel": ["pyspiel"],
    "render": ["PIL", "pygame"],
    "onnx": ["onnx", "onnxruntime"],
    "sweep": ["optuna"],
    "table": ["starlette", "uvicorn"],
}


@pytest.mark.parametrize("way", WAYS)
def test_without_an_extra_a_sentence_names_the_command_that_brings_it(way: str) -> None:
    extra, code = WAYS[way]
    done = subprocess.run(
        [sys.executable, "-c", START.format(hidden=HIDDEN[extra]) + code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "is not installed" in last
    assert f"pip install 'german-whist[{extra}]'" in last
