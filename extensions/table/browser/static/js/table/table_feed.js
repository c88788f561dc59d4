// @ts-check
/* A table's state as the server sends it, shown event by event: one answer after the other. */

/** @import { TableEvent, TableState, TableUpdate } from "../../../messages" */
/** @import { PageView } from "./page_view.js" */

import { get, Refused } from "../base/api.js";
import { announce, toast } from "../base/dialogs.js";
import { pause } from "../base/dom.js";
import { onchange, settings } from "../base/settings.js";
import { sound } from "../base/sound.js";
import { Stream } from "../base/stream.js";
import { Queue } from "../table_view/queue.js";
import { after, EMPTY, played, sceneOf } from "../table_view/scene.js";

const ASK_AGAIN = 1000;
const STOCK_GONE = { normal: 1400, fast: 700, none: 0 };
/* How long a trick lies before it is taken, so that both cards are seen. */
export const REST = { normal: 480, fast: 150, none: 0 };
const QUIET = ["hand_over", "match_over"];
/* What moves together with what happened before it: a trick is taken and cards are drawn in one go. */
const TOGETHER = ["drew", "turned"];

export class TableFeed {
  /**
   * @param {string} path
   * @param {PageView} view
   * @param {TableState} state
   * @param {Record<"settled" | "resting" | "ended", (state: TableState) => unknown>} on
   */
  constructor(path, view, state, on) {
    this.path = path;
    this.view = view;
    this.state = state;
    this.on = on;
    this.scene = EMPTY;
    /** @type {string | null} The card that the person drew last. */
    this.fresh = null;
    this.closed = false;
    this.queue = new Queue({ busy: () => delete view.tableView.root.dataset.move, hurry: () => view.tableView.finish() });
    this.stop = onchange(() => this.enqueue(() => this.settle(this.state, true)));
    /** @type {Stream | null} */
    this.stream = null;
  }

  async open() {
    await this.queue.push(() => this.settle(this.state, true));
    this.rested();
    if (!this.closed) this.stream = new Stream(this.path, {
      after: this.state.n, onanswer: (answer) => this.enqueue(() => this.show(answer)), onend: () => this.gone(),
    });
  }

  close() {
    this.closed = true;
    this.stream?.close();
    this.stop();
  }

  /* The stream ended: the table is gone, or the server is for a while. */
  async gone() {
    try {
      await get(this.path);
      await pause(ASK_AGAIN); // It was refused, as where too many pages listen.
      if (!this.closed) this.stream?.look();
    } catch (error) {
      if (error instanceof Refused) toast(error.message);
      else setTimeout(() => !this.closed && this.gone(), ASK_AGAIN);
    }
  }

  /** Does a thing after all others, and asks for the decision that is then there.
   * @param {() => unknown} task
   */
  async enqueue(task) {
    await this.queue.push(task);
    await this.rested();
  }

  /** Puts the page in the state that the server sent, at rest.
   * @param {TableState} state
   */
  async settle(state, still = false) {
    const { tableView, help } = this.view;
    const dealt = this.state.match.hand !== state.match.hand;
    if (this.state.move !== state.move) help.clearHint();
    this.state = state;
    this.scene = sceneOf(state);
    this.view.render(state);
    await tableView.show(this.scene, { still: still || this.queue.hurried, stagger: dealt && !still ? 14 : 0 });
    if (!this.closed && this.state === state) this.on.settled(state);
  }

  /* Once nothing moves any more, and the hand that played has let go, the decision is asked for. */
  async rested() {
    const { state, queue } = this;
    if (queue.waiting || this.closed) return;
    queue.move = state.move;
    await pause(queue.ready);
    if (queue.move !== state.move || this.state !== state || this.closed) return;
    this.view.tableView.root.dataset.move = String(state.move);
    this.on.resting(state);
  }

  /** Shows an answer, unless another way has brought it before: what is posted is sent by the stream too.
   * @param {TableUpdate} answer
   */
  async show({ state, events }) {
    if (this.closed || state.n < this.state.n || (state.n === this.state.n && state.move === this.state.move)) return;
    for (const [place, event] of events.entries()) {
      if (event.n <= this.state.n || this.closed) continue;
      if (!QUIET.includes(event.kind)) announce(event.text); // The dialog announces the result.
      await this.happen(event, state, events[place + 1]);
    }
    const ended = this.state.phase !== "over" && state.phase === "over";
    await this.settle(state);
    if (ended && (!state.watched || state.match.over || state.match.kind === "single")) this.ended(state);
  }

  /** @type {(event: TableEvent, state: TableState, following?: TableEvent) => Promise<void>} */
  async happen(event, state, following) {
    const { queue, view } = this;
    const next = after(this.scene, event);
    if (event.kind === "stock_gone") {
      view.plates.showPrompt(event.text);
      await queue.pause(STOCK_GONE[settings.motion]);
    }
    if (event.kind === "drew" && event.who === 0) this.fresh = event.card;
    if (!next) return;
    if (event.kind === "won") {
      // Where the winner has to choose, the trick lies until that is done.
      if (state.phase === "choose") return;
      view.plates.showPrompt(event.text);
      await queue.pause(REST[settings.motion]);
      sound(event.who === 0 ? "won" : "lost");
    } else {
      sound(event.kind === "drew" ? "draw" : "card");
    }
    const moved = next !== this.scene;
    this.scene = next;
    if (moved && !TOGETHER.includes(following?.kind ?? "")) await view.tableView.show(next, { still: queue.hurried });
  }

  /** Shows the person's own card at once, before the server has answered.
   * @param {string} card
   */
  anticipate(card) {
    this.scene = played(this.scene, 0, card);
    this.view.plates.showPrompt(this.state.texts.answer);
    sound("card");
    this.view.tableView.show(this.scene);
  }

  /** @param {TableState} state */
  async ended(state) {
    sound(state.match.over && state.match.kind !== "single" ? "match" : "hand");
    await pause(REST[settings.motion] * 1.5);
    if (!this.closed && this.state === state && !state.lesson) this.on.ended(state);
  }
}
