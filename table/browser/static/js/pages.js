/* The way to all pages from a table, and what can be done there besides playing cards. */

import { dialog } from "./dialogs.js";
import { h } from "./dom.js";

export const PAGES = [["#/", "Play"], ["#/watch", "Watch"], ["#/learn", "Learn"], ["#/replays", "Replays"], ["#/statistics", "Statistics"]];

/** Shows the pages and `[value, text]` actions; resolves with the value of the one that is chosen. */
export function openPages(actions) {
  return dialog("German Whist", h("div", { class: "pages-menu" },
    h("nav", { "aria-label": "Pages" }, PAGES.map(([href, text]) => h("a", { href }, text))),
    h("p", { class: "faint" }, "The table is kept: go on with it from the page Play."),
    h("div", { class: "menu-actions" }, actions.filter(Boolean).map(([value, text]) => h("button", { value }, text)))),
  [h("button", { class: "primary", value: "close" }, "Back to the table")]);
}
