// @ts-check
/* The table page: what is drawn, what the server sends and what the person does, put together. */

/** @import { TableUpdate } from "../../../messages" */

import { get } from "../base/api.js";
import { newTable } from "../base/pages.js";
import { settings } from "../base/settings.js";
import { TableActions } from "./table_actions.js";
import { TableFeed } from "./table_feed.js";
import { TableInput } from "./table_input.js";
import { PageView } from "./page_view.js";

export class TablePage {
  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.path = `/api/tables/${encodeURIComponent(id)}`;
    this.closed = false;
    /** @type {TableFeed | null} */
    this.feed = null;
    /** @type {TableInput | null} */
    this.input = null;
    /** @type {TableActions | null} */
    this.actions = null;
    this.view = new PageView((action) => () => void this.actions?.[action](), (wish) => this.input?.send("speed", wish));
    this.root = this.view.root;
  }

  async open() {
    const state = newTable(this.id) ?? (/** @type {TableUpdate} */ (await get(this.path))).state;
    if (this.closed) return;
    const feed = new TableFeed(this.path, this.view, state, {
      settled: (shown) => {
        input.update(shown);
        actions.refreshHelp();
      },
      resting: (shown) => input.playForced(shown),
      ended: () => actions.scores(),
    });
    const input = new TableInput(feed);
    const actions = new TableActions(feed, input);
    Object.assign(this, { feed, input, actions });
    await feed.open();
    import("./scoreboard.js").catch(() => {}); // It will be asked for when the hand is over.
    if (settings.help === "on" && !state.watched) actions.toggleHelp(true);
  }

  close() {
    this.closed = true;
    this.feed?.close();
    this.input?.close();
    this.view.tableView.close();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    return this.actions?.key(event);
  }
}
