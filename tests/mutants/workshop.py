"""Where mutants are tried: a copy of the sources, a cache of its own, and two warm processes.

One process runs the project as it is, with the compiler; the other with the
compiler off. Nothing is written into the working tree but results under `build/`.
"""

from __future__ import annotations

import json
import marshal
import os
import shutil
import subprocess
import sys
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutations import Mutant, mutated_code

HERE = Path(__file__).resolve().parent
COMPILED, INTERPRETED, ANEW = "compiled", "interpreted", "compiled anew"


@dataclass
class Told:
    """What a child said: the tests that it ran, what each cost, and how it ended."""

    outcomes: dict[str, str] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    running: str = ""
    late: bool = False
    code: int | None = None

    def noticed(self, cut: Container[str] = ()) -> str | None:
        """The test that noticed something, if one did; of `cut` none was to come to its end."""
        for name, outcome in self.outcomes.items():
            if outcome == "failed" or (outcome == "too long" and name not in cut):
                return name
        ended = self.code in (0, 1, 2, 5) and not self.late
        return None if ended else self.running or "importing"


class Workshop:
    """Runs tests in a copy of the tree, with or without a mutant in it."""

    def __init__(
        self, root: Path, work: Path, rooms: Iterable[str], warm: Iterable[str] = ()
    ) -> None:
        """Copy what git knows of `root`; the modules `warm` are imported once for all mutants."""
        self.work, self.tree, self.rooms = work, work / "tree", [*rooms]
        self.warm = [*warm]
        self._servers: dict[str, subprocess.Popen[str]] = {}
        self._count = 0
        work.mkdir(parents=True, exist_ok=True)
        self._copy(root)

    @property
    def scratch(self) -> Path:
        """A folder that no other process uses."""
        return self.work / "scratch" / str(os.getpid())

    def _copy(self, root: Path) -> None:
        command = ["git", "ls-files", "-co", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        names = {name for name in listed.stdout.splitlines() if (root / name).is_file()}
        for old in [path for path in self.tree.rglob("*") if path.is_file()]:
            if old.relative_to(self.tree).as_posix() not in names and ".git" not in old.parts:
                old.unlink()
        for name in names:
            source, target = root / name, self.tree / name
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        if not (self.tree / ".git").exists():  # some tests ask git what belongs to the project
            subprocess.run(["git", "init", "-q"], cwd=self.tree, check=True)

    def run(
        self,
        mode: str,
        files: Iterable[str],
        tests: list[str] | None = None,
        *,
        mutant: Mutant | None = None,
        cap: float | None = None,
        caps: dict[str, float] | None = None,
        stop: bool = False,
        budget: float | None = None,
        watch: bool = False,
    ) -> Told:
        """Run tests in a child of the warm process of a mode."""
        self._count += 1
        scratch = self.scratch / str(self._count)
        request = {
            "tree": str(self.tree),
            "scratch": str(scratch),
            "files": [*files],
            "tests": tests,
            "cap": cap,
            "caps": caps or {},
            "stop": stop,
            "budget": budget,
            "rooms": self.rooms if watch else [],
            "environment": self._environment(mode, scratch, mutant),
        }
        server = self._server(mode)
        assert server.stdin is not None
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        told = Told()
        for each in self._answers(server):
            _enter(told, each)
        if mode == ANEW:
            shutil.rmtree(self.scratch / "machine-code", ignore_errors=True)
        return told

    def _environment(self, mode: str, scratch: Path, mutant: Mutant | None) -> dict[str, str]:
        """Caches that a mutant can not spoil: it reads the endings, and writes its own."""
        cache = self.work / "cache"
        endings = cache / "tablebases"
        endings.mkdir(parents=True, exist_ok=True)
        environment = {
            "GERMAN_WHIST_DATA": str(scratch / "data"),
            "GERMAN_WHIST_CACHE": str(cache),
            "NUMBA_CACHE_DIR": str((self.scratch if mode == ANEW else self.work) / "machine-code"),
        }
        if mutant is not None:
            own = self.scratch / "cache"
            shutil.rmtree(own, ignore_errors=True)
            (own / "tablebases").mkdir(parents=True)
            for file in endings.glob("*.endings"):
                (own / "tablebases" / file.name).symlink_to(file)
            code = self.scratch / "mutant.code"
            code.write_bytes(marshal.dumps(mutated_code(self.tree, mutant)))
            changed = os.pathsep.join((str(self.tree / mutant.file), str(code)))
            environment |= {"GERMAN_WHIST_CACHE": str(own), "MUTANTS_CHANGED": changed}
        return environment

    def _server(self, mode: str) -> subprocess.Popen[str]:
        mode = COMPILED if mode == ANEW else mode
        server = self._servers.get(mode)
        if server is None or server.poll() is not None:
            hook = str(HERE / "hook")
            settings = {"PYTHONPATH": hook, "MUTANTS_TREE": str(self.tree)}
            settings |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
            settings |= {"PYTHONHASHSEED": "0"}
            if mode == INTERPRETED:
                settings["NUMBA_DISABLE_JIT"] = "1"
            server = subprocess.Popen(
                [sys.executable, str(HERE / "forking.py"), *self.warm],
                env={**os.environ, **settings},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            self._servers[mode] = server
        return server

    def _answers(self, server: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
        assert server.stdout is not None
        for line in server.stdout:
            told = json.loads(line)
            yield told
            if "end" in told:
                return
        raise RuntimeError("the process that runs tests has ended")

    def close(self) -> None:
        """End the warm processes."""
        for server in self._servers.values():
            server.communicate()
        self._servers.clear()
        shutil.rmtree(self.scratch, ignore_errors=True)


def _enter(told: Told, each: dict[str, Any]) -> None:
    if "started" in each:
        told.running = each["started"]
    elif "done" in each:
        told.outcomes[each["done"]] = each["outcome"]
        told.costs[each["done"]] = each["cost"]
        told.running = ""
    elif "lines" in each:
        told.lines[each["file"]] = each["lines"]
    elif "code" in each:
        told.code = each["code"]
    elif "end" in each:
        told.late = each["end"] == "late"
