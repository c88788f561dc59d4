// @ts-check
/* The table page as it is drawn from a state: the bar, the felt with its plates, the guide and help. */

/** @import { SpeedRequest, TableState } from "../../../messages" */

import { toast } from "../base/dialogs.js";
import { h } from "../base/dom.js";
import { tool } from "../base/icons.js";
import { feltOptions, openSettings } from "../base/settings.js";
import { say } from "../base/words.js";
import { Felt } from "../felt/felt.js";
import { Plates } from "../felt/plates.js";
import { WatchBar } from "../felt/watchbar.js";
import { HelpPanel } from "./help.js";

/** Whether the person may take a card back now.
 * @param {TableState} state
 */
export const mayTakeBack = ({ watched, phase, left }) => !watched && phase !== "over" && !left;

export class TableView {
  /**
   * @param {(action: "hint" | "toggleHelp" | "takeBack" | "scores" | "openMenu" | "rules") => () => void} on
   * @param {(wish: SpeedRequest) => void} onspeed
   */
  constructor(on, onspeed) {
    this.felt = new Felt(feltOptions);
    this.plates = new Plates(this.felt);
    this.help = new HelpPanel({ onclose: on("toggleHelp"), onhint: on("hint") });
    this.watch = new WatchBar(onspeed);
    this.title = h("h1", { tabindex: "-1" });
    this.told = h("section", { class: "sr-only", "aria-label": say("site.table_in_words") });
    this.guide = h("aside", { class: "guide", "aria-label": say("table.know"), "aria-live": "polite", hidden: true });
    this.advice = { move: -1, text: "" };
    this.hintTool = tool("hint", say("table.hint"), on("hint"));
    this.seenTool = tool("seen", say("table.seen"), on("toggleHelp"), { "aria-pressed": "false" });
    this.backTool = tool("undo", say("table.take_back"), on("takeBack"));
    this.again = h("button", { type: "button", class: "after-hand", hidden: true, onclick: on("scores") }, say("table.show_score"));
    this.felt.root.append(this.again, this.watch.root);
    this.root = h("div", { class: "table-page" },
      h("header", { class: "table-bar" },
        tool("menu", say("table.menu"), on("openMenu")), this.title,
        h("div", { class: "tools" }, this.backTool, this.hintTool, this.seenTool,
          tool("rules", say("site.rules"), on("rules"), { "data-menu": true }), tool("settings", say("site.settings_tool"), openSettings, { "data-menu": true }))),
      this.told, this.guide, h("div", { class: "table-main" }, this.felt.root, this.help.root));
  }

  /** @param {TableState} state */
  render(state) {
    const { match, said, watched } = state;
    const parts = [said.match, match.kind === "single" ? "" : say("table.hand", { n: match.hand }), state.rated || watched ? "" : say("table.not_rated")];
    this.title.replaceChildren(state.lesson ? say("table.first_hand") : state.rules_title, h("small", {}, parts.filter(Boolean).join(" · ")));
    document.title = say("site.page", { page: said.prompt });
    this.plates.update(state);
    this.told.replaceChildren(...said.table.map((text) => h("p", {}, text)));
    this.showGuide(this.advice.move === state.move ? [this.advice.text] : said.guide);
    this.hintTool.hidden = this.seenTool.hidden = watched;
    this.backTool.hidden = !mayTakeBack(state);
    this.hintTool.disabled = state.turn !== 0;
    this.again.hidden = state.phase !== "over" || (watched && !match.over);
    this.watch.root.hidden = !watched;
    this.watch.update(state.speed);
    const warning = state.trouble ?? state.notice;
    if (warning) toast(warning);
  }

  /** @param {string[]} texts */
  showGuide(texts) {
    this.guide.hidden = !texts.length;
    this.guide.replaceChildren(...texts.map((text) => h("p", {}, text)));
  }

  /** A hint above the felt, until its decision is made.
   * @type {(move: number, text: string) => void}
   */
  advise(move, text) {
    this.advice = { move, text };
    this.showGuide([text]);
  }

  /** @param {boolean} on */
  showHelp(on) {
    this.help.root.hidden = !on;
    this.seenTool.setAttribute("aria-pressed", String(on));
  }
}
