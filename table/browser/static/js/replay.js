/* The replay page: fetches a hand and its analysis, and shows them in a `ReplayView`. */

import { get, Refused } from "./api.js";
import { toast } from "./dialogs.js";
import { h, pause } from "./dom.js";
import { icon } from "./icons.js";
import { ReplayView } from "./replay_view.js";
import { feltOptions, onchange, openSettings } from "./settings.js";

const ASK_EVERY = 700;

export class ReplayPage {
  constructor(id, hand, step) {
    this.address = `#/replay/${id}/${hand}`;
    this.first = step;
    this.path = `/api/replays/${encodeURIComponent(id)}/${hand}`;
    this.title = h("h1", { tabindex: "-1" }, "Replay");
    this.place = h("div", { class: "replay-place" });
    const named = (name, text, onclick) => h("button", { type: "button", class: "tool", title: text, "aria-label": text, onclick }, icon(name));
    this.root = h("div", { class: "table-page replay-page" },
      h("header", { class: "table-bar" }, h("a", { href: "#/replays", class: "tool", title: "Replays", "aria-label": "Replays" }, icon("back")), this.title,
        h("div", { class: "tools" }, named("link", "Copy a link to this step", () => this.share()), h("a", { class: "save", href: `${this.path}/file`, download: "" }, "Save as a page"),
          named("settings", "Settings (,)", openSettings), named("keys", "Keys (?)", () => this.onkeys?.()))),
      this.place);
  }

  async open() {
    const replay = await get(this.path);
    this.title.replaceChildren(replay.players.join(" and "), h("small", {}, `${replay.rules} · ${replay.result.text}`));
    this.view = new ReplayView(replay, { ready: false, done: 0 }, { felt: feltOptions, first: this.first, onstep: (step) => this.note(step) });
    this.place.replaceChildren(this.view.root);
    this.stop = onchange(() => this.view.go(this.view.at, true));
    await this.analyse();
  }

  /* The address always leads to the step that is shown. */
  note(step) {
    history.replaceState(null, "", step ? `${this.address}/${step}` : this.address);
  }

  async share() {
    const link = location.href;
    try {
      await navigator.clipboard.writeText(link);
      toast("The link to this step is copied. Others can open it where the table may be reached and the hand is theirs.", "hint");
    } catch {
      toast(link, "hint");
    }
  }

  async analyse() {
    while (!this.closed) {
      try {
        const analysis = await get(`${this.path}/analysis`);
        if (this.closed) return;
        this.view.setAnalysis(analysis);
        if (analysis.ready) {
          this.view.go(this.view.at, true);
          return;
        }
      } catch (error) {
        if (error instanceof Refused && error.status !== 429) {
          this.view.setAnalysis(null);
          toast(error.message);
          return;
        }
      }
      await pause(ASK_EVERY);
    }
  }

  close() {
    this.closed = true;
    this.stop?.();
    this.view?.close();
  }

  key(event) {
    if (event.key === ",") return openSettings() ?? true;
    return this.view?.key(event);
  }
}
