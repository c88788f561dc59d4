"""`Popen` and `run` as in `subprocess`, quick for programs of this Python.

One process that has imported what commands need is shared by all that run tests, and is forked for
each program. The fork runs it as an interpreter does: with streams, environment, folder and session
of its own, to the end of the process. Where a fork could not be the same (another compiler's or
interpreter's settings, something to be done before the start, another program than this Python),
a process is started, as `subprocess` does.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import traceback
import types
from contextlib import suppress
from functools import cache
from pathlib import Path
from subprocess import DEVNULL, PIPE, STDOUT, CalledProcessError, CompletedProcess
from typing import Any, NoReturn

HERE = Path(__file__).resolve()
IMPORTED = (
    *("german_whist.cli", "german_whist.training.arena", "german_whist.training.run"),
    *("german_whist.training.ppo", "german_whist.table.session", "german_whist.table.store"),
    *("german_whist.table.browser.server", "german_whist.table.terminal.keys"),
    *("uvicorn", "rich.live", "rich.console"),
    "torch._dynamo",  # as every optimizer does
)
# What is read when an interpreter or a library starts; a fork imitates what Python's streams read.
READ_AT_START = ("NUMBA", "PYTHON", "OMP", "LC_", "LANG", "GERMAN_WHIST_CACHE")
IMITATED = ("PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONPATH")
REQUEST, LEASE = b"R", b"L"
__all__ = ["DEVNULL", "PIPE", "STDOUT", "CompletedProcess", "Popen", "run"]


def read_at_start(environment: Any) -> dict[str, str]:
    """What of an environment can not change after the start."""
    return {
        name: value for name, value in environment.items()
        if name.startswith(READ_AT_START) and name not in IMITATED
    }  # fmt: skip


# -- for tests


class Popen(subprocess.Popen):  # type: ignore[type-arg]
    """A process as `subprocess` has it, whose pipes and patience serve here too."""

    _asked: socket.socket | None = None

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *rest: Any) -> None:
        pass_fds, folder, environment, shell = rest[1], rest[2], rest[3] or os.environ, rest[6]
        words = [] if isinstance(args, str) else [os.fspath(each) for each in args]
        if (
            (executable or preexec_fn or pass_fds or shell)
            or not (words[:1] == [sys.executable] and words[1:2] and words[1] in ("-m", "-c"))
            or read_at_start(environment) != read_at_start(os.environ)
        ):
            super()._execute_child(args, executable, preexec_fn, *rest)  # type: ignore[misc]
            return
        told = {
            "words": words, "environment": {**environment}, "folder": os.path.abspath(folder or ""),
            "session": bool(rest[18]),
        }  # fmt: skip
        given = (rest[7], rest[10], rest[12])
        streams = [place if file < 0 else file for place, file in enumerate(given)]
        self._asked = connected()
        socket.send_fds(self._asked, [REQUEST], streams)
        self._asked.sendall(json.dumps(told).encode())
        self._asked.shutdown(socket.SHUT_WR)
        self._answers = self._asked.makefile()
        self.pid = int(self._answers.readline())
        self._child_created = True
        self._close_pipe_fds(*rest[7:13])  # type: ignore[attr-defined]

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if self._asked is None:
            return super()._try_wait(wait_flags)  # type: ignore[misc]
        if wait_flags == os.WNOHANG and not select.select([self._asked], [], [], 0)[0]:
            return 0, 0
        status = int(self._answers.readline())
        self._answers.close()
        self._asked.close()
        return self.pid, status

    def _internal_poll(self, _deadstate: Any = None, **more: Any) -> int | None:
        if self._asked is None:
            return super()._internal_poll(_deadstate=_deadstate, **more)  # type: ignore[misc]
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode


def run(
    args: Any, *, capture_output: bool = False, check: bool = False, input: Any = None,
    timeout: float | None = None, **options: Any,
) -> CompletedProcess[Any]:  # fmt: skip
    """A program to its end."""
    if input is not None:
        options["stdin"] = PIPE
    if capture_output:
        options |= {"stdout": PIPE, "stderr": PIPE}
    with Popen(args, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise CalledProcessError(process.returncode, args, out, err)
    return CompletedProcess(args, process.returncode, out, err)


@cache
def place() -> tuple[str, socket.socket]:
    """Where programs are asked for, and what keeps that open as long as this process lives."""
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    address = str(Path(tempfile.gettempdir()) / f"german-whist-{session}")
    with open(f"{address}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lease = socket.socket(socket.AF_UNIX)
        try:
            lease.connect(address)
        except OSError:
            Path(address).unlink(missing_ok=True)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(address)
                listening.listen(64)
                subprocess.run(
                    [sys.executable, str(HERE), str(listening.fileno()), address],
                    pass_fds=[listening.fileno()], stdin=DEVNULL, stdout=DEVNULL, check=True,
                )  # fmt: skip
            lease.connect(address)
        lease.sendall(LEASE)
    atexit.register(lease.close)
    return address, lease


def connected() -> socket.socket:
    asked = socket.socket(socket.AF_UNIX)
    asked.connect(place()[0])
    return asked


# -- the process that is forked


def serve(listening: socket.socket, address: str) -> dict[str, Any]:
    """Fork until nobody may ask any more; returns in each fork, with what was asked for."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    leases: list[socket.socket] = []
    while True:
        for each in select.select([listening, *leases], [], [])[0]:
            if each is not listening:
                leases.remove(each)
                each.close()
                if not leases:
                    os.unlink(address)
                    os.unlink(f"{address}.lock")
                    sys.exit()
                continue
            asked = listening.accept()[0]
            kind, streams, *_ = socket.recv_fds(asked, 1, 3)
            if kind == LEASE:
                leases.append(asked)
                continue
            if os.fork() == 0:
                for other in (listening, *leases):
                    other.close()
                return forked(asked, streams)
            asked.close()
            for stream in streams:
                os.close(stream)


def forked(asked: socket.socket, streams: list[int]) -> dict[str, Any]:
    """Fork once more, and tell how that ends; returns in that one."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with asked.makefile("rb") as reading:
        request = reading.read()
    if not request:  # whoever asked is gone
        os._exit(1)
    told = json.loads(request)
    if child := os.fork():
        for stream in streams:
            os.close(stream)
        asked.sendall(f"{child}\n".encode())
        status = os.waitpid(child, 0)[1]
        with suppress(OSError):
            asked.sendall(f"{status}\n".encode())
        os._exit(0)
    asked.close()
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    return told


def run_as_asked(told: dict[str, Any]) -> None:
    """Be the program."""
    if told["session"]:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, name)
        unbuffered = bool(place and os.environ.get("PYTHONUNBUFFERED"))
        stream = io.TextIOWrapper(
            os.fdopen(place, "wb" if place else "rb", 0 if unbuffered else -1, closefd=False),
            encoding or before.encoding,
            before.errors if place == 2 else errors or ("strict" if encoding else before.errors),
            newline="\n",
            line_buffering=place == 2 or os.isatty(place),
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    _, kind, what, *words = told["words"]
    sys.argv = [kind, *words]
    own = [each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.path[:1] = [told["folder"] if kind == "-m" else "", *own]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), module.__dict__)


def end(problem: BaseException | None) -> NoReturn:
    """End as an interpreter does, but leave it to the system to give back all that is there."""
    code = 0
    if isinstance(problem, SystemExit):
        code = problem.code if isinstance(problem.code, int) else int(problem.code is not None)
        if isinstance(problem.code, str):
            print(problem.code, file=sys.stderr)
    elif problem is not None:
        traceback.print_exception(problem)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if isinstance(problem, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(code & 0xFF)


def load() -> None:
    """Import what commands import, and play what many of them play, for its machine code."""
    for each in ("compile_once", *IMPORTED):
        with suppress(ImportError):
            importlib.import_module(each)
    from german_whist.table.session import Session, Settings
    from german_whist.training.arena import evaluate

    evaluate("random", "threshold", hands=4, seed=1, workers=1)
    session = Session(Settings(opponent="threshold", player="easy", seed=1))
    while session.turn is not None:
        session.answer()


def main() -> None:
    """Import, and serve, in the background; each fork goes on from there."""
    if os.fork():
        os._exit(0)
    os.setsid()
    load()
    gc.freeze()
    told = serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])
    try:
        run_as_asked(told)
    except BaseException as problem:
        end(problem)
    end(None)


if __name__ == "__main__":
    main()
