// @ts-check
/* The page of finished hands. */

/** @import { HandSummary, ReplayResult } from "../../../messages" */

import { get } from "../base/api.js";
import { faint, h } from "../base/dom.js";
import { label } from "../base/words.js";

/** @param {ReplayResult} result */
const won = (result) => (result.payoffs[0] > 0 ? "won" : result.payoffs[0] < 0 ? "lost" : "drawn");

const OUTCOMES = { won: "good", lost: "bad", drawn: "faint" };

/** @param {HandSummary} hand */
const titleOf = (hand) => label("records.against", { rules: hand.rules_title, opponent: hand.opponent });

/** @param {HandSummary} hand */
function handLink(hand) {
  const when = new Date(hand.when * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return h("li", { class: OUTCOMES[won(hand.result)] },
    h("a", { href: `#/replay/${hand.replay.id}/${hand.replay.hand}` }, h("b", {}, titleOf(hand)), h("span", {}, hand.result.text), h("small", {}, when)));
}

/* Hands of one match stand together, under its name. */
/** @param {HandSummary[]} hands */
function handList(hands) {
  /** @type {Map<string, HandSummary[]>} */
  const matches = new Map();
  for (const hand of hands) matches.set(hand.replay.id, [...(matches.get(hand.replay.id) ?? []), hand]);
  return h("ul", { class: "hand-list stack" }, [...matches.values()].map((match) => (match.length === 1 ? handLink(match[0])
    : h("li", { class: "hand-group stack" }, h("h3", {}, label("records.group", { title: titleOf(match[0]), n: match.length, won: match.filter((hand) => won(hand.result) === "won").length })),
      h("ul", { class: "hand-list stack" }, match.map(handLink))))));
}

export class RecordsPage {
  constructor() {
    this.hands = h("div");
    this.root = h("div", { class: "page records" }, h("h1", { tabindex: "-1" }, label("site.replays")), this.hands);
  }

  async open() {
    /** @type {HandSummary[]} */
    const records = await get("/api/replays");
    this.hands.replaceChildren(...(records.length ? this.filtered(records) : [faint(label("records.none"))]));
  }

  /** @param {HandSummary[]} records */
  filtered(records) {
    const place = h("div");
    /** @type {Record<string, string>} */
    const chosen = { opponent: "", rules_title: "", won: "" };
    const show = () => {
      const left = records.filter((record) => (!chosen.opponent || record.opponent === chosen.opponent)
        && (!chosen.rules_title || record.rules_title === chosen.rules_title) && (!chosen.won || won(record.result) === chosen.won));
      place.replaceChildren(left.length ? handList(left) : faint(label("records.no_match")));
    };
    /** @type {(name: string, text: string, values: string[]) => HTMLElement} */
    const select = (name, text, values) => h("label", {}, text, h("select", { name, onchange: ({ target }) => { chosen[name] = /** @type {HTMLSelectElement} */ (target).value; show(); } },
      h("option", { value: "" }, label("records.all")), values.map((value) => h("option", { value }, name === "won" ? label(`records.results.${value}`) : value))));
    /** @param {"opponent" | "rules_title"} name */
    const values = (name) => [...new Set(records.map((record) => record[name]))].sort();
    show();
    return [h("div", { class: "filters wrap" }, select("opponent", label("lobby.opponent"), values("opponent")), select("rules_title", label("lobby.rules"), values("rules_title")),
      select("won", label("records.result"), ["won", "lost", "drawn"])), place];
  }

  close() {}
}
