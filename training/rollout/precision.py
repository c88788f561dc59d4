"""Whether the CPU multiplies matrices in bfloat16 faster than in float32."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from pathlib import Path

import torch

_LINUX_CPU_INFO = Path("/proc/cpuinfo")


@cache
def has_bfloat16() -> bool:
    """Whether the CPU has instructions for bfloat16, whose emulation is slower than float32.

    False where it is unknown.
    """
    machine, system = platform.machine().lower(), platform.system()
    if machine in ("x86_64", "amd64"):
        # torch 2.8 has no public function for this.
        return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    if machine in ("aarch64", "arm64") and system == "Linux":
        return _linux_arm_has_bfloat16()
    return machine == "arm64" and system == "Darwin" and _macos_has_bfloat16()


def _linux_arm_has_bfloat16() -> bool:
    try:
        lines = _LINUX_CPU_INFO.read_text(encoding="utf-8").splitlines()
    except OSError:
        return False
    features = [line.partition(":")[2].split() for line in lines if line.startswith("Features")]
    # A process may run on any core of a processor with large and small ones.
    return bool(features) and all("bf16" in each for each in features)


def _macos_has_bfloat16() -> bool:
    command = ["/usr/sbin/sysctl", "-n", "hw.optional.arm.FEAT_BF16"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return answer.returncode == 0 and answer.stdout.strip() == "1"
