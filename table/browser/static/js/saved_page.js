// @ts-check
/* A replay saved as a file: the hand and its analysis stand in the page itself, as JSON. */

/** @import { Analysis, Replay } from "../../messages" */

import { byId, h } from "./base/dom.js";
import { listed } from "./base/words.js";
import { ReplayView } from "./review/replay_view.js";

/** @type {{ replay: Replay, analysis: Analysis | null, seat: "both" | 0 | 1, notes: string[] }} */
const saved = JSON.parse(byId("hand").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const calm = matchMedia("(prefers-reduced-motion: reduce)");
const page = document.documentElement.dataset;

function dress() {
  page.theme = dark.matches ? "dark" : "light";
  page.motion = calm.matches ? "none" : "normal";
}

dress();
dark.addEventListener("change", dress);
calm.addEventListener("change", dress);

/** @type {() => import("./base/settings.js").TableViewOptions} */
const tableView = () => ({ cards: "modern", order: "alternating", rows: "one", speed: calm.matches ? "none" : "normal" });
const view = new ReplayView(saved.replay, saved.analysis, { tableView });
const about = [saved.replay.rules, saved.replay.result.text, ...saved.notes].join(" · ");
document.body.append(
  h("main", { class: "table-page replay-page" },
    h("header", { class: "table-bar" }, h("h1", {}, listed(saved.replay.players), h("small", {}, about))),
    h("div", { class: "replay-place" }, view.root)));
if (saved.seat !== "both") view.look(String(saved.seat));

addEventListener("keydown", (event) => {
  const own = `input, select${event.key === " " || event.key === "Enter" ? ", button" : ""}`;
  if (event.ctrlKey || event.altKey || event.metaKey || (event.target instanceof Element && event.target.matches(own))) return;
  if (view.key(event)) event.preventDefault();
});
