// @ts-check
/* The table page as it is drawn from a state: the bar, the table with its plates, the guide and help. */

/** @import { SpeedRequest, TableState } from "../../../messages" */

import { toast } from "../base/dialogs.js";
import { button, h } from "../base/dom.js";
import { tool } from "../base/icons.js";
import { sitDown } from "../base/pages.js";
import { tableViewOptions, openSettings } from "../base/settings.js";
import { LABELS, label } from "../base/words.js";
import { TableView } from "../table_view/table_view.js";
import { Plates } from "../table_view/plates.js";
import { WatchBar } from "../table_view/watchbar.js";
import { HelpPanel } from "./help.js";

/* Milliseconds before an agent that still thinks may be left. */
const PATIENCE = 61_000;

/** Whether the person may take a card back now.
 * @param {TableState} state
 */
export const mayTakeBack = ({ watched, phase, left }) => !watched && phase !== "over" && !left;

/** After a lesson: the next one, or a hand that counts, and the same again.
 * @param {number} lesson
 */
function lessonEnd(lesson) {
  const next = LABELS.learn.lessons[lesson];
  return h("p", { class: "wrap" },
    next ? button(() => sitDown({ lesson: lesson + 1 }), "primary small", label("learn.next", { title: next[0] }))
      : button(() => sitDown({ opponent: "easy" }), "primary small", label("learn.play_easy")),
    button(() => sitDown({ lesson }), "small", label("score.again")));
}

export class PageView {
  /**
   * @param {(action: "hint" | "toggleHelp" | "takeBack" | "scores" | "openMenu" | "rules" | "leave") => () => void} on
   * @param {(wish: SpeedRequest) => void} onspeed
   */
  constructor(on, onspeed) {
    this.tableView = new TableView(tableViewOptions);
    this.plates = new Plates(this.tableView);
    this.help = new HelpPanel({ onclose: on("toggleHelp"), onhint: on("hint") });
    this.watch = new WatchBar(onspeed);
    this.title = h("h1", { tabindex: "-1" });
    this.description = h("section", { class: "sr-only", "aria-label": label("site.table_in_words") });
    this.guide = h("aside", { class: "guide", "aria-label": label("table.know"), "aria-live": "polite", tabindex: "0", hidden: true });
    this.takeBack = on("takeBack");
    /** @type {number | undefined} */
    this.patience = undefined;
    this.hintTool = tool("hint", label("table.hint"), on("hint"));
    this.seenTool = tool("seen", label("table.seen"), on("toggleHelp"), { "aria-pressed": "false" });
    this.backTool = tool("undo", label("table.take_back"), on("takeBack"));
    this.again = button(on("scores"), "after-hand", label("table.show_score"));
    this.leave = button(on("leave"), "after-hand", label("table.leave"));
    this.tableView.root.append(this.again, this.leave, this.watch.root);
    this.root = h("div", { class: "table-page" },
      h("header", { class: "table-bar row" },
        tool("menu", label("table.menu"), on("openMenu")), this.title,
        h("div", { class: "tools" }, this.backTool, this.hintTool, this.seenTool,
          tool("rules", label("site.rules"), on("rules"), { "data-menu": true }), tool("settings", label("site.settings_tool"), openSettings, { "data-menu": true }))),
      this.description, h("div", { class: "table-main" }, this.guide, this.tableView.root, this.help.root));
  }

  /** @param {TableState} state */
  render(state) {
    const { match, texts, watched, memory } = state;
    const parts = [texts.match, memory ? label("lobby.memory") : "", match.kind === "single" ? "" : label("table.hand", { n: match.hand }), state.rated || watched ? "" : label("table.not_rated")];
    this.title.replaceChildren(state.lesson ? LABELS.learn.lessons[state.lesson - 1][0] : state.rules_title, h("small", {}, parts.filter(Boolean).join(" · ")));
    document.title = label("site.page", { page: texts.prompt });
    this.plates.update(state);
    this.description.replaceChildren(...texts.table.map((text) => h("p", {}, text)));
    this.showGuide(state);
    this.hintTool.hidden = watched;
    this.seenTool.hidden = watched || memory;
    this.backTool.hidden = !mayTakeBack(state);
    this.hintTool.disabled = state.turn !== 0 || state.left;
    this.again.hidden = state.phase !== "over" || (watched && !match.over);
    this.watch.root.hidden = !watched;
    this.watch.update(state.speed);
    clearTimeout(this.patience);
    const [, name] = state.names;
    // An agent that failed, or thinks for too long, can be left without a loss.
    this.leave.hidden = !state.trouble || state.left;
    if (state.thinking) this.patience = setTimeout(() => {
      if (!this.root.isConnected) return;
      this.leave.hidden = false;
      toast(label("table.thinks_on", { name }), "hint");
    }, PATIENCE);
    const warning = state.trouble ?? state.notice;
    if (warning) toast(warning);
  }

  /* What the coach says, and how to take a wrong card back. */
  /** @param {TableState} state */
  showGuide({ texts: { guide }, lesson, phase }) {
    this.guide.hidden = !guide;
    if (!guide) return;
    const [first, ...others] = guide.text.map((text) => h("p", {}, text));
    if (guide.wrong) first.classList.add("wrong");
    this.guide.replaceChildren(first, guide.wrong && phase !== "over" ? button(this.takeBack, "small", label("table.take_it_back")) : "", ...others,
      lesson && phase === "over" ? lessonEnd(lesson) : "");
    this.guide.scrollTop = 0;
  }

  /** @param {boolean} on */
  showHelp(on) {
    if (this.help.root.contains(document.activeElement)) this.seenTool.focus();
    this.help.root.hidden = !on;
    this.seenTool.setAttribute("aria-pressed", String(on));
  }
}
