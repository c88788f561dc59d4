"""The action that an answer of a language model names.

The format decides, and the words around it are not interpreted: an answer ends with the action in
square brackets, as in `[10♦]`, or is JSON with the key `card`, or is the action alone. What stands
before `</think>` is no part of it, and an answer that ends within its reasoning was cut off.
"""

from __future__ import annotations

import json
import re
import unicodedata

from ...common.schema import short_repr
from ..cards import CHOICE_WORDS, CHOICES, card
from ..checks import IllegalAction, checked_text
from ..view import View, checked_view
from .position import ANSWER_FORMAT, legal_text

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_SQUARE = str.maketrans("［］【】", "[][]")
"""The brackets of Chinese and Japanese texts, which enclose an action as well."""
_REASONING = re.compile(
    r"<(/?)(think|thinking|thought|reasoning|reflection|analysis|scratchpad)\b[^<>]*>",
    re.IGNORECASE,
)
_MARKUP = "*_`\"' \t\r\n"
_CHOICE_OF = {text: action for texts in (CHOICES, CHOICE_WORDS) for action, text in texts.items()}


def parse_answer(text: str, view: View) -> int:
    """The legal action that a language model's answer names, such as `I lead [10♦]`.

    `text` is the answer: it ends with the action in square brackets, is JSON with the key `card`,
    or is the action alone. Everything before the last `</think>` is ignored. `view` is the view of
    the player to move. An answer that names no legal action, or more than one, raises
    `IllegalAction` with a sentence that you can give back to the model.
    """
    legal = checked_view(view).legal()
    named = _actions(checked_text(text, "the answer").rpartition("</think>")[2])
    if len(named) == 1 and named[0] in legal:
        return named[0]
    found = " and ".join(legal_text([action]) for action in named) or "no action"
    if len(named) != 1:
        problem = f"{short_repr(text)} names {found}: {ANSWER_FORMAT}"
    elif named[0] in view.hand and view.led is not None:
        problem = f"{found} does not follow suit, as {view.led} was led"
    else:
        problem = f"{found} is not among your legal actions"
    raise IllegalAction(f"{problem}; legal now: {legal_text(legal)}")


def _actions(answer: str) -> list[int]:
    """The different actions that an answer names, in one of the three forms."""
    body = answer.translate(_SQUARE).strip(_MARKUP).rstrip(f"{_MARKUP}.!")
    document = body.removeprefix("json").lstrip()  # of a fenced block
    named: list[int | None] = []
    if _is_cut_off(answer):
        pass
    elif document.startswith("{"):
        named = [_action_in_json(document)]
    elif body.endswith("]"):
        if _action(body[:-1].rpartition("[")[2]) is not None:
            named = [_action(name) for name in _BRACKETS.findall(body)]
    elif body not in ("as", "ad", "ah", "As", "Ad", "Ah"):  # words, unless in capitals
        named = [_action(body)]
    return list(dict.fromkeys(action for action in named if action is not None))


def _is_cut_off(answer: str) -> bool:
    """Whether a tag of reasoning is open at the end, as `<think>`."""
    last = {name.lower(): slash for slash, name in _REASONING.findall(answer)}
    return "" in last.values()


def _action_in_json(document: str) -> int | None:
    try:
        pairs = json.loads(document, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return None
    values = [value for key, value in pairs if key == "card"]
    return _action(values[0]) if len(values) == 1 and isinstance(values[0], str) else None


def _action(name: str) -> int | None:
    if len(name) > 40:  # normal forms of long texts take quadratic time
        return None
    plain = unicodedata.normalize("NFKC", name).replace("\ufe0f", "").strip("*_` ")
    try:
        return _CHOICE_OF.get(plain.lower()) or card(plain)
    except ValueError:
        return None
