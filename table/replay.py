# pyright: strict
"""A record as a replay: every step of the hand with what lay where before it, as JSON holds it.

Both hands are open in it. What one seat could see is told as well (`known`, `open`, and who
drew what unseen), so that a page can show that seat's view and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..engine.cards import CARDS, SUITS, TAKE_HIDDEN, Card, cards_of
from ..engine.game import Game
from ..engine.records import GameRecord, MatchScore

HIDDEN = "hidden"
"""What stands for a card that was taken unseen."""
KINDS = {"lead": "led", "follow": "followed", "choose": "chose"}
_LONGEST_NAME, _LONGEST_TITLE = 40, 200


def replay_of(record: GameRecord) -> dict[str, Any]:
    """The whole hand, step by step; a record that does not play to its result is refused."""
    record.replay()
    game, names = record.start(), names_of(record)
    before = _position(game)
    steps: list[dict[str, Any]] = []
    for action in record.actions:
        step = _told(game, action, names)
        stock, upcards = game.stock, game.upcards
        game.play(action)
        after = _position(game)
        step |= _outcome(game, step, stock, upcards, names)
        steps.append({"n": len(steps), **step, "before": before})
        before = after
    rules = record.rules
    return {
        "rules": plain_text(rules.name),
        "rules_title": plain_text(rules.about or rules.name, _LONGEST_TITLE),
        "players": list(names),
        "dealer": record.dealer,
        "match": _match(record.match),
        "result": {
            "tricks": list(record.counting_tricks),
            "pays": list(record.pays),
            "text": result_text(record),
        },
        "meta": dict(record.meta),
        "steps": steps,
        "final": before,
    }


def names_of(record: GameRecord) -> tuple[str, str]:
    """What the two players are called, as far as the record tells it."""
    told = record.meta.get("players")
    found = ["seat 0", "seat 1"]
    if isinstance(told, list):
        for seat, name in enumerate(cast("list[object]", told)[: len(found)]):
            if isinstance(name, str) and plain_text(name):
                found[seat] = plain_text(name)
    if found[0] == found[1]:
        found = [f"{name} ({seat})" for seat, name in enumerate(found)]
    return found[0], found[1]


def plain_text(text: str, longest: int = _LONGEST_NAME) -> str:
    """One short line of a text from a file: nothing that moves a cursor or turns writing round."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def says(name: str, verb: str) -> str:
    """A name and what it does; a person who is called `you` does it as `you` does."""
    return f"{name} {verb.removesuffix('s') if name.lower() == 'you' else verb}"


def result_text(record: GameRecord) -> str:
    """How the hand ended, in words."""
    mine, others = record.counting_tricks
    names, paid = names_of(record), record.pays[0]
    if paid == 0:
        return f"{mine}–{others}: a tie, nobody is paid"
    low = record.rules.contract != "high" and record.start().low
    how = ", played low" if low else ""
    return f"{mine}–{others}{how}: {says(names[0 if paid > 0 else 1], 'wins')}, paid {abs(paid)}"


def action_symbol(action: int) -> str:
    """An action as people read it."""
    return "the hidden card" if action == TAKE_HIDDEN else CARDS[action].symbol


def _match(score: MatchScore | None) -> dict[str, Any] | None:
    if score is None:
        return None
    points = score.match.target is not None
    return {
        "kind": "points" if points else "best",
        "n": score.match.target if points else score.match.best_of,
        "points": list(score.points),
        "hands_won": list(score.hands_won),
        "hand": score.hands + 1,
    }


# -- steps


def _told(game: Game, action: int, names: Sequence[str]) -> dict[str, Any]:
    """An action before it is played."""
    who, phase = game.turn or 0, game.phase
    verb = {"lead": "leads", "follow": "plays", "choose": "takes"}[phase]
    return {
        "who": who,
        "kind": KINDS[phase],
        "action": int(action),
        "card": HIDDEN if action == TAKE_HIDDEN else str(CARDS[action]),
        "trick": game.trick + 1,
        "text": f"{says(names[who], verb)} {action_symbol(action)}",
    }


def _outcome(
    game: Game,
    step: dict[str, Any],
    stock: Sequence[Card],
    upcards: Sequence[Card],
    names: Sequence[str],
) -> dict[str, Any]:
    """Who won the trick that a step ended, and what both drew, the winner first."""
    won = int(game.record["leader"][0]) if step["kind"] == "followed" else None
    text: str = step["text"]
    if won is not None:
        text += f"; {says(names[won], 'takes')} the trick"
    drew: list[dict[str, Any]] = []
    for each in stock[: len(stock) - len(game.stock)]:
        who = 0 if each in game.hands[0] else 1
        drew.append({"who": who, "card": str(each), "open": each in upcards})
    drew.sort(key=lambda draw: draw["who"] != int(game.record["leader"][0]))
    return {"won": won, "drew": drew, "text": text}


def _position(game: Game) -> dict[str, Any]:
    """What lies where: all of it, and which of it everybody has seen."""
    rules, phase = game.rules, game.phase
    known = [cards_of(cards) for cards in game.record["known"][0].tolist()]
    led, won = _tricks_on_the_table(game)
    left = len(game.stock)
    return {
        "turn": game.turn,
        "phase": phase,
        "hands": [_texts(hand) for hand in game.hands],
        "known": [_texts(cards) for cards in known],
        "stock": _texts(game.stock),
        "stock_left": left,
        "upcards": _texts(game.upcards),
        "trump": None if game.trump is None else SUITS[game.trump],
        "low": game.low,
        "trick": led,
        "last_trick": won,
        "tricks": list(game.counting_tricks),
        "trick_number": min(game.trick + 1, rules.tricks),
        "stage": "foreplay" if left else "endgame",
        "open": left == 0 and rules.open_endgame,
        "legal": game.legal(),
    }


def _texts(cards: Sequence[Card]) -> list[str]:
    return [str(card) for card in cards]


def _tricks_on_the_table(game: Game) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The trick under way, whose winner may still have to choose, and the last one."""
    begun = game.trick + (game.phase in ("follow", "choose"))
    record: Any = game.record[0]

    def cards(trick: int) -> list[dict[str, Any]]:
        if not 0 <= trick < begun:
            return []
        leader = int(record["leaders"][trick])
        played = [{"who": leader, "card": str(CARDS[int(record["led_cards"][trick])])}]
        if trick < game.trick or game.phase == "choose":
            followed = CARDS[int(record["followed_cards"][trick])]
            played.append({"who": 1 - leader, "card": str(followed)})
        return played

    return cards(game.trick), cards(game.trick - 1)


__all__ = ["HIDDEN", "action_symbol", "names_of", "plain_text", "replay_of", "result_text", "says"]
