/* After a hand: what it paid and how the match stands; after a match: a trophy. */

import { dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { trophy } from "./icons.js";
import { namesOf } from "./plates.js";

function table(state) {
  const [me, other] = namesOf(state);
  const hands = state.match.hands ?? [];
  const pay = (value) => (value > 0 ? `+${value}` : "");
  const total = state.match.kind === "best" ? state.match.hands_won : state.match.points;
  return h("table", { class: "scoreboard" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Hand"), h("th", { scope: "col" }, me), h("th", { scope: "col" }, other))),
    h("tbody", {}, hands.map(({ tricks, pay: paid }, place) => h("tr", {},
      h("th", { scope: "row" }, place + 1),
      [0, 1].map((who) => h("td", { class: paid[who] > 0 ? "won" : "" },
        h("span", {}, tricks[who]), paid[who] > 0 ? h("b", {}, pay(paid[who])) : ""))))),
    h("tfoot", {}, h("tr", {},
      h("th", { scope: "row" }, state.match.kind === "best" ? "Hands won" : "Points"), [0, 1].map((who) => h("td", {}, total[who])))));
}

/** Shows the end of a hand or a match; resolves with "next", "again", "replay" or "lobby". */
export function scoreboard(state) {
  const over = state.match.over || state.match.kind === "single";
  const cup = state.match.over && state.match.kind !== "single" && state.match.winner === 0 && state.player === "human";
  const body = [
    cup ? h("div", { class: "trophy-place" }, trophy()) : null,
    h("p", { class: "result-text" }, state.result.text),
    h("p", { class: "result-tricks" },
      h("b", {}, state.result.tricks[0]), h("span", { class: "sr-only" }, " to "), h("i", { "aria-hidden": "true" }), h("b", {}, state.result.tricks[1])),
    state.match.kind === "single" ? null : table(state),
    state.match.kind === "single" ? null : h("p", { class: "match-text" }, `Match ${state.said.match}`),
  ];
  const buttons = [
    h("button", { value: "lobby", class: "quiet" }, "Lobby"),
    h("button", { value: "look", class: "quiet" }, "Look at the table"),
    state.replay ? h("button", { value: "replay" }, "Replay and analysis") : null,
    over ? h("button", { value: "again", class: "primary" }, "Play again") : h("button", { value: "next", class: "primary" }, "Next hand"),
  ];
  return dialog(state.result.headline, body, buttons, { className: cup ? "score trophy-won" : "score" });
}
