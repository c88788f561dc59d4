// @ts-check
/* What stands beside the cards: a plate for each player, the prompt, trumps and the stock's number. */

/** @import { TableView } from "./table_view.js" */
/** @import { Plan } from "./layout.js" */
/** @import { VisibleState } from "../../../messages" */

import { h } from "../base/dom.js";
import { capital, label } from "../base/words.js";
import { symbolOf } from "../cards/names.js";
import { suitIcon } from "../cards/suits.js";

/**
 * What plates show: a table, or a position that nobody waits at.
 * @typedef {Omit<VisibleState, "hand" | "hand_size_other" | "known_other" | "other_hand" | "upcards" | "legal" | "phase" | "open" | "trick" | "texts">
 *   & { names: string[], match: { kind: string, hands_won?: number[], points?: number[] }, texts: { prompt: string, stage: string, last: string },
 *   thinking?: boolean, watched?: boolean }} Shown
 */

/** @type {(count: number, noun: string) => HTMLElement} */
const score = (count, noun) => h("span", { class: "plate-score" }, h("b", {}, count), h("small", {}, label(`plates.${noun}`, { n: count })));

class Plate {
  /** @param {number} who */
  constructor(who) {
    this.who = who;
    this.name = h("span", { class: "plate-name" });
    this.scores = h("div", { class: "plate-scores" });
    this.root = h("div", { class: `plate plate-${who ? "other" : "own"}`, "aria-hidden": "true" },
      this.name, this.scores);
  }

  /** @param {Shown} state */
  update({ names, turn, tricks, stock_left: left, stock_tricks: forStock, exchanged, match: { kind, hands_won: won = [], points = [] } }) {
    const { who } = this, took = exchanged[who];
    this.name.textContent = capital(names[who]);
    const stock = forStock ? label("plates.for_stock", { n: forStock[who] }) : took === null ? "" : label(took ? "plates.took_blind" : "plates.kept");
    this.scores.replaceChildren(
      h("i", { class: "plate-stock", title: label("plates.stock_tricks") }, stock),
      forStock && left ? "" : score(tricks[who], "trick"),
      kind === "single" ? "" : score((kind === "best" ? won : points)[who], kind === "best" ? "hand" : "point"));
    this.root.classList.toggle("to-move", turn === who);
  }
}

/** Plates and labels of one table, put on the table. */
export class Plates {
  /** @param {TableView} tableView */
  constructor(tableView) {
    this.tableView = tableView;
    this.plates = [new Plate(0), new Plate(1)];
    this.prompt = h("p", { class: "prompt row" });
    this.stock = h("p", { class: "stock-label", "aria-hidden": "true" });
    this.lastLabel = h("p", { class: "last-label", "aria-hidden": "true" }, label("plates.last_trick"));
    this.stage = h("p", { class: "stage-label", "aria-hidden": "true" });
    this.sign = h("div", { class: "watermark", "aria-hidden": "true" });
    tableView.root.prepend(this.sign);
    tableView.root.append(...this.plates.map((plate) => plate.root), this.stock, this.stage, this.lastLabel, this.prompt);
    tableView.onarranged = (plan) => this.place(plan);
  }

  /** @param {Plan} plan */
  place(plan) {
    const { root } = this.tableView;
    root.classList.toggle("wide", plan.wide);
    root.classList.toggle("tall", !plan.wide);
    root.classList.toggle("roomy", plan.wide && plan.plate > 200);
    root.classList.toggle("low", plan.low);
    this.prompt.style.left = `${plan.handCenter}px`;
    this.prompt.style.maxWidth = `${2 * Math.min(plan.handCenter, root.clientWidth - plan.handCenter) - 16}px`;
    const half = this.stage.offsetWidth / 2 + 8;
    const stageX = Math.min(plan.lastX, root.clientWidth - half), stageY = plan.otherY + (plan.tall * plan.otherScale) / 2 + (plan.low ? 1 : 4);
    this.stage.style.left = plan.wide ? `${stageX}px` : "";
    this.stage.style.top = `${stageY}px`;
    // Beside help on a small window the trick has its place.
    const covered = plan.wide && stageX - half < plan.trickX + plan.card * 0.92 && stageY + this.stage.offsetHeight > plan.middle - plan.lean - plan.tall / 2;
    this.stage.style.visibility = covered ? "hidden" : "";
    const lastRoom = Math.max(plan.wide ? 90 : 102, plan.wide ? 2 * Math.min(plan.lastX - plan.trickX - plan.card * 0.5, root.clientWidth - plan.lastX - 8)
      : root.clientWidth - plan.trickX - plan.card * 0.8 - 8);
    root.style.setProperty("--last-room", `${lastRoom}px`);
    this.prompt.style.top = `${plan.promptY}px`;
    // Where the prompt has the room below the stock, its label is one line, or stands beside it, between the plates.
    const foot = plan.middle + plan.tall * 0.46;
    const roomBelow = () => plan.promptY - this.prompt.offsetHeight / 2 - this.stock.offsetHeight - foot;
    this.stock.classList.remove("one-line");
    const line = !plan.wide && roomBelow() <= 4 && this.stock.classList.toggle("one-line");
    const room = roomBelow();
    this.stock.classList.toggle("one-line", line && room > 0);
    const pile = Math.max(0, ...plan.places.filter(({ zone }) => zone === "stock" || zone === "up").map(({ x }) => x + plan.card * 0.46));
    const beside = Math.max((pile + plan.trickX - plan.card * 0.92) / 2, pile + this.stock.offsetWidth / 2 + 4);
    const below = room > (line ? 0 : 4);
    this.stock.style.left = `${!below ? (plan.wide ? plan.plate / 2 : beside) : line ? this.stock.offsetWidth / 2 + 10 : plan.stockX}px`;
    this.stock.style.top = `${below ? foot + Math.min(9, room) : plan.middle - 16}px`;
    this.lastLabel.style.left = `${Math.min(plan.lastX, root.clientWidth - lastRoom / 2 - 4)}px`;
    const scale = plan.wide && !plan.low ? 0.62 : 0.5;
    const top = plan.middle + plan.tall * scale * 0.7 + 6;
    this.lastLabel.style.top = `${top}px`;
    /** @type {HTMLElement | null} */
    const bar = root.querySelector(".watch-bar:not([hidden])");
    const isCut = () => this.lastLabel.offsetHeight > (bar?.offsetTop ?? plan.promptY - this.prompt.offsetHeight / 2) - top;
    if (isCut()) this.lastLabel.textContent = label("plates.last_trick");
    this.lastLabel.style.visibility = isCut() ? "hidden" : "";
    this.sign.style.left = `${plan.trickX}px`;
    this.sign.style.top = `${plan.middle}px`;
  }

  /** A sentence in the place of the prompt, until the next state is shown.
   * @param {string} text
   */
  showPrompt(text, { yours = false, thinking = false, hint = false } = {}) {
    this.prompt.replaceChildren(h("span", {}, text));
    this.prompt.classList.toggle("thinking", thinking);
    this.prompt.classList.toggle("yours", yours);
    this.prompt.classList.toggle("hint", hint);
  }

  /** @param {Shown} state */
  update(state) {
    this.plates.forEach((plate) => plate.update(state));
    this.showPrompt(state.texts.prompt, { yours: state.turn === 0 && !state.watched, thinking: state.thinking });
    this.stage.textContent = state.texts.stage;
    this.lastLabel.textContent = state.texts.last || label("plates.last_trick");
    const trumps = state.trump
      ? h("span", { class: "trumps" }, suitIcon(state.trump), label("plates.trumps")) : h("span", { class: "trumps" }, label("plates.no_trumps"));
    this.stock.replaceChildren(
      trumps, h("span", {}, state.turned ? label("plates.turned", { card: symbolOf(state.turned) })
        : label(state.stock_left ? "plates.in_stock" : "plates.no_stock", { n: state.stock_left })),
      state.low ? h("strong", { class: "low-play" }, label("plates.low")) : "");
    this.lastLabel.hidden = !state.last_trick.length;
    this.sign.replaceChildren(state.trump ? suitIcon(state.trump) : "");
  }
}
