// @ts-check
/* After a hand: what it paid and how the match stands; after a match: a trophy. */

/** @import { Analysis, AnalysisProgress, HandEnd, HandRef, TableState } from "../../../messages" */

import { get } from "../base/api.js";
import { dialog } from "../base/dialogs.js";
import { faint, h, pause } from "../base/dom.js";
import { trophy } from "../base/icons.js";
import { capital, say } from "../base/words.js";

const ASK_EVERY = 600;

/** @typedef {TableState & { result: HandEnd, replay: HandRef }} HandOver */

/** @param {TableState} state */
function table(state) {
  const [me, other] = state.names.map(capital);
  const total = state.match.kind === "best" ? state.match.hands_won : state.match.points;
  return h("table", { class: "scoreboard" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, say("score.hand")), h("th", { scope: "col" }, me), h("th", { scope: "col" }, other))),
    h("tbody", {}, state.match.hands.map(({ tricks, pay: paid }, place) => h("tr", {},
      h("th", { scope: "row" }, place + 1),
      [0, 1].map((who) => h("td", { class: paid[who] > 0 ? "won" : "" },
        h("span", {}, tricks[who]), paid[who] > 0 ? h("b", {}, `+${paid[who]}`) : ""))))),
    h("tfoot", {}, h("tr", {},
      h("th", { scope: "row" }, say(state.match.kind === "best" ? "score.hands_won" : "score.points")), [0, 1].map((who) => h("td", {}, total[who])))));
}

/* What decided the hand, as soon as it is analysed, with a way to look at it. */
/** @type {(state: HandOver, place: HTMLElement) => Promise<void>} */
async function turningPoint({ replay }, place) {
  const path = `/api/replays/${replay.id}/${replay.hand}`;
  /** @type {(step: number, text: string) => HTMLElement} */
  const link = (step, text) => h("button", { value: `#/replay/${replay.id}/${replay.hand}/${step}`, class: "quiet small" }, text);
  for (;;) {
    if (!place.isConnected) return;
    /** @type {Analysis | AnalysisProgress} */
    const found = await get(`${path}/analysis`).catch(() => ({ done: 0, ready: false }));
    if (!("story" in found)) {
      await pause(ASK_EVERY);
      continue;
    }
    const [worst] = found.mistakes;
    const own = found.mistakes.filter((each) => each.who === 0);
    place.replaceChildren(h("p", {}, found.turning_point, " ", worst ? link(worst.n, say("score.look_at_it")) : null),
      own.length ? h("p", {}, h("button", { value: `#/exercise/${replay.id}/${replay.hand}/${own[0].n}`, class: "quiet small" }, say("score.exercises"))) : "");
    return;
  }
}

/** Shows the end of a hand or a match; resolves with what is wished next, or an address.
 * @param {HandOver} state
 */
export function scoreboard(state) {
  const single = state.match.kind === "single";
  const over = state.match.over || single;
  const cup = state.match.over && !single && state.match.winner === 0 && !state.watched;
  const turning = h("div", { class: "turning", "aria-live": "polite" }, !state.lesson ? faint(say("score.looking")) : "");
  const body = [
    cup ? h("div", { class: "trophy-place" }, trophy()) : null,
    h("p", { class: "result-text" }, state.result.text),
    h("p", { class: "result-tricks", "aria-hidden": "true" }, h("b", {}, state.result.tricks[0]), h("i"), h("b", {}, state.result.tricks[1])),
    state.result.compared ? h("p", { class: "compared" }, state.result.compared) : null,
    turning,
    single ? null : table(state),
    single ? null : h("p", { class: "match-text" }, say("score.match", state.said)),
  ];
  const own = !state.watched && !state.lesson;
  /** @type {Parameters<typeof dialog>[2]} */
  const buttons = [
    ["lobby", say("site.lobby"), "quiet"],
    ["look", say("score.look"), "quiet"],
    own ? ["swapped", say("score.swapped"), "quiet"] : null,
    own ? ["same", say("score.same"), "quiet"] : null,
    state.lesson ? null : ["replay", say("score.replay")],
    over ? ["again", say("score.again"), "primary"] : ["next", say("score.next"), "primary"],
  ];
  const done = dialog(state.result.headline, body, buttons, { className: cup ? "score trophy-won" : "score" });
  if (!state.lesson) turningPoint(state, turning);
  return done;
}
