// @ts-check
/* Choosing a card: the buttons over the hand (or over the stock), one click or two, and the keys. */

/** @import { TableView, Item } from "./table_view.js" */
/** @import { Wish } from "./queue.js" */
/** @import { VisibleState } from "../../../messages" */

import { toast } from "../base/dialogs.js";
import { settings } from "../base/settings.js";
import { label } from "../base/words.js";
import { actionOf, cardOf, nameOf, RANKS, rankOf, SUITS, suitOf } from "../cards/names.js";
import { sorted } from "../cards/order.js";

/** @typedef {string | null} Key */
/** @typedef {VisibleState & { move: number | string, watched?: boolean }} Asked */

const PAIR_WITHIN = 1200;
const FINGER = 40;

export class Picker {
  /**
   * @param {TableView} tableView
   * @param {(action: number, card: string | null, wish: Wish) => void} onplay
   */
  constructor(tableView, onplay) {
    this.tableView = tableView;
    this.onplay = onplay;
    this.chosen = /** @type {Key} */ (null);
    this.hovered = /** @type {Key} */ (null);
    this.pointed = /** @type {Key} */ (null);
    this.armed = /** @type {Key} */ (null);
    this.fresh = /** @type {Key} */ (null);
    this.typed = { rank: "", at: 0 };
    this.state = /** @type {Asked | null} */ (null);
    this.items = /** @type {Item[]} */ ([]);
    this.offered = /** @type {string[]} */ ([]);
    /* A card had the focus that is on its way, or was the last of a hand. */
    this.refocus = false;
  }

  /** Offers what can be chosen in this state; `fresh` is the card that was drawn last.
   * @param {Asked} state
   * @param {Key} [fresh]
   */
  update(state, fresh = null) {
    if (state.move !== this.state?.move) this.pointed = null;
    this.state = state;
    this.fresh = fresh;
    const mine = state.turn === 0 && !state.watched;
    const choosing = mine && state.phase === "choose";
    const hand = sorted(state.hand, state.trump, settings.order).map((card) => ({
      key: card, action: actionOf(card), zone: "hand", disabled: !mine || choosing || !state.legal.includes(actionOf(card)),
    }));
    const offered = choosing ? state.legal.map((action) => {
      const card = cardOf(action);
      return card ? { key: card, action, zone: "up", name: label("picker.take", { card: nameOf(card) }) }
        : { key: "stock", action, zone: "stock", name: label("picker.hidden") };
    }) : [];
    this.offered = offered.map((item) => item.key);
    this.items = state.watched ? [] : [...offered, ...hand];
    const focused = this.tableView.focused();
    this.tableView.buttons(this.items, {
      label: label(choosing ? "picker.choose" : "picker.hand", { n: state.hand.length }),
      onchoose: (key, event) => this.choose(key, event),
      onfocus: (key) => this.select(key),
      onhover: (key) => { this.hovered = key; this.mark(); },
      ondrop: (key, event) => {
        this.armed = key; // A card that was drawn onto the table is meant.
        this.choose(key, event);
      },
    });
    if (!this.items.some((item) => item.key === this.chosen)) this.chosen = null;
    if (choosing && this.chosen && !this.offered.includes(this.chosen)) this.chosen = null;
    this.rove();
    const had = focused || (this.refocus && document.activeElement?.matches("body, h1"));
    this.refocus = Boolean(had && !this.tableView.focused() && !this.tableView.focus(this.chosen ?? this.first()));
    this.mark();
  }

  first() {
    const playable = this.items.find((item) => !item.disabled) ?? this.items[0];
    return playable?.key ?? "";
  }

  clear() {
    this.refocus ||= Boolean(this.tableView.focused());
    this.chosen = this.hovered = this.pointed = null;
    this.tableView.mark({ lifted: [], chosen: [], dim: [], offered: [], hinted: [], fresh: [] });
    this.state = null;
  }

  /** @param {string} key */
  select(key) {
    this.chosen = key;
    this.rove();
    this.mark();
  }

  /* One of the buttons is reached by Tab; the arrows lead to the others. */
  rove() {
    const at = this.chosen ?? this.first();
    for (const button of this.tableView.hitButtons()) button.tabIndex = button.dataset.key === at ? 0 : -1;
  }

  /** @param {Key} key */
  point(key) {
    this.pointed = key;
    this.mark();
  }

  mark() {
    const { state } = this;
    if (!state) return;
    const mine = state.turn === 0 && !state.watched;
    const following = mine && state.phase === "follow";
    this.tableView.mark({
      lifted: [this.hovered, this.chosen].filter((key) => key && !this.offered.includes(key) && !this.items.find((item) => item.key === key)?.disabled),
      chosen: [this.chosen].filter(Boolean),
      dim: following ? state.hand.filter((card) => !state.legal.includes(actionOf(card))) : [],
      offered: this.offered,
      hinted: [this.pointed].filter(Boolean),
      fresh: [this.fresh].filter(Boolean),
    });
  }

  /* Where fingers would miss, as where two clicks are wished, the first lifts the card. */
  /** @type {(key: string, event: MouseEvent | KeyboardEvent) => void} */
  choose(key, event) {
    const item = this.items.find((candidate) => candidate.key === key);
    const typed = event instanceof KeyboardEvent, byKey = typed || event.detail === 0;
    if (!item || (typed && event.repeat)) return;
    const small = event instanceof PointerEvent && event.pointerType === "touch" && event.target instanceof HTMLElement && event.target.offsetWidth < FINGER;
    if ((settings.clicks === "two" || small) && !byKey && this.armed !== key && !item.disabled) {
      this.armed = key;
      this.select(key);
      if (small) toast(label("picker.again"), "hint");
      return;
    }
    this.armed = null;
    this.onplay(item.action, key === "stock" ? null : key, { now: event.timeStamp, x: typed ? 0 : event.clientX, y: typed ? 0 : event.clientY, key: byKey });
  }

  // -- keys

  /** @param {number} by */
  step(by) {
    const usable = this.offered.length ? this.items.filter((item) => this.offered.includes(item.key)) : this.items;
    if (!usable.length) return;
    const at = usable.findIndex((item) => item.key === this.chosen);
    const place = at < 0 ? (by > 0 ? 0 : usable.length - 1) : (at + by + usable.length) % usable.length;
    this.goto(usable[place].key);
  }

  /** @param {string} key */
  goto(key) {
    this.select(key);
    this.tableView.focus(key);
  }

  /* The next card after the chosen one that passes, round the hand. */
  /** @param {(card: string) => boolean} test */
  seek(test) {
    const cards = this.items.filter((item) => item.key !== "stock");
    const at = cards.findIndex((item) => item.key === this.chosen);
    const turned = [...cards.slice(at + 1), ...cards.slice(0, at + 1)];
    const found = turned.find((item) => test(item.key));
    if (found) this.goto(found.key);
  }

  /** Whether a key means something here; what it does is done.
   * @param {KeyboardEvent} event
   */
  key(event) {
    const key = event.key === "0" ? "T" : event.key.toUpperCase();
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") this.step(event.key === "ArrowRight" ? 1 : -1);
    else if (event.key === "Home" || event.key === "End") {
      this.chosen = null;
      this.step(event.key === "Home" ? 1 : -1);
    } else if (event.key === "Enter" || event.key === " ") {
      const item = this.items.find((candidate) => candidate.key === this.chosen);
      if (!item) return false;
      this.choose(item.key, event);
    } else if (key === "X" && this.offered.includes("stock")) this.choose("stock", event);
    else if (RANKS.includes(key) && key.length === 1) {
      this.typed = { rank: key, at: event.timeStamp };
      this.seek((card) => rankOf(card) === key);
    } else if (SUITS.includes(key) && key.length === 1) {
      const { rank, at } = this.typed;
      const exact = rank && event.timeStamp - at < PAIR_WITHIN && this.items.some((item) => item.key === rank + key);
      this.typed = { rank: "", at: 0 };
      if (exact) this.goto(rank + key);
      else this.seek((card) => suitOf(card) === key);
    } else return false;
    return true;
  }
}
