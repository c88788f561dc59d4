// @ts-check
/* What happens at a table, as the server sends it: events that arrive as long as the page is looked
   at. The browser asks again by itself when the line is lost. */

/** @import { TableUpdate } from "../../../messages" */

import { connected } from "./api.js";

export class Stream {
  /** `onanswer` gets what the server sends; `onend` is called when it has nothing to send here.
   * @param {string} path
   * @param {{ after: number, onanswer: (answer: TableUpdate) => void, onend: () => void }} options
   */
  constructor(path, { after, onanswer, onend }) {
    this.path = path;
    this.after = after;
    this.onanswer = onanswer;
    this.onend = onend;
    /** @type {EventSource | null} */
    this.source = null;
    this.look = () => (document.hidden ? this.pause() : this.begin());
    document.addEventListener("visibilitychange", this.look);
    this.look();
  }

  begin() {
    if (this.source) return;
    this.source = new EventSource(`${this.path}/events?after=${this.after}`);
    this.source.onopen = () => connected(true);
    this.source.onmessage = ({ data, lastEventId }) => {
      connected(true);
      this.after = Number(lastEventId);
      this.onanswer(JSON.parse(data));
    };
    this.source.onerror = () => {
      if (this.source?.readyState !== EventSource.CLOSED) return connected(false);
      this.pause(); // The server has answered, and not with events.
      this.onend();
    };
  }

  pause() {
    this.source?.close();
    this.source = null;
  }

  close() {
    document.removeEventListener("visibilitychange", this.look);
    this.pause();
  }
}
