"""Without an extra, an error names what needs it, the command that installs it, and the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from german_whist.common.suggestions import install_hint

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

ROOT = Path(__file__).resolve().parent.parent
CLI = "from german_whist.cli import main\nassert main({words}) == 2\nraise SystemExit"
# What the error says first, the extra that it names, and code that needs the extra.
NEEDS = {
    "GermanWhistVecEnv needs stable_baselines3": ("train", "import german_whist.envs.sb3"),
    "the game in OpenSpiel needs pyspiel": ("open-spiel", "import german_whist.envs.open_spiel"),
    "render_mode 'rgb_array' needs PIL": (
        "render",
        "from german_whist import german_whist_v0\ngerman_whist_v0.env(render_mode='rgb_array')",
    ),
    "render_mode 'human' needs pygame": (
        "render",
        "import importlib.util\nfrom german_whist.envs import GermanWhistEnv\n"
        "find_spec = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name: name == 'PIL' or find_spec(name)\n"
        "GermanWhistEnv(render_mode='human')",
    ),
    "an ONNX agent needs onnx": (
        "onnx",
        "from german_whist.agents import load_agent\nload_agent('onnx:some.onnx')",
    ),
    "an export to ONNX needs onnx": ("onnx", CLI.format(words=["export", "champion"])),
    "a model of Stable-Baselines3 needs sb3_contrib": (
        "train",
        "import tempfile\n"
        "from german_whist.agents import load_agent\n"
        "with tempfile.NamedTemporaryFile(suffix='.zip') as model:\n"
        "    load_agent(f'sb3:{model.name},trusted')",
    ),
    "training needs torch": ("train", "from german_whist import train\ntrain('tiny', folder='x')"),
    "training needs sb3_contrib": (
        "train",
        "from german_whist.training.algorithms.base import missing\n"
        "try:\n    import sb3_contrib\nexcept ImportError as error:\n    raise missing(error)",
    ),
    "TensorBoard's log needs torch": (
        "train",
        "from types import SimpleNamespace\n"
        "from german_whist.training.callbacks.loggers import TensorBoard\n"
        "TensorBoard().on_start(SimpleNamespace(report=sys.exit))",
    ),
    "the figure of intervals needs matplotlib": (
        "train",
        "from german_whist.training.experiments import benchmark_statistics\n"
        "benchmark_statistics.draw_intervals({})",
    ),
    "a sweep needs optuna": (
        "sweep",
        "from german_whist.training.experiments.search_space import import_optuna\nimport_optuna()",
    ),
    "--on ray needs ray": (
        "ray",
        CLI.format(words=["evaluate", "random", "--against", "threshold", "--on", "ray"]),
    ),
    "a GPU needs numba-cuda": (
        "cuda",
        "from german_whist.engine.batch.cuda_backend import check_device\ncheck_device()",
    ),
    "there is no GPU that numba can use here": (
        "cuda",
        "from types import SimpleNamespace\nimport numba\n"
        "from german_whist.engine.batch.cuda_backend import check_device\n"
        "numba.cuda = SimpleNamespace(is_available=bool)\ncheck_device()",
    ),
}
HIDDEN = [
    "PIL",
    "matplotlib",
    "numba.cuda",
    "onnx",
    "onnxruntime",
    "optuna",
    "pygame",
    "pyspiel",
    "ray",
    "sb3_contrib",
    "stable_baselines3",
    "tensorboard",
    "torch",
]
DISTRIBUTIONS = {"PIL": "pillow", "pygame": "pygame-ce", "pyspiel": "open-spiel"}
"""What brings a module, where it has another name."""
PROGRAM = """
import contextlib, io, json, sys
hidden, errors = dict.fromkeys({hidden!r}), {{}}
for need, code in {needs!r}.items():
    sys.modules.update(hidden)
    with contextlib.redirect_stderr(io.StringIO()) as out:
        try:
            exec(code, {{"sys": sys}})
        except (Exception, SystemExit) as error:
            errors[need] = f"{{out.getvalue()}}{{error}}"
print(json.dumps(errors))
"""


@pytest.fixture(scope="module")
def errors(tmp_path_factory) -> dict[str, str]:
    """The error of every piece of code where no extra is installed."""
    code = {need: code for need, (_, code) in NEEDS.items()}
    program = PROGRAM.format(hidden=HIDDEN, needs=code)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path_factory.mktemp("errors"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("need", NEEDS)
def test_missing_extra_is_named_with_command_and_page(need: str, errors: dict[str, str]) -> None:
    extra, _ = NEEDS[need]
    assert need in errors[need]
    assert f'pip install ".[{extra}]" in a clone of the repository' in errors[need]


@pytest.mark.parametrize("need", [need for need in NEEDS if " needs " in need])
def test_extra_brings_what_it_is_named_for(need: str) -> None:
    """A dependency may no longer bring a package along that it once brought."""
    module = need.rpartition(" needs ")[2]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    required = project["optional-dependencies"][NEEDS[need][0]]
    names = {re.split(r"[^\w.-]", each)[0] for each in required}
    assert DISTRIBUTIONS.get(module, module.replace("_", "-")) in names


CHECKER = """
import sys
sys.modules.update(dict.fromkeys({hidden!r}))
import gymnasium
import german_whist
from gymnasium.utils.env_checker import check_env
for name in ("GermanWhist", "GermanWhistText"):
    env = gymnasium.make(f"german_whist/{{name}}-v0").unwrapped
    check_env(env)
    print(*env.metadata["render_modes"])
"""


@pytest.mark.parametrize(
    ("hidden", "modes"), [(["pygame"], "ansi rgb_array svg"), (HIDDEN, "ansi svg")]
)
def test_gymnasiums_checker_passes_without_extras(
    hidden: list[str], modes: str, tmp_path: Path
) -> None:
    program = CHECKER.format(hidden=hidden)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [modes] * 2


def test_install_page_lists_every_extra_of_a_hint() -> None:
    page = re.search(r"\((docs/.*\.md)\)$", install_hint("train"))
    assert page
    rows = re.findall(r"^\| (`.*`) \|", (ROOT / page[1]).read_text("utf-8"), re.MULTILINE)
    assert {extra for extra, _ in NEEDS.values()} <= {*re.findall(r"`([\w-]+)`", " ".join(rows))}


def test_no_file_installs_the_package_from_an_index() -> None:
    """Nothing is published: a name on an index would be a stranger's."""
    unowned = re.compile(r"(pip3? install|uv add)[^`\n]*['\" ]german[-_]whist\b(?!-\d)")
    suffixes = {".py", ".md", ".ipynb", ".js", ".json", ".toml", ".yaml", ".yml"}
    for path in [*ROOT.glob("*.md"), *ROOT.glob("[!.b]*/**/*"), *ROOT.glob("benchmarks/**/*")]:
        if path.suffix in suffixes:
            assert not unowned.search(path.read_text("utf-8")), path
