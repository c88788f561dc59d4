// @ts-check
/* The way to all pages from a table, to a new table, and what can be done there besides playing cards. */

/** @import { TableRequest, TableState, TableUpdate } from "../../../messages" */

import { post } from "./api.js";
import { dialog, hideToast, messageOf, toast } from "./dialogs.js";
import { faint, h } from "./dom.js";
import { label } from "./words.js";

const PATIENCE = 1500;
const PAGES = { play: "#/", watch: "#/watch", learn: "#/learn", replays: "#/replays", statistics: "#/statistics" };

/** A link to each page. */
export const pageLinks = () =>
  Object.entries(PAGES).map(([name, href]) => h("a", { href, "data-page": name === "play" ? "lobby" : name }, label(`site.${name}`)));

/** @type {TableState | undefined} */
let made;

/** The state of a table that was made just now, which its page need not ask for.
 * @param {string} id
 */
export function newTable(id) {
  const state = made?.id === id ? made : undefined;
  made = undefined;
  return state;
}

/** Makes a table and goes there; whether there is one.
 * @param {TableRequest} wish
 */
export async function sitDown(wish) {
  const patience = setTimeout(() => toast(label("lobby.first_table"), "hint"), PATIENCE);
  try {
    /** @type {TableUpdate} */
    const { state } = await post("/api/tables", wish);
    made = state;
    hideToast();
    location.hash = `#/table/${state.id}`;
    return true;
  } catch (error) {
    toast(messageOf(error));
    return false;
  } finally {
    clearTimeout(patience);
  }
}

/** Shows the pages and `[value, text]` actions; resolves with the value of the one that is chosen.
 * @param {([string, string] | null)[]} actions
 */
export function openPages(actions) {
  return dialog(label("site.title"), h("div", { class: "pages-menu parts" },
    h("nav", { "aria-label": label("site.pages") }, pageLinks()),
    faint(label("table.kept")),
    h("div", { class: "menu-actions wrap" }, actions.filter((action) => action !== null).map(([value, text]) => h("button", { value }, text)))),
  [["close", label("table.back"), "primary"]]);
}
