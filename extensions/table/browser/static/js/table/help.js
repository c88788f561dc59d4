// @ts-check
/* The help panel: every card seen, suit by suit, what the opponent is known to hold, and a hint. */

/** @import { Hint, SeenCards } from "../../../messages" */

import { button, faint, h } from "../base/dom.js";
import { label } from "../base/words.js";
import { nameOf, rankText, SUIT_NAMES } from "../cards/names.js";
import { cardText } from "../cards/chip.js";
import { suitIcon } from "../cards/suits.js";
import { valuesTable } from "../review/values.js";

const LEGEND = ["hand", "other", "up", "played", "away", "unseen"];
/** @param {string} where */
const place = (where) => label(`places.${where}`);
/** @param {[string, number]} seen */
const voidText = ([suit, n]) => label(n ? "help.void_drew" : "help.void", { suit: SUIT_NAMES[suit], n });

/** @param {[string, Record<string, string>]} row */
function suitRow([suit, places]) {
  return h("tr", {},
    h("th", { scope: "row" }, suitIcon(suit), h("span", { class: "sr-only" }, SUIT_NAMES[suit])),
    Object.entries(places).map(([card, where]) => h("td", { class: `seen-${where}`, title: `${nameOf(card)}: ${place(where)}` },
      rankText(card), h("span", { class: "sr-only" }, ` ${place(where)}`))));
}

export class HelpPanel {
  /** @param {{ onclose: () => unknown, onhint: () => unknown }} handlers */
  constructor({ onclose, onhint }) {
    this.body = h("div", { class: "help-body parts" });
    this.hint = h("div", { class: "help-hint stack", "aria-live": "polite" });
    this.root = h("aside", { class: "help parts", "aria-label": label("help.title"), hidden: true },
      h("header", {}, h("h2", {}, label("help.title")), h("button", { type: "button", class: "quiet small", "aria-label": label("help.close"), onclick: onclose }, "✕")),
      h("section", {}, button(onhint, "", label("help.hint")), this.hint), this.body);
  }

  /** @type {(help: SeenCards, other: string, trump: string | null) => void} */
  show(help, other, trump) {
    const unseen = trump ? Object.values(help.suits[trump]).filter((where) => where === "unseen").length : 0;
    this.body.replaceChildren(
      h("section", {}, h("h3", {}, label("help.seen")),
        h("div", { class: "seen-scroll" }, h("table", { class: "seen" },
          h("caption", { class: "sr-only" }, label("help.where")), h("tbody", {}, Object.entries(help.suits).map(suitRow)))),
        h("ul", { class: "legend faint wrap" }, LEGEND.filter((where) => where !== "away" || help.away).map((where) => h("li", {}, h("i", { class: `seen-${where}`, "aria-hidden": "true" }), place(where))),
          h("li", {}, h("i", { class: "fresh", "aria-hidden": "true" }), label("help.fresh"))),
        trump ? faint(label("help.trumps", { n: unseen })) : null),
      h("section", {}, h("h3", {}, label("help.holds", { name: other })),
        help.known.length ? h("p", { class: "known wrap" }, help.known.map(cardText)) : null,
        help.hidden ? faint(label(help.known.length ? "help.more_hidden" : "help.hidden", { n: help.hidden })) : null,
        Object.keys(help.voids).length ? faint(Object.entries(help.voids).map(voidText).join(" ")) : null));
  }

  /** @param {Hint} hint */
  showHint(hint) {
    const { why, estimates, action, unit, exact } = hint;
    this.hint.replaceChildren(
      h("p", {}, why), estimates.length > 1 ? valuesTable({ cards: estimates, best: [action], unit, exact }) : "");
  }

  clearHint() {
    this.hint.replaceChildren();
  }
}
