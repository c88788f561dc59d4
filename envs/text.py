"""Observations and answers as text, for the single environments."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from ..engine.batch.config import TEXT, Options
from ..engine.checks import IllegalAction
from ..engine.text.answers import parse_answer
from ..engine.text.position import CHARACTERS, MAX_CHARACTERS, in_characters, observation_text
from ..engine.view import View

DEFAULT_RETRIES = 2
TEXT_OR_NUMBER = "a text such as '[10♦]', or a whole number"
"""What an action of an environment that reads texts has to be."""


class TextObservation(str):
    """A text with the `dtype` that PettingZoo's API test asks of observations."""

    __slots__ = ()
    dtype: np.dtype[np.str_] = np.dtype(str)


def text_space() -> spaces.Text:
    """The space of observations and answers; answers may have other characters too."""
    return spaces.Text(MAX_CHARACTERS, min_length=0, charset=CHARACTERS)


def checked_retries(options: Options, retries: int | None) -> int:
    if retries is None:
        return DEFAULT_RETRIES
    if options.observation != TEXT:
        raise ValueError(
            f"retries is {retries!r}, but numbers are not asked for again: it goes with "
            "observation 'text'"
        )
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise ValueError(f"retries is {retries!r}: it has to be a whole number from 0")
    return retries


class Answers:
    """The answers of one environment: each decision allows some that name no legal action."""

    def __init__(self, retries: int) -> None:
        self.retries: int = retries
        self.refused: int = 0
        """Answers refused since the last action."""
        self.reason: str = ""
        """Why the last one was refused; empty after an action."""

    def accept(self) -> None:
        self.refused, self.reason = 0, ""

    def read(self, answer: str, view: View) -> int:
        """The action; `IllegalAction` with a sentence, which the next observation begins with."""
        try:
            return parse_answer(answer, view)
        except IllegalAction as error:
            self.refused += 1
            self.reason = str(error)
            raise

    @property
    def exhausted(self) -> bool:
        return self.refused > self.retries

    def observation(self, view: View) -> TextObservation:
        text = observation_text(view)
        if self.reason:  # it quotes the answer, which may have any characters
            text = f"Refused: {in_characters(self.reason)}.\n\n{text}"
        return TextObservation(text)
