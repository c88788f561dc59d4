// @ts-check
/* What a person does at a table with the mouse, a finger or keys: cards are chosen, and sent. */

/** @import { TableState, TableUpdate } from "../../../messages" */
/** @import { Wish } from "../table_view/queue.js" */
/** @import { TableFeed } from "./table_feed.js" */

import { post, Refused, Unreachable } from "../base/api.js";
import { attempt, dialogOpen, toast } from "../base/dialogs.js";
import { pause } from "../base/dom.js";
import { settings } from "../base/settings.js";
import { sound } from "../base/sound.js";
import { cardOf, TAKE_HIDDEN, whyNot } from "../cards/names.js";
import { ExchangeBar } from "../table_view/exchange.js";
import { Picker } from "../table_view/picker.js";
import { REST } from "./table_feed.js";

const SEND_AGAIN = 1000;

export class TableInput {
  /** @param {TableFeed} feed */
  constructor(feed) {
    this.feed = feed;
    this.tableView = feed.view.tableView;
    /** @type {(action: number, card: string | null, wish: Wish) => void} */
    const onplay = (action, card, wish) => this.wish(action, card, wish);
    this.picker = new Picker(this.tableView, onplay);
    this.exchange = new ExchangeBar(onplay);
    this.tableView.root.append(this.exchange.root);
    /** @param {MouseEvent} event */
    this.onclick = (event) => {
      if (event.target instanceof Element && !event.target.closest(".hit, .exchange-bar")) feed.queue.elsewhere(event);
    };
    document.addEventListener("click", this.onclick, true);
  }

  close() {
    document.removeEventListener("click", this.onclick, true);
  }

  /** @param {TableState} state */
  update(state) {
    this.picker.update(state, this.feed.fresh);
    this.exchange.update(state);
  }

  /** Marks what a hint names.
   * @param {number} action
   */
  point(action) {
    this.exchange.point(action);
    this.picker.point(action === TAKE_HIDDEN ? "stock" : cardOf(action));
  }

  /** Plays a forced card, if the settings say so.
   * @param {TableState} state
   */
  async playForced(state) {
    const forced = settings.forced === "on" && state.turn === 0 && state.legal.length === 1 && !state.watched;
    if (!forced || state.phase === "choose" || dialogOpen()) return;
    await pause(REST[settings.motion]);
    const [action] = state.legal;
    if (this.feed.queue.move === state.move) this.play(action, cardOf(action), state.move);
  }

  /** @type {(card: string | null, text: string) => void} */
  refuse(card, text) {
    this.feed.queue.forget(); // Nothing came of it, so the next wish is one of its own.
    if (card) this.tableView.refuse(card);
    sound("refuse");
    toast(text);
  }

  /** A card was clicked or keyed: it is sent where it was meant for the decision that lies at rest.
   * @type {(action: number, card: string | null, wish: Wish) => void}
   */
  wish(action, card, wish) {
    const { state, queue } = this.feed;
    const move = queue.wish(wish);
    if (move === null || move !== state.move) return;
    if (state.turn !== 0 || state.left) this.refuse(card, `${state.texts.prompt}.`);
    else if (!state.legal.includes(action)) this.refuse(card, whyNot(state, action));
    else this.play(action, card, move);
  }

  /** @type {(action: number, card: string | null, move: number) => void} */
  play(action, card, move) {
    const { feed } = this;
    feed.fresh = null;
    feed.enqueue(async () => {
      if (card && feed.state.phase !== "choose") {
        this.picker.clear();
        feed.anticipate(card);
      }
      try {
        await feed.show(await this.sendPlay({ action, move }));
      } catch (error) {
        if (!(error instanceof Refused)) throw error;
        await feed.settle(error.answer.state ?? feed.state);
        this.refuse(card, error.message);
      }
    });
  }

  /** Sends a card until it is answered: sent twice for one decision, it is played once.
   * @param {{ action: number, move: number }} body
   * @returns {Promise<TableUpdate>}
   */
  async sendPlay(body) {
    for (;;) {
      try {
        return await post(`${this.feed.path}/play`, body);
      } catch (error) {
        if (!(error instanceof Unreachable) || this.feed.closed) throw error;
        await pause(SEND_AGAIN);
      }
    }
  }

  /** Asks the server for something that is not a card.
   * @type {(path: string, body?: object) => Promise<void>}
   */
  send(path, body) {
    const { feed } = this;
    return feed.enqueue(() => attempt(async () => feed.show(/** @type {TableUpdate} */ (await post(`${feed.path}/${path}`, body)))));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    return this.exchange.key(event) || this.picker.key(event);
  }
}
