"""Run by `test_device` where numba-cuda is: compile every kernel for a GPU, without one.

`.venv-cuda/bin/python tests/engine/ptx_checks.py` prints how many lines each kernel's PTX has.
"""

from __future__ import annotations

import json
from typing import Any

import numba.cuda
import numba.cuda.dispatcher
import numpy as np
from numba import from_dtype, typeof, types

from german_whist.agents.networks.relative_ranks import InputRows, gather_rows
from german_whist.engine.batch import cuda_kernels as kernels
from german_whist.engine.batch import kernels as episodes
from german_whist.engine.batch.config import ENV_CONFIG
from german_whist.engine.batch.kernels import WORKSPACE, BatchArrays
from german_whist.engine.batch.results import RESULT, StepResult
from german_whist.engine.cards import N_ACTIONS
from german_whist.engine.dtypes import GAME, RULES
from german_whist.engine.endgame import empty_tablebase
from german_whist.engine.observation.spec import OBSERVATION_SIZE
from german_whist.training.rollout import kernels as training

cuda: Any = numba.cuda


def array(kind: Any, dimensions: int = 1) -> types.Array:
    return types.Array(from_dtype(np.dtype(kind)), dimensions, "C")


BOARD = types.NamedTuple(
    (
        array(ENV_CONFIG),
        array(GAME),
        array("u1", 2),
        array(RESULT),
        array("u8"),
        array("i1"),
        array(WORKSPACE),
    ),
    BatchArrays,
)
NUMBERS, PLACES = array("i8"), array("i8")
ROWS_SHOWN = array("i1", 2), array("i1", 2)
MOVES = types.NamedTuple((PLACES, NUMBERS, types.int64), episodes.Moves)
STEP = types.NamedTuple((*ROWS_SHOWN, array("u1"), array("f4", 2), array("?")), StepResult)
TAKES = {
    episodes.reset_all: (PLACES, array("u8")),
    episodes.deal_next_all: (PLACES,),
    episodes.apply_all: (MOVES,),
    episodes.step_all: (MOVES, STEP),
    episodes.observe_all: (
        types.NamedTuple((PLACES, array("u1"), types.boolean, *ROWS_SHOWN), episodes.Watched),
    ),
    episodes.clear_all: (),
    episodes.turns_all: (array("u1"),),
    kernels.refuse_all: (types.Tuple((NUMBERS, NUMBERS, array("u1"))),),
    kernels.look_up_all: (MOVES, typeof(empty_tablebase())),
    kernels.random_actions_of_all: (types.uint64, NUMBERS),
}
BYTES, WORDS, LOGITS, RECORDS = array("i1", 2), array("i8", 2), array("f4", 2), array(GAME)
SEATS, ORDERS, CHANCES = array("u1"), array("u1", 2), array("f4")
ROWS = {
    gather_rows: (
        types.NamedTuple((BYTES, BYTES, NUMBERS, types.boolean, BYTES, BYTES, WORDS), InputRows),
    ),
    training.sample_actions: (
        types.NamedTuple((LOGITS, BYTES, CHANCES, NUMBERS, CHANCES), training.ActionSampling),
    ),
    training.draw_uniforms: (types.uint64, CHANCES),
    training.estimate_advantages: (
        types.NamedTuple(
            (
                ORDERS,
                array("f4", 3),
                array("?", 2),
                LOGITS,
                SEATS,
                CHANCES,
                types.float64,
                types.float64,
                LOGITS,
            ),
            training.GAE,
        ),
    ),
    training.write_hidden_cards: (
        types.NamedTuple(
            (array(RULES), RECORDS, SEATS, ORDERS, WORDS, BYTES), training.HiddenCards
        ),
    ),
}


class Device:
    compute_capability = (0, 0)


def main() -> None:
    cuda.dispatcher.get_current_device = Device
    named = {each.__name__ for each in TAKES}
    kernel_names = {
        name for module in (episodes, kernels) for name in vars(module) if name.endswith("_all")
    }
    assert kernel_names <= named, kernel_names - named
    compiled: dict[str, Any] = {
        each.__name__: (kernels.one_thread_each(each), (types.int64, BOARD, types.Tuple(takes)))
        for each, takes in TAKES.items()
    }
    for each, takes in ROWS.items():
        signature = types.int64, types.Tuple(takes)
        compiled[each.__name__] = kernels.one_row_each(each), signature
    step_block = kernels.step_block(OBSERVATION_SIZE, N_ACTIONS)
    compiled["step_block"] = step_block, (types.int64, BOARD, types.Tuple((MOVES, STEP)))
    arrays = types.Tuple((array(RULES), NUMBERS, NUMBERS))
    hands = arrays, types.uint64, types.int64
    compiled["random_hands_kernel"] = kernels.random_hands_kernel, hands
    sizes: dict[str, int] = {}
    for capability in ((8, 0), (9, 0)):
        Device.compute_capability = capability
        for name, (function, takes) in compiled.items():
            text, _ = cuda.compile(
                function.py_func,
                types.void(*takes),
                device=False,
                abi="numba",
                cc=capability,
                output="ptx",
            )
            target = "sm_{}{}".format(*capability)
            assert f".target {target}" in text
            assert ".visible .entry" in text
            sizes[f"{name} {target}"] = text.count("\n")
    print(json.dumps(sizes))


if __name__ == "__main__":
    main()
