// @ts-check
/* What the networks thought of a hand: each policy's probabilities side by side, where the opponent's
   cards were believed to be, what each seat could expect, and how the policies go on where they part. */

/** @import { NetworkDecision, NetworkReview, Replay, ValueCurve } from "../../../messages" */
/** @import { Points } from "../base/plot.js" */
/** @import { View } from "./replay_view.js" */

import { button, faint, h, s } from "../base/dom.js";
import { plot } from "../base/plot.js";
import { label, signed } from "../base/words.js";
import { actionSymbol, cardOf, isCard, nameOf, rankText, RANKS, SUITS, symbolOf } from "../cards/names.js";
import { cardText } from "../cards/chip.js";

/** @param {number} value */
const percent = (value) => `${Math.round(100 * value)}\u00a0%`;
/** @param {number} action */
const chipOf = (action) => (isCard(action) ? cardText(/** @type {string} */ (cardOf(action))) : actionSymbol(action));

/** @type {(decision: NetworkDecision, names: string[], action: number) => HTMLElement} */
function policyTable({ actions, policies, kl }, names, action) {
  const order = actions.map((_, place) => place).sort((one, two) => policies[0].probabilities[two] - policies[0].probabilities[one]);
  const likely = order.filter((place) => actions[place] === action || policies.some((policy) => policy.probabilities[place] >= 0.005));
  /** @param {number} probability */
  const cell = (probability) => {
    const shade = h("td", { class: "number" }, percent(probability));
    shade.style.setProperty("--belief", `${100 * probability}%`);
    return shade;
  };
  return h("table", { class: "policies" },
    h("caption", { class: "sr-only" }, label("networks.policies")),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, label("values.card")), names.map((name) => h("th", { scope: "col", class: "number" }, name)))),
    h("tbody", {}, likely.map((place) => h("tr", { class: actions[place] === action ? "played" : "" },
      h("th", { scope: "row" }, chipOf(actions[place])), policies.map((policy) => cell(policy.probabilities[place]))))),
    h("tfoot", {},
      h("tr", {}, h("th", { scope: "row" }, label("networks.entropy")), policies.map((policy) => h("td", { class: "number" }, policy.entropy.toFixed(2)))),
      kl === null ? null : h("tr", {}, h("th", { scope: "row" }, label("networks.kl")), h("td", { class: "number", colspan: names.length }, kl.toFixed(3)))));
}

/** Every card that the player had not seen, the deeper its color the likelier with the opponent; those that were there, framed.
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
   * @param {boolean} open
   * @param {(step: number) => void} go
   */
  constructor(replay, review, open, go) {
    this.replay = replay;
    this.review = review;
    this.go = go;
    this.now = h("div", { class: "networks-now" });
    const { first_difference: at, names, curves } = review;
    /** @type {((step: number) => void)[]} */
    this.markers = [];
    this.apart = h("div", {}, names.length > 1 ? [this.divergence(), at === null ? faint(label("networks.same"))
      : h("p", {}, button(() => go(at), "quiet small", label("networks.first_difference", { n: at + 1 }))),
    review.continuations.map(({ name, actions, result }) => h("details", {}, h("summary", {}, label("networks.goes_on", { name, result })),
      h("p", { class: "line-of-play" }, actions.map((action) => [chipOf(action), " "]))))] : []);
    this.root = h("details", { class: "networks", open }, h("summary", {}, label("networks.title")),
      h("div", { class: "networks-parts" }, this.now, curves.map((curve) => this.curve(curve)),
        curves.length ? h("p", { class: "faint networks-note" }, this.replay.players.map((name, who) => h("span", { class: `networks-key seat-${who}` }, name)), label("networks.values"),
          curves.some(({ values }) => values.some((value) => value.actual !== null)) ? ` ${label("networks.actual")}` : "") : null,
        this.apart));
  }

  /** A plot over the decisions of the hand; a click goes to the decision.
   * @type {(title: string, range: [number, number], tick: (value: number) => string) => Omit<ReturnType<typeof plot>, "mark"> & { root: HTMLElement }}
   */
  plot(title, range, tick) {
    const { mark, drawing, ...scales } = plot({ title, last: this.replay.steps.length, range, tick, onpick: this.go });
    this.markers.push(mark);
    return { ...scales, drawing, root: h("figure", { class: "networks-values" }, h("figcaption", {}, title), drawing) };
  }

  /* Both seats' values by one network; bands are one standard deviation over the hands that the other may hold. */
  /** @param {ValueCurve} curve */
  curve({ name, unit, values }) {
    const wins = unit === "win %";
    const most = Math.ceil(Math.max(1, ...values.map(({ expected, spread }) => Math.abs(expected) + (spread ?? 0))));
    const title = name ? label("networks.critic", { name, unit: wins ? label("networks.chance") : unit }) : label("networks.value_network");
    const { root, drawing, through } = this.plot(title, wins ? [0, 100] : [-most, most], (value) => (wins ? `${value}%` : signed(value)));
    drawing.append(...[0, 1].map((who) => {
      const seen = values.filter((value) => value.who === who);
      /** @type {(side: number) => Points} */
      const edge = (side) => seen.map(({ n, expected, spread }) => [n, expected + side * (spread ?? 0)]);
      return s("g", { class: `seat-${who}` }, s("polygon", { class: "plot-area", points: through(edge(1), edge(-1)) }),
        s("polyline", { class: "plot-line", points: through(edge(0)) }),
        s("polyline", { class: "networks-actual", points: through(seen.filter(({ actual }) => actual !== null).map(({ n, actual }) => [n, actual ?? 0])) }));
    }));
    return root;
  }

  /* How far the first policy is from the second at each decision. */
  divergence() {
    const kls = this.review.decisions.map(({ kl }) => kl ?? 0);
    const { root, drawing, x, y } = this.plot(label("networks.divergence"), [0, Math.max(0.1, ...kls)], (value) => value.toFixed(2));
    drawing.append(...kls.map((kl, n) => s("line", { class: `networks-kl seat-${this.replay.steps[n].who}`, x1: x(n), x2: x(n), y1: y(0), y2: y(kl) })));
    return root;
  }

  /** Shows the decision of a step as this view may see it: of one seat, its own values and no other cards.
   * @param {number} step
   * @param {View} view
   * @param {boolean} hidden
   */
  at(step, view, hidden) {
    this.apart.hidden = view !== "both";
    this.root.dataset.view = String(view);
    for (const mark of this.markers) mark(step);
    const decision = this.review.decisions[step], played = this.replay.steps[step];
    const open = view === "both" || played?.before.open;
    if (!decision || hidden) return this.now.replaceChildren(faint(label("networks.no_decision")));
    this.now.replaceChildren(
      ...(decision.policies.length ? [policyTable(decision, this.review.names, played.action)] : []),
      ...(Object.keys(decision.belief).length ? [beliefGrid(decision.belief, open ? played.before.hands[1 - played.who] : null)] : []));
  }
}
