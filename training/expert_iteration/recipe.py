"""A course of study, from hands to networks: what the thinker knows, made in one folder.

Its parts follow each other: a policy, trained first if wanted, plays hands; networks of worth
and of beliefs are fitted to them; more hands are played with advice; and the policy learns from
that, in as many rounds as are wanted. What is there already is left as it is, and a part that was
broken off goes on, so the same command makes everything, and makes it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from ...agents.checkpoints.bundled import CHAMPION
from ...common.files import read_yaml_mapping, written_whole
from ...common.settings_files import Shelf, made, made_with_words, shortest_command
from ...common.typed_settings import (
    AboveNothing,
    Checked,
    Count,
    SettingsError,
    Share,
    Whole,
    Widths,
    check_same,
    says,
)

SETTINGS = "settings.yaml"
COURSES = Shelf("study", "a course of study")
"""The courses that come with the package."""

_PATHS = ("train", "policy", "worth", "beliefs")

_Epochs = Annotated[AboveNothing, says("How often each hand is learnt from.")]
_Rate = Annotated[AboveNothing, says("The learning rate at the beginning.")]
_Layers = Annotated[Widths, says("The widths of the network's hidden layers.")]


class Course(Checked, frozen=True, kw_only=True):
    """What is studied, and how much of it."""

    about: Annotated[str, says("What the course is for, in a line.")] = ""
    rules: Annotated[str, says("A rule set: its name, or a YAML file.")] = "classic"
    train: Annotated[
        str,
        says(
            "The training that the policy comes from, made first: a preset of `train`, or a YAML "
            "file; empty for `policy`."
        ),
    ] = ""
    policy: Annotated[
        str,
        says(
            "The checkpoint that plays and is to be improved: its path, a run's, or by name one of "
            "the package's: `champion` (of these rules), `champion-1`."
        ),
    ] = CHAMPION
    seed: Annotated[int, says("Of everything that is drawn.", ge=0, le=2**62)] = 1
    hands: Annotated[
        Whole,
        says(
            "Hands of self-play; 0 for none but those with advice, which all then learn from, on "
            "from the package's networks where no others are named."
        ),
    ] = 4_000_000
    astray: Annotated[Share, says("How often a card is played at random.")] = 0.06
    search: Annotated[
        Whole,
        says(
            "In how many worlds a `thinker` of these networks searches, which plays the hands with "
            "advice; 0 for none: the policy plays, and cards are tried in the deal as it is."
        ),
    ] = 0
    worth: Annotated[str, says("A network of worth to go on from; empty for a new one.")] = ""
    beliefs: Annotated[str, says("A network of beliefs to go on from; empty for a new one.")] = ""
    worth_layers: _Layers = (256, 64)
    worth_epochs: _Epochs = 2.0
    worth_rate: _Rate = 0.001
    trace: Annotated[
        Share, says("How far what a hand came to reaches back past the network's own word.")
    ] = 0.8
    belief_layers: _Layers = (256, 128)
    belief_epochs: _Epochs = 0.4
    belief_rate: _Rate = 0.002
    advised: Annotated[
        tuple[Count, ...],
        says(
            "Hands with advice. Of several numbers each is a round, played by the policy that came "
            "of the one before.",
            min_length=1,
        ),
    ] = (1_000_000,)
    policy_epochs: _Epochs = 2.0
    policy_rate: _Rate = 0.0003
    pull: Annotated[
        AboveNothing, says("What a unit of relative entropy to the old policy costs, in pay.")
    ] = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.train and self.policy != CHAMPION:
            raise SettingsError(
                f"train is {self.train!r}, and policy {self.policy!r}: a course begins with a "
                f"training or with a policy that there is; give policy={CHAMPION} for the "
                "training, or train=\"''\" for none"
            )


def load_course(wanted: str, words: Iterable[str] = ()) -> Course:
    """A course from a preset or a file, with `key=value` words over it."""
    values, source = COURSES.values(wanted)
    return made_with_words(_course_from, values, words, source)


def command_of(course: Course) -> str:
    """The shortest command that goes through this course: a preset, and what differs from it."""
    bases = [([name], load_course(name).as_mapping()) for name in COURSES.names()]
    return shortest_command("study", course.as_mapping(), bases)


def _course_from(values: Mapping[str, Any], source: str) -> Course:
    # Words of the command line are split at commas, which may be part of a path.
    values = {
        name: ",".join(map(str, each)) if name in _PATHS and isinstance(each, list) else each
        for name, each in values.items()
    }
    return made(Course, values, source, "a setting of a study")


def check_workers(workers: int) -> None:
    """Refuse a number of workers that is none."""
    if workers < 0:
        raise ValueError(
            f"workers is {workers}: it has to be at least 1, or 0 for one on each core"
        )


def keep_settings(folder: Path, course: Course) -> None:
    """Write the settings of a folder, or refuse those that are not the folder's own."""
    path = folder / SETTINGS
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(path, "w") as file:
            file.write(course.as_yaml())
        return
    kept = _course_from(read_yaml_mapping(path), str(path))
    remedy = "go on with its own settings, or study in another folder"
    check_same(folder, kept.as_mapping(), course.as_mapping(), remedy)
