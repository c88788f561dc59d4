# pyright: reportIncompatibleMethodOverride=false, reportIncompatibleVariableOverride=false
"""PettingZoo's AEC API with type annotations, which PettingZoo lacks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

Observation = dict[str, npt.NDArray[np.int8]]
"""`observation` and `action_mask`."""

if TYPE_CHECKING:
    from .options import Info
    from .render.modes import RenderFrame

    class TypedAEC(AECEnv[str, Observation, int]):
        """Annotations of an AEC environment."""

        possible_agents: list[str]
        agents: list[str]
        agent_selection: str
        rewards: dict[str, float]
        terminations: dict[str, bool]
        truncations: dict[str, bool]
        infos: dict[str, Info]
        observation_spaces: dict[str, spaces.Dict]
        action_spaces: dict[str, spaces.Discrete]

        def reset(
            self, seed: int | None = None, options: Mapping[str, object] | None = None
        ) -> None: ...
        def step(self, action: int | np.integer | str | None) -> None: ...
        def observe(self, agent: str) -> Observation: ...
        def last(self, observe: bool = True) -> tuple[Observation, float, bool, bool, Info]: ...
        def agent_iter(self, max_iter: int = ...) -> Iterator[str]: ...
        def observation_space(self, agent: str) -> spaces.Dict: ...
        def action_space(self, agent: str) -> spaces.Discrete: ...
        def render(self) -> RenderFrame: ...
        def close(self) -> None: ...

    Raw = TypeVar("Raw", bound=TypedAEC)

    class Wrapped(TypedAEC, Generic[Raw]):
        """The wrapped environment of a module's `env()`."""

        def __init__(self, env: AECEnv[str, Observation, int]) -> None: ...
        @property
        def unwrapped(self) -> Raw: ...

else:
    TypedAEC = AECEnv

    class Wrapped(OrderEnforcingWrapper):
        """PettingZoo's wrapper of the order of calls, with a sentence after the end."""

        def last(self, observe=True):
            try:
                return super().last(observe)
            except KeyError:
                # Asked only now, since each of PettingZoo's wrappers looks for `agents` in turn.
                if not self.agents:
                    self.unwrapped.raise_without_agents()
                raise

        def __str__(self):
            return str(self.env)
