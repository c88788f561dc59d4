"""Files for GitHub agree with their schemas, with pyproject.toml and with constraints.txt."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
GITHUB = ROOT / ".github"
FORMS = "[!c]*.yml"
SCHEMAS = {
    "vendor.github-workflows": [*GITHUB.glob("workflows/*.yml")],
    "custom.github-workflows-require-timeout": [*GITHUB.glob("workflows/*.yml")],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.github-issue-forms": [*GITHUB.glob(f"ISSUE_TEMPLATE/{FORMS}")],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_of_github_agree_with_their_schema(schema: str) -> None:
    pytest.importorskip("check_jsonschema")
    assert SCHEMAS[schema]
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *SCHEMAS[schema]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflow_tests_every_python_of_the_classifiers() -> None:
    workflow = yaml.safe_load((GITHUB / "workflows" / "tests.yml").read_text("utf-8"))
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    pythons = re.findall(r"Python :: (3\.\d+)", project)
    assert workflow["jobs"]["test"]["strategy"]["matrix"]["python"] == pythons


def test_devcontainer_makes_the_environment_that_it_names() -> None:
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert container["onCreateCommand"] == "make .venv/.ready"
    python = container["customizations"]["vscode"]["settings"]["python.defaultInterpreterPath"]
    assert python.endswith("/.venv/bin/python")


def test_pre_commit_has_the_ruff_of_constraints() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    constraints = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    for hook in hooks["repos"][0]["hooks"]:
        assert set(hook["additional_dependencies"]) <= {*constraints}
