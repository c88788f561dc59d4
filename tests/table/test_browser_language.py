"""The page in another alphabet: what is still read in usual letters, no translator would find."""

from __future__ import annotations

import re
from itertools import product
from types import SimpleNamespace
from typing import Any, cast

from serving import running
from tablepage import ASKED, OVER, PLAYABLE, Server, visiting
from test_puzzles import ENDINGS, FOREPLAYS
from translation import english_in, in_cyrillic, translated

from german_whist.table.text.labels import say

ALL_TEXTS = """() => {
    const texts = [document.title];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const {parentElement, textContent} = walk.currentNode;
        if (!parentElement.closest('script, noscript, style')) texts.push(textContent);
    }
    for (const each of document.querySelectorAll('[aria-label], [title], [placeholder]')) {
        texts.push(each.ariaLabel, each.title, each.placeholder);
    }
    return texts.filter(Boolean);
}"""


def test_every_page_speaks_the_language_of_the_file(browser, tmp_path) -> None:
    heard: dict[str, Any] = {}
    with translated(in_cyrillic), running(tmp_path) as server:
        place = cast(Server, SimpleNamespace(url=f"http://127.0.0.1:{server.port}/"))
        with visiting(place, browser, locale="ru-RU") as visit:
            page = visit.page

            def read(name: str, ready: str) -> None:
                visit.computed(ready)
                heard[name] = page.evaluate(ALL_TEXTS)

            def look(name: str, ready: str) -> None:
                visit.go(name)
                read(name or "lobby", ready)

            hand = visit.sit_down(seed=5)
            visit.play_on()
            shown = {"p": ".seen", "m": ".pages-menu", ",": ".settings", "?": ".keys"}
            for key, there in shown.items():
                page.keyboard.press(key)
                read(f"table, key {key}", there)
                page.keyboard.press("Escape")
            visit.finish_hand(hand)
            page.reload()
            page.locator(".after-hand").click()
            page.locator(OVER).wait_for()
            page.locator(f"{OVER} summary").click()
            read("score", ".turning:not(:has-text('…'))")
            page.locator("button[value=replay]").click()
            visit.computed(".plot")
            for step in ("0", "9", "27"):
                page.get_by_role("slider").fill(step)
                read(f"replay at {step}", ".plot")
            for puzzle in (ENDINGS[0], FOREPLAYS[0]):
                look(f"puzzle/{puzzle.id}", ASKED)
                page.locator(PLAYABLE).first.click(position={"x": 6, "y": 12})
                read(f"{puzzle.kind} answered", ".values")
            page.locator(".problem-buttons .primary").wait_for()
            look("learn", ".figures-line")
            page.locator(".lesson .primary").first.click()
            read("lesson", ".guide p")
            visit.sit_down(player="medium", opponent="easy")
            read("watching", ".watch-bar")
            for name in ("", "watch"):
                look(name, ".player-grid")
            look("replays", ".hand-list a")
            look("statistics", ".chart")
            menu = visit.ask("menu")
    told = {each["about"] for part in ("rules", "agents") for each in menu[part]}
    names = {
        word
        for part in ("rules", "agents")
        for each in menu[part]
        for word in re.findall("[a-z]+", f"{each['name']} {each['title']}".lower())
    }
    names |= {"lesson", "jsonl", "csv"}
    strange = {
        where: english_in([each for each in texts if each not in told], *names)
        for where, texts in heard.items()
    }
    assert not {where: words for where, words in strange.items() if words}


def test_the_page_forms_sentences_as_the_server_does(browser, tmp_path) -> None:
    def polish(part: dict[str, Any]) -> dict[str, Any]:
        part["site"] |= {"plurals": ["^1$", "(^|[^1])[2-4]$"], "you": "ty"}
        part["plates"]["trick"] = {"you": ["A", "B {n}", "C"], "other": ["{Name}", "E {name}", "F"]}
        return part

    script = "([key, told]) => import('/static/js/base/words.js').then(({say}) => say(key, told))"
    with translated(polish), running(tmp_path) as server:
        place = cast(Server, SimpleNamespace(url=f"http://127.0.0.1:{server.port}/"))
        with visiting(place, browser) as visit:
            visit.go()
            for name, n in product(("ty", "Ty", "anna"), (1, 2, 4, 5, 11, 12, 22, 112)):
                told = {"name": name, "n": n}
                found = visit.page.evaluate(script, ["plates.trick", told])
                assert found == say("plates.trick", **told)
