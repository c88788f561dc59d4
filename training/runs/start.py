"""Start of a run in a new directory, and resumption from its saved state."""

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
from ..algorithms.plugin_checks import check_counts, check_results, guarded
from ..algorithms.registry import make_trainer
from ..callbacks.base import Callback, named_callback
from ..callbacks.evaluation import check_eval_opponents
from ..checkpoint import RunState, remedy_without_state
from ..distributed import current_ranks
from ..settings import Settings
from .presets import changed_settings, command_of
from .run import Run
from .run_lock import RunLock, lock_new_folder, lock_numbered_folder
from .store import SETTINGS, RunStore, settings_of
from .warm_start import load_warm_start

# Settings that a finished run may change, to repeat its final evaluation.
_FINAL_SETTINGS = {"eval_opponents", "final_eval_opponents", "final_eval_hands", "callbacks"}


def start(
    folder: Path, settings: Settings, *, numbered: bool = False, callbacks: Iterable[object] = ()
) -> Run:
    """Start a run in a new directory; `numbered`: in FOLDER-1, or the next that is free.

    `callbacks` are added to those of the settings. Wrong settings are refused before the directory
    is made.
    """
    ranks = current_ranks()
    trainer = make_trainer(settings, ranks)
    run_callbacks = _callbacks(trainer, settings, callbacks) if ranks.is_first else []
    check_eval_opponents(settings)
    check_results(trainer, settings)
    warm_start = lock = None
    if ranks.is_first and settings.init:
        warm_start = load_warm_start(settings, trainer.network_card())
    warm_start = ranks.broadcast(warm_start)
    if warm_start is not None:
        guarded(trainer.load_weights, warm_start.weights)
    if ranks.is_first:
        lock = lock_numbered_folder(folder) if numbered else lock_new_folder(folder)
        folder = lock.folder
    store = RunStore(ranks.broadcast(folder), lock)
    if ranks.is_first:
        store.write_settings(settings)
    state, notes = RunState(trainer={}, commands=[command_of(settings)]), [*settings.notes]
    if warm_start is not None:
        state.init = warm_start.origin
        notes.append(warm_start.note)
    note = "; ".join(filter(None, notes))
    run = Run(store, settings, trainer, state, run_callbacks, note=note)
    run.save()
    return run


def resume(folder: Path, words: Sequence[str] = (), *, callbacks: Iterable[object] = ()) -> Run:
    """Load a run from its last saved state, with settings changed by `key=value` words."""
    if not current_ranks().is_first:
        return _resume(RunStore(folder, None), words, ())
    if not folder.exists():
        runs = {path.parent.name for path in folder.parent.glob("*/*.yaml")}
        near = suggest(folder.name, runs, listed=False)
        raise ValueError(f"{folder}: there is no such folder to go on in{near}")
    if not (folder / SETTINGS).exists():
        raise ValueError(f"{folder}: is no run: there is no {SETTINGS} in it")
    store = RunStore(folder, RunLock(folder))
    try:
        return _resume(store, words, callbacks)
    except BaseException:
        store.release()
        raise


def _resume(store: RunStore, words: Sequence[str], callbacks: Iterable[object]) -> Run:
    ranks = current_ranks()
    loaded: Any = None
    if ranks.is_first:
        before = settings_of(store.folder)
        loaded = before, changed_settings(before, words), *store.load_state()
    before, settings, arrays, state = ranks.broadcast(loaded)
    trainer = make_trainer(settings, ranks)
    run_callbacks = _callbacks(trainer, settings, callbacks) if ranks.is_first else []
    run = Run(store, settings, trainer, state, run_callbacks)
    try:
        guarded(trainer.restore, arrays, state.trainer)
        check_counts(trainer)
    except (ValueError, KeyError, TypeError, IndexError, RuntimeError) as error:
        raise CheckpointError(
            f"{store.state_path}: does not fit the run's settings ({error_text(error)}); "
            f"{remedy_without_state(store.folder)}"
        ) from error
    # The budget may have been changed in the file.
    if state.finished and trainer.decisions < settings.decisions:
        state.finished = False
    if settings != before:
        _check_that_changes_matter(run, before)
        if ranks.is_first:
            store.write_settings(settings)
        state.commands.append(
            f"german-whist train --resume RUN {shlex.join(words)}"
            f"  # after {trainer.decisions:,} decisions"
        )
        state.finished = False
        run.save()
    return run


def _callbacks(
    trainer: Trainer, settings: Settings, additional: Iterable[object]
) -> list[Callback]:
    """The callbacks of a run; objects of other classes go to the trainer, if it takes them."""
    callbacks: list[Callback] = []
    kinds = trainer.callback_kinds
    named = [(name, named_callback(name, kinds)) for name in settings.callbacks]
    for name, callback in [
        *named,
        *((type(callback).__name__, callback) for callback in additional),
    ]:
        if isinstance(callback, Callback):
            callbacks.append(callback)
        elif not trainer.add_callback(callback):
            raise SettingsError(
                f"callbacks: {name} is a {type(callback).__name__}, which is no callback of a run, "
                f"nor one that the trainer {settings.trainer} takes"
            )
    return callbacks


def _check_that_changes_matter(run: Run, before: Settings) -> None:
    """Refuse changed settings with which nothing would be trained or evaluated."""
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
    old = before.as_mapping()
    changed = [name for name, value in settings.as_mapping().items() if value != old[name]]
    if played >= settings.decisions and not _FINAL_SETTINGS.intersection(changed):
        raise SettingsError(
            f"{', '.join(changed)}: {run.folder} has played its {played:,} decisions, so that "
            f"nothing would come of it: raise the budget as well, as in decisions={2 * played}"
        )
