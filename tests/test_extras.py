"""Where an extra is not installed, a sentence names it and the command that installs it."""

from __future__ import annotations

import json
import subprocess
import sys

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
    "a sweep": (
        "sweep",
        "from german_whist.training.experiments.search_space import import_optuna\nimport_optuna()",
    ),
    "the table": ("table", "from german_whist.cli import main\nsys.exit(main(['table']))"),
}
HIDDEN = ["optuna", "torch", "stable_baselines3", "sb3_contrib", "pyspiel", "PIL", "pygame", "onnx",
          "onnxruntime", "starlette", "uvicorn"]  # fmt: skip
PROGRAM = """
import contextlib, io, json, sys
sys.modules.update(dict.fromkeys({hidden!r}))
told = {{}}
for way, code in {ways!r}.items():
    with contextlib.redirect_stderr(io.StringIO()) as out:
        try:
            exec(code, {{"sys": sys}})
        except (Exception, SystemExit) as error:
            told[way] = f"{{out.getvalue()}}{{error}}"
print(json.dumps(told))
"""


def test_without_an_extra_a_sentence_names_the_command_that_brings_it() -> None:
    program = PROGRAM.format(hidden=HIDDEN, ways={way: code for way, (_, code) in WAYS.items()})
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    for way, (extra, _) in WAYS.items():
        assert "is not installed" in told[way], way
        assert f"pip install 'german-whist[{extra}]'" in told[way], way
