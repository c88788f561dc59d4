"""Code of others that settings name: loaded before anything is trained, and told by a digest."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from ...agents.checkpoints import CheckpointError, is_checkpoint, read_card
from ...agents.registry import check_agent_names, named_code
from ...common.plugins import import_object
from ...common.provenance import code_sha256
from ...common.trust import check_trusted
from ...evaluation.packing import classes_in, files_of_agent, networks_of_agent
from ..algorithms.registry import TRAINERS, trainer_kind
from ..callbacks.base import CALLBACKS
from ..callbacks.evaluation import check_eval_opponents
from ..folder import agents_of
from ..settings import Settings

_ROOT = __name__.partition(".")[0] + "."


def check_foreign_code(settings: Settings) -> None:
    """Refuse settings that name code which is not trusted or cannot be loaded.

    An experiment trains in other processes or much later, and would be refused there.
    """
    foreign_code(settings)
    if network := getattr(settings, "network", ""):
        from ...agents.networks.custom_network import check_options

        check_options(network, getattr(settings, "network_options", {}))
    check_eval_opponents(settings)


def foreign_code(settings: Settings, opponents: Iterable[str] = ()) -> dict[str, str]:
    """SHA-256 of what is not of this package, by its name in the settings.

    Of a trainer, a network, callbacks and agents, these `opponents` included, the source; of the
    package's own agents the weights and other files that they are given.
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
    agents = [*opponents, *agents_of(settings)]
    # Of `init` the weights alone: its class is the one that is trained.
    return _digests(found) | code_of_agents(agents) | _weights_of(settings.init)


def code_of_agents(agents: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the sources that names of agents tell, or of weights and files, by their names.

    Of a network of one's own, both. Untrusted code is refused.
    """
    digests: dict[str, str] = {}
    for agent in dict.fromkeys(agents):
        if code := named_code(agent):
            check_agent_names([agent])  # which refuses what is not trusted, and imports it
            digests[code] = code_sha256(code.partition(":")[0])
            continue
        # A path may have colons, too.
        is_path = is_checkpoint(agent.partition(",")[0])
        for module, target in [] if is_path else classes_in(agent):
            code = f"{module}:{target}"
            check_trusted(code)
            import_object(code)
            digests[code] = code_sha256(module)
        digests |= _weights_of(agent)
        for network in networks_of_agent(agent):
            from ...agents.networks.custom_network import code_of_class  # loads torch

            digests[network] = code_of_class(network)
    return digests


def _weights_of(agent: str) -> dict[str, str]:
    return {str(path): _weights_sha256(path) for path in files_of_agent(agent)}


def _weights_sha256(path: Path) -> str:
    """SHA-256 of the weights of a checkpoint, whose card may gain evaluations; else of a file."""
    with suppress(CheckpointError):
        if digest := read_card(path).sha256:
            return digest
    return sha256(path.read_bytes()).hexdigest()


def _digests(found: dict[str, object]) -> dict[str, str]:
    modules = {name: getattr(thing, "__module__", "") for name, thing in found.items()}
    return {
        name: digest
        for name, module in modules.items()
        if not module.startswith(_ROOT) and (digest := code_sha256(module))
    }
