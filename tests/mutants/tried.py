"""Mutants are tried: which tests run against one, what became of it, and the table of them all."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured import CAPS, Measured
from mutations import Mutant, mutants_of, scopes_of
from workshop import ANEW, COMPILED, INTERPRETED, Told, Workshop

_MODES = (COMPILED, INTERPRETED)
# Seconds of tests per mutant, by what they cost unmutated, and the dearest test that is run.
BUDGET, DEAREST = 30.0, 20.0
# Seconds of the processor for what a test did not need when it was measured, such as compiling.
SPARE = {INTERPRETED: 3.0, COMPILED: 20.0, ANEW: 300.0}


@dataclass
class Verdict:
    """What became of a mutant."""

    status: str
    by: str = ""
    mode: str = ""


class Trial:
    """Tries mutants one after the other, and remembers which tests are good at it."""

    def __init__(
        self,
        workshop: Workshop,
        rooms: dict[str, tuple[str, ...]],
        tests: Sequence[str],
        spare: dict[str, float] = SPARE,
    ) -> None:
        """Measure the tests; one with a mutant gets `spare` and some times what it took without."""
        self.spare = spare
        self.once = False
        """Without the second try, with the compiler, of what survives without it."""
        self.workshop = workshop
        tree = workshop.tree
        self.mutants = {
            room: [
                mutant
                for pattern in patterns
                for path in sorted(tree.glob(pattern))
                for mutant in mutants_of(tree, path.relative_to(tree).as_posix())
            ]
            for room, patterns in rooms.items()
        }
        files = [
            path.relative_to(tree).as_posix()
            for place in tests
            for path in sorted((tree / place).glob("test_*.py")) or [tree / place]
        ]
        with ThreadPoolExecutor() as threads:  # each mode has a process of its own
            made = threads.map(lambda mode: Measured(workshop, mode, files), _MODES)
        self.measured = dict(zip(_MODES, made, strict=True))
        self._kills: Counter[tuple[str, str]] = Counter()
        self._sound: dict[tuple[str, str], bool] = {}

    def try_out(self, mutant: Mutant) -> Verdict:
        """Run what runs the change, until a test notices it."""
        modes = (INTERPRETED, ANEW) if mutant.compiled else (COMPILED,)
        if self.once:
            modes = modes[:1]
        reached = False
        for mode in modes:
            tests = self._chosen(mutant, mode)
            while tests:
                reached = True
                told = self._run(mode, tests, mutant)
                test = told.noticed(self._of(mode).cut)
                if test is None:
                    break
                if self._is_sound(test, mode):
                    self._kills[mutant.file, test] += 1
                    late = told.late or told.outcomes.get(test) == "too long"
                    return Verdict("timed out" if late else "killed", test, mode)
                tests.remove(test)
        return Verdict("survived" if reached else "not run")

    def _run(self, mode: str, tests: list[str], mutant: Mutant | None) -> Told:
        measured = self._of(mode)
        spare = self.spare[mode]
        caps = {
            test: CAPS[mode] if test in measured.cut else spare + 6 * measured.costs.get(test, 0.0)
            for test in tests
        }
        files = list(dict.fromkeys(test.split("::")[0] for test in tests))
        return self.workshop.run(mode, files, tests, mutant=mutant, caps=caps, stop=True)

    def _of(self, mode: str) -> Measured:
        return self.measured[COMPILED if mode == ANEW else mode]

    def _chosen(self, mutant: Mutant, mode: str) -> list[str]:
        """The tests that run the change: those that found the like first, then the cheap ones."""
        measured = self._of(mode)
        found = measured.covering(mutant)
        if mode in (COMPILED, ANEW):  # lines of compiled functions are seen with the compiler off
            other = self.measured[INTERPRETED].covering(mutant)
            found |= other & measured.costs.keys()
            names = {test.partition("[")[0] for test in other}
            found |= {test for test in measured.costs if test.partition("[")[0] in names}
        if mode == ANEW and not found:
            found = {test for test in measured.costs if test.startswith(self._mirror(mutant))}

        def rank(test: str) -> float:
            cost = measured.costs[test] + 0.05
            near = 1.0 if test.startswith(self._mirror(mutant)) else 4.0
            return near * cost / (1 + 5 * self._kills[mutant.file, test])

        chosen: list[str] = []
        spent = 0.0
        for test in sorted(found, key=lambda test: (rank(test), test)):
            cost = measured.costs[test]
            if cost <= DEAREST and spent + cost <= BUDGET:
                chosen.append(test)
                spent += cost
        return chosen

    @staticmethod
    def _mirror(mutant: Mutant) -> str:
        return f"tests/{mutant.file.split('/')[0]}/"

    def _is_sound(self, test: str, mode: str) -> bool:
        """Whether a test passes without the mutant, here and now."""
        name = (test, mode)
        if name not in self._sound:
            told = self._run(mode, [test], None) if "::" in test else None
            self._sound[name] = told is None or told.noticed(self._of(mode).cut) is None
            if not self._sound[name]:
                print(f"  {test} fails as it is ({mode}), and is left out", flush=True)
        return self._sound[name]


class Results:
    """What is known of mutants, one line of JSON for each trial."""

    def __init__(self, trial: Trial, kept: Path, take_over: bool) -> None:
        """With `take_over`, a kill counts while the function and the test's file are the same."""
        self.kept, self.tree = kept, trial.workshop.tree
        self.state = _digest(*(path.read_bytes() for path in sorted(self.tree.rglob("*.py"))))
        self.take_over = take_over
        self.known: dict[str, list[dict[str, Any]]] = {}
        if kept.exists():
            for line in kept.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self.known.setdefault(entry["key"], []).append(entry)

    def of(self, mutant: Mutant) -> Verdict | None:
        """What was found before, if it still holds."""
        for entry in reversed(self.known.get(mutant.key, [])):
            same = entry["state"] == self.state
            killed = entry["status"] in ("killed", "timed out")
            if same or (self.take_over and killed and entry["local"] == self._local(mutant, entry)):
                return Verdict(entry["status"], entry["by"], entry["mode"])
        return None

    def add(self, mutant: Mutant, verdict: Verdict, seconds: float) -> None:
        """Keep a verdict."""
        entry = {
            "key": mutant.key,
            "state": self.state,
            "status": verdict.status,
            "by": verdict.by,
            "mode": verdict.mode,
            "seconds": round(seconds, 1),
            "file": mutant.file,
            "before": mutant.before,
            "after": mutant.after,
        }
        entry["local"] = self._local(mutant, entry)
        self.known.setdefault(mutant.key, []).append(entry)
        with self.kept.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _local(self, mutant: Mutant, entry: dict[str, Any]) -> str:
        test = self.tree / entry["by"].split("::")[0]
        text = test.read_bytes() if entry["by"] and test.is_file() else b""
        scope = scopes_of(self.tree, mutant.file)[mutant.scope][2]
        return _digest(scope.encode(), text)


def _digest(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()[:12]


def sample(mutants: dict[str, list[Mutant]], seed: int, count: int) -> list[tuple[str, Mutant]]:
    """As many of each room as its share; an edit elsewhere leaves the rest of a sample as it is."""
    total = sum(len(each) for each in mutants.values())
    shares = {room: count * len(each) / total for room, each in mutants.items()}
    sizes = {room: int(share) for room, share in shares.items()}
    for room in sorted(shares, key=lambda room: sizes[room] - shares[room]):
        if sum(sizes.values()) < min(count, total):
            sizes[room] += 1
    return [
        (room, mutant)
        for room, each in mutants.items()
        for mutant in sorted(each, key=lambda mutant: _digest(f"{seed} {mutant.key}".encode()))[
            : sizes[room]
        ]
    ]


def report(
    sampled: Sequence[tuple[str, Mutant]],
    verdicts: dict[str, Verdict],
    same: dict[tuple[str, ...], str],
) -> str:
    """A table of the rooms, and every survivor where it stands, but for what is known as the same.

    The share is that of what was noticed among the mutants that change behaviour.
    """
    counts: dict[str, Counter[str]] = {}
    survivors: list[str] = []
    for room, mutant in sampled:
        status = verdicts[mutant.key].status if mutant.key in verdicts else "not tried"
        if status in ("survived", "not run"):
            if (mutant.file, mutant.scope, mutant.before, mutant.after) in same:
                status = "equivalent"
            else:
                why = "  (no test runs it)" if status == "not run" else ""
                survivors.append(
                    f"{mutant.file}:{mutant.line} {mutant.scope}{why}\n"
                    f"  - {mutant.before}\n  + {mutant.after}"
                )
                status = "survived"
        counts.setdefault(room, Counter())[status] += 1
        counts.setdefault("all", Counter())[status] += 1
    columns = ("killed", "timed out", "equivalent", "survived", "not tried")
    lines = [" ".join([f"{'room':<10}", f"{'sampled':>8}", *(f"{each:>11}" for each in columns)])]
    for room in [*(each for each in counts if each != "all"), "all"]:
        count = counts[room]
        changing = sum(count.values()) - count["equivalent"] - count["not tried"]
        share = (count["killed"] + count["timed out"]) / max(changing, 1)
        cells = [f"{count[each]:>11}" for each in columns]
        lines.append(
            " ".join([f"{room:<10}", f"{sum(count.values()):>8}", *cells, f"{share:8.1%}"])
        )
    return "\n".join([*survivors, "", *lines])
