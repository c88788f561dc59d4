// @ts-check
/* After a hand: what it paid and how the match stands; after a match: a trophy. */

/** @import { HandEnd, HandRef, TableState } from "../../../messages" */

import { analysisOf } from "../base/api.js";
import { dialog } from "../base/dialogs.js";
import { h } from "../base/dom.js";
import { icon } from "../base/icons.js";
import { capital, label } from "../base/words.js";

/** @typedef {TableState & { result: HandEnd, replay: HandRef }} HandOver */

/** @param {TableState} state */
function table(state) {
  const [me, other] = state.names.map(capital);
  const total = state.match.kind === "best" ? state.match.hands_won : state.match.points;
  return h("table", { class: "scoreboard" }, h("caption", {}, label("score.match", state.texts)),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, label("score.hand")), h("th", { scope: "col" }, me), h("th", { scope: "col" }, other))),
    h("tbody", {}, state.match.hands.map(([tricks, paid], place) => h("tr", {},
      h("th", { scope: "row" }, place + 1),
      [0, 1].map((who) => h("td", { class: paid[who] > 0 ? "won" : "" },
        h("span", {}, tricks[who]), paid[who] > 0 ? h("b", {}, `+${paid[who]}`) : ""))))),
    h("tfoot", {}, h("tr", {},
      h("th", { scope: "row" }, label(state.match.kind === "best" ? "score.hands_won" : "score.points")), [0, 1].map((who) => h("td", {}, total[who])))));
}

/* What decided the hand, as soon as it is analyzed: it leads there. */
/** @type {(state: HandOver, place: HTMLElement, more: HTMLElement) => Promise<void>} */
async function turningPoint({ watched, replay: { id, hand } }, place, more) {
  const found = await analysisOf(`/api/replays/${id}/${hand}`, () => place.isConnected);
  if (!found) return;
  const { mistakes: [worst], mistakes, turning_point: text } = found;
  const own = watched ? undefined : mistakes.find(({ who }) => who === 0);
  place.replaceChildren(worst ? h("a", { href: `#/replay/${id}/${hand}/${worst.n}` }, text) : text);
  if (own && own !== worst) place.append(" ", h("a", { href: `#/replay/${id}/${hand}/${own.n}` }, label("score.own_worst", own)));
  if (own) more.prepend(choice(`#/exercise/${id}/${hand}/${own.n}`, label("score.exercises")));
}

/** @type {(value: string, text: string) => HTMLElement} */
const choice = (value, text) => h("button", { value, class: "quiet" }, text);

/** Shows the end of a hand or a match; resolves with what is wished next, or an address.
 * @param {HandOver} state
 */
export function scoreboard(state) {
  const single = state.match.kind === "single";
  const over = state.match.over || single;
  const cup = state.match.over && !single && state.match.winner === 0 && !state.watched;
  const { tricks, payoffs, text, notes } = state.result;
  const turning = h("p", { class: "turning", "aria-live": "polite" }, !state.lesson ? label("score.looking") : "");
  const own = !state.watched && !state.lesson;
  const more = h("div", { class: "menu-actions wrap" }, own ? [choice("swapped", label("score.swapped")), choice("same", label("score.same"))] : null,
    choice("look", label("score.look")), choice("lobby", label("site.lobby")));
  const body = [
    cup ? h("div", { class: "trophy" }, icon("trophy")) : null,
    h("p", { class: "sr-only result-text" }, text),
    h("div", { class: "result-tricks", "aria-hidden": "true" }, [0, 1].map((who) => h("p", {}, h("span", {}, capital(state.names[who])), h("b", {}, tricks[who]),
      payoffs[who] > 0 ? h("small", {}, label("score.paid", { n: payoffs[who] })) : null))),
    notes.map((note) => h("p", { class: "compared" }, note)),
    turning,
    single ? null : table(state),
    h("details", { class: "more" }, h("summary", {}, label("score.more")), more),
  ];
  /** @type {Parameters<typeof dialog>[2]} */
  const buttons = [
    state.lesson ? null : ["replay", label("score.replay")],
    over ? ["again", label("score.again"), "primary"] : ["next", label("score.next"), "primary"],
  ];
  const done = dialog(state.result.headline, body, buttons, { className: cup ? "score trophy-won" : "score" });
  if (!state.lesson) turningPoint(state, turning, more).catch(() => turning.replaceChildren());
  return done;
}
