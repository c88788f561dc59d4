"""A saved replay is one self-contained file, in which the texts of a record stay texts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import msgspec

from german_whist import Game, Match
from german_whist.engine.records import GameRecord, record_of
from german_whist.table.browser.saved_replay import replay_page
from german_whist.table.review.analysis import AnalysisSettings, analyse
from german_whist.table.review.replay import make_replay
from support import played_out

QUICK = AnalysisSettings(search="flat-mc:12,voids,playout=counting")
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)><!-- \u2028'\"&lt;"


def hand(rules: Any = "classic", meta: dict[str, Any] | None = None) -> GameRecord:
    return record_of(played_out(Game(rules, seed=3, match=Match(target=10))), meta)


class Reader(HTMLParser):
    """The elements of a page, and what stands in its scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def all(self, tag: str) -> list[str]:
        return [text for (name, _), text in zip(self.tags, self.texts, strict=True) if name == tag]


def test_it_holds_the_replay_and_the_analysis() -> None:
    record = hand()
    analysis = analyse(record, QUICK)
    saved = json.loads(Reader(replay_page(record, analysis, 1)).all("script")[0])
    assert saved["analysis"] == json.loads(msgspec.json.encode(analysis))
    assert saved["replay"] == json.loads(msgspec.json.encode(make_replay(record)))
    assert saved["seat"] == 1
    assert json.loads(Reader(replay_page(record)).all("script")[0])["analysis"] is None


def test_it_is_small_and_fetches_nothing() -> None:
    record = hand("draft")
    page = replay_page(record, analyse(record, QUICK))
    assert len(page.encode()) < 300_000
    reader = Reader(page)
    for tag, attributes in reader.tags:
        assert tag not in ("link", "img", "iframe", "base", "object")
        assert not {"src", "href", "style"} & set(attributes)
        assert not any(name.startswith("on") for name in attributes)
    addresses = re.findall(r"https?://[^\s\"'<)]*", page)
    assert set(addresses) <= {"http://www.w3.org/2000/svg"}
    assert "import " not in reader.all("script")[-1].replace("/* ", "")
    assert not re.search(r"url\((?!\"data:)", reader.all("style")[0])


def test_its_policy_allows_its_own_script_and_style_alone() -> None:
    reader = Reader(replay_page(hand()))
    policy = next(
        attributes["content"] for _, attributes in reader.tags if "http-equiv" in attributes
    )
    assert policy is not None
    for kind, text in (("script", reader.all("script")[-1]), ("style", reader.all("style")[0])):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_no_text_of_a_hostile_record_becomes_an_element() -> None:
    rules = {"name": EVIL, "about": EVIL, "suits": 4, "ranks": 7, "hand": 7}
    meta = {"players": [EVIL, EVIL + "2"], "date": EVIL, EVIL: EVIL, "n": {"x": EVIL}}
    record = hand(rules, meta)
    attacked = Reader(replay_page(record, analyse(record, QUICK)))
    harmless = Reader(replay_page(hand()))
    assert [tag for tag, _ in attacked.tags] == [tag for tag, _ in harmless.tags]
    data = attacked.all("script")[0]
    assert not set(data) & set("<>&\u2028\u2029")
    assert json.loads(data)["replay"]["players"][0].startswith("</script>")
    assert attacked.all("title")[0].startswith("</script><script>alert(1)")


def test_long_texts_of_a_record_do_not_swell_the_page() -> None:
    meta = {"players": ["x" * 100_000, "y"], "more": "z" * 100_000, "list": ["w" * 100_000]}
    assert len(replay_page(hand(meta=meta))) < len(replay_page(hand())) + 10_000
