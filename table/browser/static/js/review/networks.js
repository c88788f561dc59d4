// @ts-check
/* What the networks thought of a hand: each policy's probabilities side by side, where the opponent's
   cards were believed to be, and both seats' values. */

/** @import { NetworkDecision, NetworkReview, Replay } from "../../../messages" */
/** @import { View } from "./replay_view.js" */

import { button, faint, h, s } from "../base/dom.js";
import { label } from "../base/words.js";
import { actionSymbol, cardOf, isCard, nameOf, rankText, RANKS, SUITS, symbolOf } from "../cards/cards.js";
import { cardText } from "../cards/chip.js";

const HEIGHT = 110, PAD = 30;
/** @param {number} value */
const percent = (value) => `${Math.round(100 * value)}\u00a0%`;

/** @type {(decision: NetworkDecision, names: string[], action: number) => HTMLElement} */
function policyTable({ actions, policies, kl }, names, action) {
  const order = actions.map((_, place) => place).sort((one, two) => policies[0].probabilities[two] - policies[0].probabilities[one]);
  const likely = order.filter((place) => actions[place] === action || policies.some((policy) => policy.probabilities[place] >= 0.005));
  return h("div", { class: "values-scroll" }, h("table", { class: "policies" },
    h("caption", { class: "sr-only" }, label("networks.policies")),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, label("values.card")), names.map((name) => h("th", { scope: "col", class: "number" }, name)))),
    h("tbody", {}, likely.map((place) => h("tr", { class: actions[place] === action ? "played" : "" },
      h("th", { scope: "row" }, isCard(actions[place]) ? cardText(/** @type {string} */ (cardOf(actions[place]))) : actionSymbol(actions[place])),
      policies.map((policy) => h("td", { class: "number" }, percent(policy.probabilities[place])))))),
    h("tfoot", {},
      h("tr", {}, h("th", { scope: "row" }, label("networks.entropy")), policies.map((policy) => h("td", { class: "number" }, policy.entropy.toFixed(2)))),
      kl === null ? null : h("tr", {}, h("th", { scope: "row" }, label("networks.kl")), h("td", { class: "number", colspan: names.length }, kl.toFixed(3))))));
}

/** Every card that the player had not seen, as dark as it was believed to be with the opponent; those that were, framed.
 * @type {(belief: Record<string, number>, held: string[] | null) => HTMLElement}
 */
function beliefGrid(belief, held) {
  /** @param {string} card */
  const cell = (card) => {
    if (!(card in belief)) return h("td", {});
    const there = held?.includes(card);
    const told = label(there ? "networks.held" : "networks.believed", { card: nameOf(card), value: percent(belief[card]) });
    const shade = h("td", { class: there ? "held" : "", title: told }, h("span", { "aria-hidden": "true" }, rankText(card)), h("span", { class: "sr-only" }, told));
    shade.style.setProperty("--belief", `${100 * belief[card]}%`);
    return shade;
  };
  const suits = [...SUITS].reverse();
  return h("table", { class: "belief" },
    h("caption", {}, label(held ? "networks.belief_truth" : "networks.belief")),
    h("tbody", {}, suits.map((suit) => h("tr", {}, h("th", { scope: "row" }, symbolOf(`A${suit}`).slice(1)), [...RANKS].map((rank) => cell(rank + suit))))));
}

export class NetworksPanel {
  /**
   * @param {Replay} replay
   * @param {NetworkReview} review
   * @param {(step: number) => void} go
   */
  constructor(replay, review, go) {
    this.replay = replay;
    this.review = review;
    this.now = h("div", { class: "networks-now" });
    this.marker = s("line", { class: "plot-now", y1: 4, y2: HEIGHT - 18 });
    const { parted, names } = review;
    this.apart = h("div", {}, parted === null
      ? names.length > 1 ? [faint(label("networks.same"))] : []
      : [h("p", {}, button(() => go(parted), "quiet small", label("networks.parted", { n: parted + 1 }))),
        review.continuations.map(({ name, cards, result }) => h("details", {}, h("summary", {}, label("networks.goes_on", { name, result })),
          h("p", { class: "line-of-play" }, cards.join(" "))))]);
    /** @type {Element[][]} */
    this.lines = [];
    this.root = h("details", { class: "networks", open: names.length > 1 }, h("summary", {}, label("networks.title")),
      this.now, review.values.length ? this.plot() : null, this.apart);
  }

  /* Both seats' values before each trick, with bands of one standard deviation over hidden hands. */
  plot() {
    const width = 340, { values } = this.review, last = this.replay.steps.length;
    /** @param {number} n */
    this.x = (n) => PAD + ((width - PAD - 6) * n) / last;
    /** @param {number} value */
    const y = (value) => 6 + ((HEIGHT - 26) * (100 - Math.max(0, Math.min(100, value)))) / 100;
    this.lines = [0, 1].map((who) => {
      const points = values.filter((value) => value.who === who);
      /** @param {number} side */
      const edge = (side) => points.map((point) => `${this.x?.(point.n).toFixed(1)},${y(point.expected + side * point.spread).toFixed(1)}`);
      return [s("polygon", { class: `networks-band seat-${who}`, points: [...edge(1), ...edge(-1).reverse()].join(" ") }),
        s("polyline", { class: `networks-line seat-${who}`, points: edge(0).join(" ") })];
    });
    return h("figure", { class: "networks-values" },
      s("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, class: "networks-plot", role: "img", "aria-label": label("networks.values") },
        [0, 50, 100].map((value) => [s("line", { class: "plot-grid", x1: PAD, x2: width - 6, y1: y(value), y2: y(value) }),
          s("text", { class: "plot-label", x: PAD - 5, y: y(value) + 3.5, "text-anchor": "end" }, `${value}%`)]), this.lines, this.marker),
      h("figcaption", {}, this.replay.players.map((name, who) => h("span", { class: `networks-key seat-${who}` }, name)), faint(label("networks.values"))));
  }

  /** Shows the decision of a step as this view may see it: of one seat, its own values and no other cards.
   * @param {number} step
   * @param {View} view
   * @param {boolean} hidden
   */
  at(step, view, hidden) {
    this.apart.hidden = view !== "both";
    for (const who of [0, 1]) for (const line of this.lines[who] ?? []) line.classList.toggle("hidden-line", view === 1 - who);
    for (const end of ["x1", "x2"]) this.marker.setAttribute(end, String(this.x?.(step) ?? 0));
    const decision = this.review.decisions[step], played = this.replay.steps[step];
    const open = view === "both" || played?.before.open;
    if (!decision || hidden) return this.now.replaceChildren(faint(label("networks.no_decision")));
    this.now.replaceChildren(
      ...(decision.policies.length ? [policyTable(decision, this.review.names, played.action)] : []),
      ...(Object.keys(decision.belief).length ? [beliefGrid(decision.belief, open ? played.before.hands[1 - played.who] : null)] : []));
  }
}
