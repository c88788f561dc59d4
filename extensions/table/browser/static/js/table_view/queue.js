// @ts-check
/* What happens on a table, one thing after the other. Every wish of a person belongs to the decision
   that lay at rest when the hand went down; one that was meant for another decision, or is the second
   half of a double click, only hastens what is under way. */

import { pause } from "../base/dom.js";

/**
 * What a person did: when, where on the page, and whether with a key.
 * @typedef {{ now: number, x?: number, y?: number, key?: boolean }} Wish
 */

const SAME_GESTURE = 400;
const SAME_PLACE = 30;

export class Queue {
  /** `busy` is called whenever the decision that is shown is no more at rest, `hurry` to end all moves.
   * @param {{ busy: () => void, hurry: () => void }} on
   */
  constructor(on) {
    this.on = on;
    /** @type {Promise<void>} */
    this.tail = Promise.resolve();
    this.waiting = 0;
    /** @type {number | null} The decision that is asked for, while the cards lie still. */
    this.move = null;
    this.hurried = false;
    this.endPause = () => {};
    /** @type {{ at: number, x?: number, y?: number }} */
    this.last = { at: -Infinity };
  }

  /** Does a thing after all others; no decision is at rest until it is done.
   * @param {() => unknown} task
   */
  push(task) {
    this.waiting += 1;
    this.move = null;
    this.on.busy();
    this.tail = this.tail.then(task).catch((error) => console.error(error)).then(() => {
      this.waiting -= 1;
      if (!this.waiting) this.hurried = false;
    });
    return this.tail;
  }

  /** Waits, unless what is under way is hastened.
   * @param {number} milliseconds
   */
  async pause(milliseconds) {
    if (!this.hurried) await Promise.race([pause(milliseconds), new Promise((done) => { this.endPause = () => done(null); })]);
  }

  /** Lets what is under way arrive at once. */
  hurry() {
    if (!this.waiting) return;
    this.hurried = true;
    this.endPause();
    this.on.hurry();
  }

  /** The decision that a wish is meant for, or null when it is meant for none that is shown.
   * @param {Wish} wish
   */
  wish({ now, x = 0, y = 0, key = false }) {
    const { last } = this;
    const near = last.x === undefined || last.y === undefined || Math.hypot(last.x - x, last.y - y) < SAME_PLACE;
    const same = !key && near && now - last.at < SAME_GESTURE;
    this.last = { at: now };
    if (this.move === null) this.hurry();
    return same ? null : this.move;
  }

  /** Something beside the cards was clicked: a card that lies there then is not meant by a second
      click, and one that lies elsewhere is.
   * @param {MouseEvent} event
   */
  elsewhere({ timeStamp, clientX, clientY }) {
    this.last = { at: timeStamp, x: clientX, y: clientY };
    this.hurry();
  }

  /** What was wished last had no effect. */
  forget() {
    this.last = { at: -Infinity };
  }

  /** When the next wish counts as one of its own. */
  get ready() {
    return Math.max(0, this.last.at + SAME_GESTURE - performance.now());
  }
}
