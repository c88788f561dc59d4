// @ts-check
/* Replays saved as a file: one hand with its analysis, or several to choose from; they stand in the page
   itself, as JSON. */

/** @import { Analysis, NotableHand, Replay } from "../../messages" */

import { byId, h } from "./base/dom.js";
import { apply, tableViewOptions } from "./base/settings.js";
import { label, listed } from "./base/words.js";
import { ReplayView } from "./review/replay_view.js";

/** @typedef {{ replay: Replay, analysis?: Analysis | null, notes?: string[] } & Partial<NotableHand>} SavedHand */
/** @type {{ hands: SavedHand[], seat: "both" | 0 | 1 }} */
const { hands, seat } = JSON.parse(byId("saved").textContent);
const title = h("h1"), place = h("div", { class: "replay-place" });
/** @type {ReplayView | undefined} */
let view;

/** @type {(hand: SavedHand, step?: number) => void} */
function show({ replay, analysis, networks, notes = [] }, step = 0) {
  view?.close();
  view = new ReplayView(replay, analysis ?? null, { tableView: tableViewOptions, first: step });
  title.replaceChildren(listed(replay.players), h("small", {}, [replay.rules, replay.result.text, ...notes].join(" · ")));
  place.replaceChildren(view.root);
  if (networks) view.setNetworks(networks, true);
  if (seat !== "both") view.look(String(seat));
}

/** Chooses one of several hands, in the order of the page or by what they show.
 * @type {() => HTMLElement}
 */
function chooser() {
  /** @param {SavedHand} hand */
  const trickOf = ({ replay, step = 0 }) => replay.steps[step].trick;
  /** @type {Record<string, (one: SavedHand, other: SavedHand) => number>} */
  const orders = {
    worst: (one, other) => (one.deal_payoff ?? 0) - (other.deal_payoff ?? 0),
    unlikely: (one, other) => (one.probability ?? 1) - (other.probability ?? 1),
    trick: (one, other) => trickOf(one) - trickOf(other),
  };
  /** @param {SavedHand} hand */
  const option = (hand) => h("option", { value: hands.indexOf(hand) }, label("hands.hand", { n: hand.number, players: listed(hand.replay.players), result: hand.replay.result.text, payoff: hand.deal_payoff }),
    typeof hand.probability === "number" ? label("hands.unlikely_card", { trick: trickOf(hand), value: (100 * hand.probability).toFixed(1) }) : "");
  const choose = () => show(hands[Number(list.value)], order.value === "worst" ? 0 : hands[Number(list.value)].step);
  const sort = () => {
    list.replaceChildren(...[...hands].sort(orders[order.value]).map(option));
    choose();
  };
  /** @type {HTMLSelectElement} */
  const list = h("select", { "aria-label": label("hands.list"), onchange: choose });
  const kinds = typeof hands[0].probability === "number" ? Object.keys(orders) : ["worst"];
  /** @type {HTMLSelectElement} */
  const order = h("select", { "aria-label": label("hands.order"), onchange: sort }, kinds.map((kind) => h("option", { value: kind }, label(`hands.${kind}`))));
  sort();
  return h("div", { class: "hand-chooser row" }, order, list);
}

apply();
document.body.append(
  h("main", { class: "table-page replay-page" },
    h("header", { class: "table-bar row" }, title), hands.length > 1 ? chooser() : "", place));
if (hands.length === 1) show(hands[0]);

addEventListener("keydown", (event) => {
  const own = `input, select${event.key === " " || event.key === "Enter" ? ", button" : ""}`;
  if (event.ctrlKey || event.altKey || event.metaKey || (event.target instanceof Element && event.target.matches(own))) return;
  if (view?.key(event)) event.preventDefault();
});
