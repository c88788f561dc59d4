"""How a run begins in a new directory, and how it is resumed from its saved state."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...agents.checkpoints.checkpoint import CheckpointError
from ...common.plugins import error_text
from ...common.suggestions import suggest
from ...common.typed_settings import SettingsError
from ..algorithms.base import Trainer
from ..algorithms.plugin_checks import check_results, guarded
from ..algorithms.registry import make_trainer
from ..callbacks.base import Callback, named_callback
from ..callbacks.evaluation import check_eval_opponents
from ..checkpoint import RunState
from ..distributed import current_ranks
from ..settings import Settings
from .presets import changed_settings, command_of
from .run import Run
from .run_lock import Claim, claim_new, claim_numbered
from .store import SETTINGS, RunStore, settings_of
from .warm_start import beginning_of

# Settings of the final evaluation, which a finished run may repeat, and its callbacks.
_AT_THE_END = {"eval_opponents", "final_eval_opponents", "final_eval_hands", "callbacks"}


def start(
    folder: Path,
    settings: Settings,
    *,
    numbered: bool = False,
    callbacks: Iterable[object] = (),
) -> Run:
    """A new run in a folder that nobody has; `numbered` takes FOLDER-1, or the next that is free.

    `callbacks` are beside those that the settings name. Wrong settings are refused before a folder
    is made.
    """
    ranks = current_ranks()
    trainer = make_trainer(settings, ranks)
    joined = _joined(trainer, settings, callbacks) if ranks.is_first else []
    check_eval_opponents(settings)
    check_results(trainer, settings)
    beginning = claim = None
    if ranks.is_first and settings.init:
        beginning = beginning_of(settings, trainer.network_card())
    beginning = ranks.broadcast(beginning)
    if beginning is not None:
        guarded(trainer.load_weights, beginning.weights)
    if ranks.is_first:
        claim = claim_numbered(folder) if numbered else claim_new(folder)
        folder = claim.folder
    store = RunStore(ranks.broadcast(folder), claim)
    if ranks.is_first:
        store.write_settings(settings)
    state, note = RunState(trainer={}, commands=[command_of(settings)]), ""
    if beginning is not None:
        state.init, note = beginning.origin, beginning.about
    run = Run(store, settings, trainer, state, joined, note=note)
    run.save()
    return run


def resume(folder: Path, words: Sequence[str] = (), *, callbacks: Iterable[object] = ()) -> Run:
    """A run from where its state was saved last.

    `words` change settings from here on; what shapes the network and the games stays.
    """
    if not current_ranks().is_first:
        return _resumed(RunStore(folder, None), words, ())
    if not folder.exists():
        beside = {each.parent.name for each in folder.parent.glob("*/*.yaml")}
        near = suggest(folder.name, beside, listed=False)
        raise ValueError(f"{folder}: there is no such folder to go on in{near}")
    if not (folder / SETTINGS).exists():
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it")
    store = RunStore(folder, Claim(folder))
    try:
        return _resumed(store, words, callbacks)
    except BaseException:
        store.release()
        raise


def _resumed(store: RunStore, words: Sequence[str], callbacks: Iterable[object]) -> Run:
    ranks = current_ranks()
    loaded: Any = None
    if ranks.is_first:
        before = settings_of(store.folder)
        loaded = before, changed_settings(before, words), *store.load_state()
    before, settings, arrays, state = ranks.broadcast(loaded)
    trainer = make_trainer(settings, ranks)
    joined = _joined(trainer, settings, callbacks) if ranks.is_first else []
    run = Run(store, settings, trainer, state, joined)
    try:
        guarded(trainer.restore, arrays, state.trainer)
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise CheckpointError(
            f"{store.state_path}: does not fit the run's settings ({error_text(error)}); begin "
            f"another run with its weights: init={store.folder}"
        ) from error
    # The budget may have been changed in the file.
    if state.finished and trainer.decisions < settings.decisions:
        state.finished = False
    if settings != before:
        _check_that_something_is_left(run, before)
        if ranks.is_first:
            store.write_settings(settings)
        state.commands.append(
            f"german-whist train --resume RUN {shlex.join(words)}"
            f"  # after {trainer.decisions:,} decisions"
        )
        state.finished = False
        run.save()
    return run


def _joined(trainer: Trainer, settings: Settings, more: Iterable[object]) -> list[Callback]:
    """The callbacks of a run; those of another kind are the trainer's, if it takes them."""
    callbacks: list[Callback] = []
    named = [(name, named_callback(name)) for name in settings.callbacks]
    for name, callback in [*named, *((type(each).__name__, each) for each in more)]:
        if isinstance(callback, Callback):
            callbacks.append(callback)
        elif not trainer.add_callback(callback):
            raise SettingsError(
                f"callbacks: {name} is a {type(callback).__name__}, which is no callback of a run, "
                f"nor one that the trainer {settings.trainer} takes"
            )
    return callbacks


def _check_that_something_is_left(run: Run, before: Settings) -> None:
    """Refuse changed settings with which nothing would be trained, nor measured in another way."""
    settings, played = run.settings, run.trainer.decisions
    if settings.decisions != before.decisions and settings.decisions <= played:
        raise SettingsError(
            f"decisions is {settings.decisions:,}, and {run.folder} has played {played:,} already: "
            f"give more than that, as in decisions={2 * played}"
        )
    spent = run.seconds / 60
    if settings.max_minutes != before.max_minutes and 0 < settings.max_minutes < spent:
        raise SettingsError(
            f"max_minutes is {settings.max_minutes:g}, and {run.folder} has taken {spent:.2g} "
            f"already: give more, as in max_minutes={max(1, math.ceil(2 * spent))}, or 0 for none"
        )
    was, now = before.as_mapping(), settings.as_mapping()
    changed = [name for name, value in now.items() if value != was[name]]
    if played >= settings.decisions and not _AT_THE_END.intersection(changed):
        raise SettingsError(
            f"{', '.join(changed)}: {run.folder} has played its {played:,} decisions, so that "
            f"nothing would come of it: give more beside, as in decisions={2 * played}"
        )
