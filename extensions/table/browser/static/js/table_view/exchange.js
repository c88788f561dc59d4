// @ts-check
/* The exchange before the first lead: two buttons over the table, keep the hand or take the blind one. */

/** @import { VisibleState } from "../../../messages" */
/** @import { Wish } from "./queue.js" */

import { h } from "../base/dom.js";
import { label } from "../base/words.js";
import { KEEP, TAKE_BLIND } from "../cards/names.js";

export class ExchangeBar {
  /** @param {(action: number, card: null, wish: Wish) => void} onplay */
  constructor(onplay) {
    this.onplay = onplay;
    /** @type {(action: number, word: string) => HTMLButtonElement} */
    const button = (action, word) => h("button", {
      type: "button", "data-action": action, onclick: (event) => this.choose(action, event),
    }, label(`exchange.${word}`));
    this.buttons = [button(KEEP, "keep"), button(TAKE_BLIND, "blind")];
    this.root = h("div", { class: "exchange-bar wrap", hidden: true, role: "group", "aria-label": label("exchange.title") }, this.buttons);
  }

  /** @type {(action: number, event: MouseEvent) => void} */
  choose(action, event) {
    const { timeStamp: now, clientX: x, clientY: y, detail } = event;
    this.onplay(action, null, { now, x, y, key: detail === 0 });
  }

  /** Shown to the person who decides, with what was best and what was chosen once that is known.
   * @param {VisibleState & { watched?: boolean, left?: boolean }} state
   * @param {{ best?: number[], action?: number | null }} [answer]
   */
  update(state, { best = [], action = null } = {}) {
    const was = this.root.hidden;
    this.root.hidden = state.phase !== "exchange" || state.turn !== 0 || Boolean(state.watched || state.left);
    this.point(...best);
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(Number(button.dataset.action) === action));
    if (was && !this.root.hidden && document.activeElement === document.body) this.buttons[0].focus();
  }

  /** Marks what a hint names.
   * @param {number[]} actions
   */
  point(...actions) {
    for (const button of this.buttons) button.classList.toggle("primary", actions.includes(Number(button.dataset.action)));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (this.root.hidden || event.key.toUpperCase() !== "X" || event.repeat) return false;
    this.onplay(TAKE_BLIND, null, { now: event.timeStamp, key: true });
    return true;
  }
}
