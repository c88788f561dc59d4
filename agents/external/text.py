"""Agents that play by texts, such as language models: `function(prompt) -> answer`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...common.suggestions import type_phrase
from ...common.typing import JsonObject
from ...engine.checks import IllegalAction
from ...engine.rules import Match, RulesLike
from ...engine.text.answers import parse_answer
from ...engine.text.position import position_text, prompt
from ...engine.view import View
from ..base import Array
from ..calls import AgentFault
from .policies import CallableAgent

RETRIES = 2
"""Answers of a decision that may name no legal action before the next one loses."""


class TextAgent(CallableAgent):
    """Agent of a function from a prompt, with rules and position, to an answer such as `[10♦]`.

    An answer that names no legal action is refused with a sentence after the prompt; after
    `retries` of them the next one raises `AgentFault`, which in the arena forfeits the hand.
    """

    def __init__(
        self,
        function: Callable[[str], str],
        rules: RulesLike = "classic",
        *words: str,
        retries: int = RETRIES,
        match: Match | None = None,
    ) -> None:
        """With the word `endgame=exact` the solver plays open endings, without a prompt."""
        super().__init__(function, rules, *words, match=match)
        self._ask: Callable[[str], object] = function
        self.retries = retries
        self.transcript = []

    def act(self, views: Array, rng: Array) -> Array:
        actions = np.full(len(views), -1, np.int64)
        if self._endgame is not None:
            self._endgame.improve(views, actions)
        transcript: list[JsonObject | None] = [None] * len(views)
        for index in np.flatnonzero(actions < 0).tolist():
            view = View(self.rules, views[index : index + 1])
            actions[index], answers = self._decide(view)
            transcript[index] = {
                "seat": view.seat,
                "trick": view.trick + 1,
                "prompt": position_text(view),
                "answers": answers,
            }
        self.transcript = transcript
        return actions

    def _decide(self, view: View) -> tuple[int, list[str]]:
        answers: list[str] = []
        text = prompt(view)
        while True:
            answer = self._ask(text)
            if not isinstance(answer, str):
                raise AgentFault(
                    f"{self.name} answered with {type_phrase(answer)}, not with a text: return "
                    "one that ends with an action, such as '[10♦]'"
                )
            answers.append(answer)
            try:
                return parse_answer(answer, view), answers
            except IllegalAction as error:
                if len(answers) > self.retries:
                    raise AgentFault(f"{self.name}: {error}") from None
                text = f"{prompt(view)}\n\nRefused: {error}."
