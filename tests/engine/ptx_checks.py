"""Run by `test_device` where numba-cuda is: compile every kernel for a GPU, without one.

`.venv-cuda/bin/python tests/engine/ptx_checks.py` prints how long each kernel's PTX is.
"""

from __future__ import annotations

import json
from typing import Any

import numba.cuda
import numba.cuda.dispatcher
import numpy as np
from numba import from_dtype, typeof, types

from german_whist.engine import cuda_kernels as kernels
from german_whist.engine.endgame import no_tables
from german_whist.engine.options import PLAN
from german_whist.engine.results import RESULT
from german_whist.engine.state import GAME, RULES

cuda: Any = numba.cuda


def array(kind: Any, dimensions: int = 1) -> types.Array:
    return types.Array(from_dtype(np.dtype(kind)), dimensions, "C")


SEEN = types.NamedTuple(
    (array("i1", 2), array("i1", 2), array("u1"), array("f4", 2), array("?")), kernels.Seen
)
BOARD = types.NamedTuple(
    (array(PLAN), array(GAME), array("u1", 2), array(RESULT), array("u8"), array("i1"),
     array("i8"), SEEN),
    kernels.DeviceBoard,
)  # fmt: skip
TAKES = {
    "begin_kernel": (BOARD, array("u8")),
    "look_kernel": (BOARD,),
    "step_kernel": (BOARD, array("i8")),
    "endings_kernel": (BOARD, typeof(no_tables()), array("i8")),
    "close_kernel": (BOARD, array("i8")),
    "random_actions_kernel": (BOARD, types.uint64, array("i8")),
    "random_hands_kernel": (array(RULES), types.uint64, types.int64, array("i8"), array("i8")),
}


class Device:
    """What numba asks a device for while it compiles."""

    compute_capability = (0, 0)


def main() -> None:
    """Compile all, for the A100's kind and for the H100's."""
    cuda.dispatcher.get_current_device = Device
    names = {name for name in vars(kernels) if name.endswith("_kernel")}
    assert names == set(TAKES), names ^ set(TAKES)
    found: dict[str, int] = {}
    for capability in ((8, 0), (9, 0)):
        Device.compute_capability = capability
        for name, takes in TAKES.items():
            function = getattr(kernels, name).py_func
            text, _ = cuda.compile(
                function, types.void(*takes), device=False, abi="numba", cc=capability,
                output="ptx",
            )  # fmt: skip
            target = "sm_{}{}".format(*capability)
            assert f".target {target}" in text
            assert ".visible .entry" in text
            found[f"{name} {target}"] = len(text)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
