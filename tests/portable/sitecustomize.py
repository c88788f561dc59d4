"""Run by every Python process that has this folder on its path: the package without POSIX.

The package finds no name of `os` and `signal`, and no module, that Windows lacks; other packages
find them all. As on Windows, a file that is open or mapped in this process can be neither
replaced nor removed; `REFUSALS` names a file in which each attempt is noted. New processes are
spawned. A file that is opened without naming its encoding is an error.
"""

from __future__ import annotations

import builtins
import errno
import importlib.util
import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

PACKAGE = "german_whist"
MODULES = {
    "curses",
    "fcntl",
    "grp",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "syslog",
    "termios",
    "tty",
}
NAMES = {
    "os": {
        "chown",
        "fchmod",
        "fchown",
        "fork",
        "forkpty",
        "getegid",
        "geteuid",
        "getgid",
        "getgroups",
        "getloadavg",
        "getpgid",
        "getpgrp",
        "getpriority",
        "getsid",
        "getuid",
        "killpg",
        "mkfifo",
        "nice",
        "openpty",
        "posix_fadvise",
        "posix_fallocate",
        "posix_spawn",
        "pread",
        "pwrite",
        "register_at_fork",
        "sched_getaffinity",
        "sched_setaffinity",
        "sched_yield",
        "sendfile",
        "setpgid",
        "setpriority",
        "setsid",
        "setuid",
        "statvfs",
        "sync",
        "sysconf",
        "uname",
        "wait",
        "WNOHANG",
        "wait3",
        "wait4",
    },
    "signal": {
        "SIGALRM",
        "SIGCHLD",
        "SIGCONT",
        "SIGHUP",
        "SIGKILL",
        "SIGPIPE",
        "SIGQUIT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGUSR1",
        "SIGUSR2",
        "SIGWINCH",
        "SIG_BLOCK",
        "SIG_SETMASK",
        "SIG_UNBLOCK",
        "alarm",
        "pause",
        "pthread_kill",
        "pthread_sigmask",
        "setitimer",
        "sigpending",
        "sigwait",
    },
}


def without(module: ModuleType, **changed: Any) -> ModuleType:
    copy = ModuleType(module.__name__)
    lacking = NAMES.get(module.__name__, set())
    copy.__dict__.update({k: v for k, v in vars(module).items() if k not in lacking}, **changed)
    return copy


def find_spec(name: str, package: str | None = None) -> Any:
    """`importlib.util.find_spec`, except for modules that Windows lacks."""
    return None if name in MODULES else importlib.util.find_spec(name, package)


def is_ours(importing: dict[str, Any]) -> bool:
    names = importing.get("__name__"), importing.get("__package__")
    return any(str(name).partition(".")[0] == PACKAGE for name in names)


def refuse_what_is_open() -> None:
    """Refuse to replace or remove files that this process has open or mapped."""

    def guarded(name: str, change: Callable[..., None]) -> Callable[..., None]:
        def guard(*paths: Any, **more: Any) -> None:
            if more.get("dir_fd") is None:
                for path in paths[:2]:
                    check(name, os.path.realpath(os.fspath(path)))
            change(*paths, **more)

        return guard

    def check(name: str, path: str | bytes) -> None:
        if path not in opened() or not os.path.isfile(path):
            return
        frame = sys._getframe(2)
        while frame is not None and not is_ours(frame.f_globals):
            frame = frame.f_back
        if frame is None:
            return  # another package, which has its own way with Windows
        with open(os.environ["REFUSALS"], "a", encoding="utf-8") as log:
            log.write(f"{name} of {path!r} in {frame.f_globals['__name__']}\n")
        error = PermissionError(errno.EACCES, "it is used by another process", path)
        error.winerror = 32  # type: ignore[attr-defined]
        raise error

    def opened() -> set[str]:
        paths = set()
        for number in os.listdir("/proc/self/fd"):
            try:
                paths.add(os.readlink(f"/proc/self/fd/{number}"))
            except OSError:
                continue
        with open("/proc/self/maps", encoding="utf-8") as maps:
            paths |= {line.split(maxsplit=5)[-1].strip() for line in maps}
        return paths

    for name in ("remove", "rename", "replace", "unlink"):
        setattr(os, name, guarded(name, getattr(os, name)))


refuse_what_is_open()
LACKING = {
    "os": without(os),
    "signal": without(signal),
    "importlib.util": without(importlib.util, find_spec=find_spec),
}
whole_import = builtins.__import__


def lacking_import(
    name: str,
    globals: Any = None,
    locals: Any = None,
    fromlist: Any = (),
    level: int = 0,
) -> ModuleType:
    if level == 0 and globals is not None and is_ours(globals):
        if name in MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        if name in LACKING and (fromlist or "." not in name):
            return LACKING[name]
    return whole_import(name, globals, locals, fromlist, level)


builtins.__import__ = lacking_import
multiprocessing.set_start_method("spawn")
for rule in (PACKAGE, r"(.*/)?(agents|engine|envs|table|training|src/german_whist)/.*"):
    warnings.filterwarnings("error", category=EncodingWarning, module=rule)
