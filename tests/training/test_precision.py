"""bfloat16 is used where the processor has instructions for it."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")


from german_whist.training.rollout import precision


@pytest.fixture(autouse=True)
def _ask_anew() -> Iterator[None]:
    precision.has_bfloat16.cache_clear()
    yield
    precision.has_bfloat16.cache_clear()


BIG, LITTLE = "Features\t: fp asimd i8mm bf16\n", "Features\t: fp asimd aes\n"


@pytest.mark.parametrize(
    ("cpu_info", "expected"),
    [(BIG + BIG, True), (LITTLE, False), (BIG + LITTLE, False), ("", False), (None, False)],
)
def test_linux_on_arm_has_bfloat16_where_all_cores_list_it(
    cpu_info: str | None, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    path = tmp_path / "cpuinfo"
    if cpu_info is not None:
        path.write_text(cpu_info, encoding="utf-8")
    monkeypatch.setattr(precision, "_LINUX_CPU_INFO", path)
    assert precision.has_bfloat16() is expected


@pytest.mark.parametrize(
    ("status", "answer", "expected"), [(0, "1\n", True), (0, "0\n", False), (1, "", False)]
)
def test_macos_on_arm_is_asked_for_its_feature(
    status: int, answer: str, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        assert command[-1] == "hw.optional.arm.FEAT_BF16"
        return subprocess.CompletedProcess(command, status, answer, "")

    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(subprocess, "run", run)
    assert precision.has_bfloat16() is expected


@pytest.mark.parametrize(
    ("machine", "system"), [("ARM64", "Windows"), ("riscv64", "Linux"), ("ppc64le", "Linux")]
)
def test_unknown_processors_have_no_bfloat16(
    machine: str, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(platform, "system", lambda: system)
    assert precision.has_bfloat16() is False
