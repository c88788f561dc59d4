// @ts-check
/* The replay page: fetches a hand and its analysis, and shows them in a `ReplayView`. */

/** @import { Replay, Step } from "../../../messages" */

import { analysisOf, get } from "../base/api.js";
import { dialog, messageOf, openKeys, toast } from "../base/dialogs.js";
import { button, faint, h } from "../base/dom.js";
import { show, tool } from "../base/icons.js";
import { menu, plays } from "../base/menu.js";
import { sitDown } from "../base/pages.js";
import { tableViewOptions, onchange, openSettings } from "../base/settings.js";
import { capital, listed, label, TOUCH } from "../base/words.js";
import { ReplayView } from "./replay_view.js";

/** The page of a finished hand, with a step to begin at.
 * @type {(id: string, hand: string, step?: string) => Promise<ReplayPage>}
 */
export async function replayPage(id, hand, step = "0") {
  const path = `/api/replays/${encodeURIComponent(id)}/${hand}`;
  return new ReplayPage(id, hand, Number(step), path, await get(path));
}

class ReplayPage {
  /**
   * @param {string} id
   * @param {string} hand
   * @param {number} first
   * @param {string} path
   * @param {Replay} replay
   */
  constructor(id, hand, first, path, replay) {
    this.id = id;
    this.hand = hand;
    this.address = `#/replay/${id}/${hand}`;
    this.path = path;
    this.closed = false;
    const changed = id.includes("~"), names = capital(listed(replay.players));
    this.goOn = button(() => this.playOn(), "small", label("replay.go_on"));
    this.view = new ReplayView(replay, { ready: false, done: 0 }, {
      tableView: tableViewOptions, first, onstep: (step) => this.closed || this.note(step), onchoose: (step, action) => this.whatIf(step, action),
      actions: h("p", { class: "replay-actions wrap" }, this.goOn, changed ? h("a", { class: "button small", href: this.address.replace(/~[^/]+/, "") }, label("replay.back")) : ""),
    });
    this.stop = onchange(() => this.view.go(this.view.at, true));
    /** @type {(name: string, text: string, properties: Record<string, string>) => HTMLElement} */
    const link = (name, text, properties) => show(h("a", { class: "tool", ...properties }), name, text);
    this.root = h("div", { class: "table-page replay-page" },
      h("header", { class: "table-bar row" }, link("back", label("site.replays"), { href: "#/replays" }),
        h("h1", { tabindex: "-1" }, changed ? label("replay.what_if_title", { names }) : names, h("small", {}, `${replay.rules} · ${replay.result.text}`)),
        h("div", { class: "tools" }, link("save", label("replay.save"), { href: `${path}/file`, download: "" }),
          tool("settings", label("site.settings_tool"), openSettings), TOUCH ? null : tool("keys", label("site.keys_tool"), openKeys))),
      h("div", { class: "replay-place" }, this.view.root));
  }

  async open() {
    get(`${this.path}/networks`).then((review) => this.closed || this.view.setNetworks(review), (error) => this.closed || toast(messageOf(error)));
    try {
      await analysisOf(this.path, () => !this.closed, (part) => this.view.setAnalysis(part));
      if (!this.closed) this.view.go(this.view.at, true);
    } catch (error) {
      this.view.setAnalysis(null);
      toast(messageOf(error));
    }
  }

  /* The address always leads to the step that is shown, unless another page was asked for meanwhile. */
  /** @param {number} step */
  note(step) {
    this.goOn.disabled = !this.view.replay.steps[step];
    if (`${location.hash}/`.startsWith(`${this.address}/`)) history.replaceState(null, "", step ? `${this.address}/${step}` : this.address);
  }

  /* The same hand with another card; what was tried after this decision belongs to the old line. */
  /** @type {(step: Step, action: number) => void} */
  whatIf({ n }, action) {
    const [played, ...changes] = this.id.split("~");
    const kept = changes.filter((change) => parseInt(change, 10) < n);
    location.hash = `#/replay/${[played, ...kept, `${n}.${action}`].join("~")}/${this.hand}/${n + 1}`;
  }

  async playOn() {
    const { replay, at } = this.view, { who } = replay.steps[at];
    const agents = menu().agents.filter((agent) => plays(agent, replay.rules));
    const opponent = h("select", { id: "go-on-against" }, agents.map(({ name, title }) => h("option", { value: name, selected: name === "medium" }, title)));
    const wish = await dialog(label("replay.go_on"), [h("p", {}, label("replay.go_on_about", { name: replay.players[who] })),
      h("div", { class: "field" }, h("label", { for: "go-on-against" }, label("lobby.opponent")), opponent)],
    [["no", label("site.close"), "quiet"], ["go", label("lobby.deal"), "primary"]]);
    if (wish === "go") await sitDown({ opponent: opponent.value, replayed_from: { id: this.id, hand: Number(this.hand), swapped: who === 1, decision: at } });
  }

  close() {
    this.closed = true;
    this.stop();
    this.view.close();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key !== ",") return this.view.key(event);
    openSettings();
    return true;
  }
}
