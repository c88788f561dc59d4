"""The environments' names in the registries of Gymnasium and PettingZoo, once those are loaded.

Neither has a place where a package can leave names to be found later: whoever registers has
to import them first, which takes ten times as long as all the rest of `import german_whist`.
So the names are registered at once where the library is loaded already, and otherwise at the
end of its own import.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

GYMNASIUM_ID = "german_whist/GermanWhist-v0"
GYMNASIUM_ID_OF_THREE = "german_whist/GermanWhistThree-v0"
# As PettingZoo's registry keeps german_whist_v0 and german_whist_three_v0.
PETTINGZOO_ID = "german_whist/german_whist-v0"
PETTINGZOO_ID_OF_THREE = "german_whist/german_whist_three-v0"


def _register_in_gymnasium(gymnasium: Any) -> None:
    if GYMNASIUM_ID not in gymnasium.registry:
        gymnasium.register(
            GYMNASIUM_ID,
            entry_point="german_whist.envs.gym_env:GermanWhistEnv",
            vector_entry_point="german_whist.envs.gym_env:GermanWhistVectorEnv",
        )
        gymnasium.register(
            GYMNASIUM_ID_OF_THREE, entry_point="german_whist.envs.three_gym:GermanWhistThreeEnv"
        )


def _register_in_pettingzoo(pettingzoo: Any) -> None:
    # Only newer versions of PettingZoo have a registry.
    if hasattr(pettingzoo, "register") and PETTINGZOO_ID not in pettingzoo.aec_registry:
        pettingzoo.register(
            "aec", PETTINGZOO_ID, entry_point="german_whist.envs.german_whist_v0:env"
        )
        pettingzoo.register(
            "aec",
            PETTINGZOO_ID_OF_THREE,
            entry_point="german_whist.envs.german_whist_three_v0:env",
        )


_REGISTER = {"gymnasium": _register_in_gymnasium, "pettingzoo": _register_in_pettingzoo}


class _AfterImport:
    """Finds a library as the other finders do, and has something done when it is loaded."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._then = then
        self._looking = False

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self._name or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Any) -> None:
        load = loader.exec_module

        def load_and_tell(module: ModuleType) -> None:
            load(module)
            sys.meta_path[:] = [finder for finder in sys.meta_path if finder is not self]
            self._then(module)

        loader.exec_module = load_and_tell


def register_environments() -> None:
    """Make the environments known by name; neither they nor the libraries are loaded for it."""
    for name, register in _REGISTER.items():
        loaded = sys.modules.get(name)
        if loaded is not None:
            register(loaded)
        else:
            sys.meta_path.insert(0, _AfterImport(name, register))  # pyright: ignore[reportArgumentType]
