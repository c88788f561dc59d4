"""Code of others that settings name: loaded before anything is trained, and told by a digest."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from ...agents.registry import check_agent_names
from ...common.plugins import import_object
from ...common.provenance import code_sha256
from ...evaluation.packing import named_in
from ..algorithms.registry import TRAINERS, trainer_kind
from ..callbacks.base import CALLBACKS
from ..callbacks.evaluation import check_eval_opponents
from ..settings import Settings

_ROOT = __name__.partition(".")[0] + "."


def check_foreign_code(settings: Settings) -> None:
    """Refuse settings that name code which is not trusted or cannot be loaded.

    An experiment trains in other processes or much later, and would be refused there.
    """
    foreign_code(settings)
    check_eval_opponents(settings)


def foreign_code(settings: Settings, opponents: Iterable[str] = ()) -> dict[str, str]:
    """SHA-256 of what is not of this package, by its name in the settings.

    Of a trainer, a network and callbacks the source; of agents, these `opponents` included, also
    the files that they name, such as checkpoints.
    """
    found: dict[str, object] = {}
    entry = TRAINERS.get(settings.trainer)
    if entry is None or not str(entry.source).startswith(_ROOT):
        found[settings.trainer] = trainer_kind(settings.trainer)
    if network := getattr(settings, "network", ""):
        from ...agents.networks.custom_network import network_class

        found[network] = network_class(network)
    for name in settings.callbacks:
        try:
            found[name] = CALLBACKS.find(name)
        except ValueError as error:
            raise ValueError(f"callbacks: {error}") from None
    agents = [*opponents, *settings.eval_opponents, *settings.final_eval_opponents]
    agents += [*getattr(settings, "opponents", ()), *filter(None, [settings.init])]
    files: dict[str, str] = {}
    for agent in dict.fromkeys(agents):
        code, paths = named_in(agent)
        if code:
            check_agent_names([agent])  # whether it is trusted
        found |= {name: import_object(name) for name in code}
        files |= {str(path): sha256(path.read_bytes()).hexdigest() for path in paths}
    return _digests(found) | files


def _digests(found: dict[str, object]) -> dict[str, str]:
    modules = {name: getattr(thing, "__module__", "") for name, thing in found.items()}
    return {
        name: digest
        for name, module in modules.items()
        if not module.startswith(_ROOT) and (digest := code_sha256(module))
    }
