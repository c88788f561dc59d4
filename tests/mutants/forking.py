"""A warm process that forks one child for each request, and runs tests in it.

What comes from elsewhere is imported once, the project anew in every child, so a
mutant costs the tests that are run against it and little else. Requests and what
the children tell are lines of JSON, on standard input and output.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import shutil
import signal
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any


def main() -> None:
    """Import what is named on the command line, and serve requests until standard input ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    for name in ("pytest", "coverage", *sys.argv[1:]):
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        _serve(json.loads(line))


def _serve(request: dict[str, Any]) -> None:
    """Fork a child for a request, pass on what it tells, and end it when its time is up."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(request, writing)
    os.close(writing)
    late = False
    try:
        late = _pass_on(request, reading)
    finally:  # whatever ends this process ends the child's group: tests start their own processes
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    shutil.rmtree(request["scratch"], ignore_errors=True)
    sys.stdout.write(json.dumps({"end": "late" if late else "done"}) + "\n")
    sys.stdout.flush()


def _pass_on(request: dict[str, Any], reading: int) -> bool:
    """Pass on what a child tells until it ends; returns whether its time was up before."""
    rest = b""
    patience = _patience(request, None)
    while True:
        ready, _, _ = select.select([reading], [], [], patience)
        piece = os.read(reading, 1 << 16) if ready else b""
        if not piece:
            return not ready
        *lines, rest = (rest + piece).split(b"\n")
        for told in lines:
            patience = _patience(request, json.loads(told).get("started"))
            sys.stdout.write(told.decode() + "\n")


def _patience(request: dict[str, Any], test: str | None) -> float:
    """Seconds to wait for the next word: what is compiled does not hear the processor's clock."""
    return 120.0 + 8.0 * (_cap(request, test) or 0.0)


def _cap(request: dict[str, Any], test: str | None) -> float | None:
    return request["caps"].get(test, request["cap"])


def _run(request: dict[str, Any], pipe: int) -> None:
    """In the child: import the project, mutant and all, run the tests, and be gone."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.set_inheritable(pipe, False)
    scratch, tree = Path(request["scratch"]), Path(request["tree"])
    scratch.mkdir(parents=True)
    log = os.open(scratch.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for place, file in enumerate((nothing, log, log)):
        os.dup2(file, place)
    os.environ.update(request["environment"])
    os.chdir(tree)

    def tell(**what: Any) -> None:
        os.write(pipe, json.dumps(what).encode() + b"\n")

    code = 3
    try:
        code = _test(request, tree, scratch, tell)
    except BaseException:
        traceback.print_exc()
    finally:
        tell(code=int(code))
        os._exit(0)


def _test(request: dict[str, Any], tree: Path, scratch: Path, tell: Any) -> int:
    import pytest
    from watching import Watching

    coverage: Any = None
    if request["rooms"]:
        from coverage import Coverage

        rooms = [str(tree / room) for room in request["rooms"]]
        coverage = Coverage(data_file=None, config_file=False, source=rooms)
        coverage.start()
    if request["environment"].get("MUTANTS_CHANGED"):
        importlib.import_module("sitecustomize").put_in(request["environment"]["MUTANTS_CHANGED"])
    watching = Watching(
        tell,
        request["tests"],
        lambda test: _cap(request, test),
        request["stop"],
        request["budget"],
        coverage,
    )
    code = pytest.main(
        [
            *request["files"],
            *("--tb=short", "-p", "no:cacheprovider"),
            *(
                "-W",
                "ignore::pytest.PytestAssertRewriteWarning",
                "-p",
                "no:xdist",
                "--basetemp",
                str(scratch / "tests"),
            ),
        ],
        plugins=[watching],
    )
    if coverage is not None:
        coverage.stop()
        data = coverage.get_data()
        for file in data.measured_files():
            name = Path(file).relative_to(tree).as_posix()
            by_test: dict[str, list[int]] = {}
            for line, tests in data.contexts_by_lineno(file).items():
                for test in tests:
                    by_test.setdefault(test, []).append(line)
            tell(file=name, lines=by_test)
    return code


if __name__ == "__main__":
    main()
