// @ts-check
/* Dialogs, the toast for refusals, and what screen readers announce. */

/** @import { Child } from "./dom.js" */

import { byId, h, keepFocus } from "./dom.js";
import { LABELS, label } from "./words.js";

/** A modal dialog with a title; buttons close it. Resolves with the value of the one that was pressed.
 * @param {string} title
 * @param {Child} body
 * @param {([value: string, text: string, kind?: string] | null)[]} buttons
 * @returns {Promise<string>}
 */
export function dialog(title, body, buttons, { className = "" } = {}) {
  const heading = h("h2", { id: "dialog-title", tabindex: "-1" }, title);
  const content = h("div", { class: "dialog-body" }, body);
  if (!content.querySelector("input, button, a")) {
    // What can only be read is scrolled by keys when it has the focus.
    for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-labelledby", "dialog-title"]]) content.setAttribute(name, value);
  }
  const form = h("form", { method: "dialog" }, h("header", {}, heading), content, h("footer", {}, buttons.map((button) => button && h("button", { value: button[0], class: button[2] }, button[1]))));
  const element = h("dialog", { class: className, "aria-labelledby": "dialog-title" }, form);
  element.addEventListener("click", (event) => event.target === element && element.close());
  document.body.append(element);
  element.showModal();
  (/** @type {HTMLElement | null} */ (element.querySelector("footer .primary")) ?? heading).focus();
  return new Promise((done) => element.addEventListener("close", () => {
    element.remove();
    keepFocus(); // The cards that had it may be gone, as those of a hand that is over.
    done(element.returnValue);
  }));
}

export function dialogOpen() {
  return Boolean(document.querySelector("dialog[open]"));
}

/** @type {number | undefined} */
let leaving;

/** A sentence that stays for some seconds; it is spoken at once.
 * @param {string} text
 */
export function toast(text, kind = "refusal") {
  const place = byId("toast");
  place.textContent = text;
  place.className = `toast shown ${kind}`;
  clearTimeout(leaving);
  leaving = setTimeout(() => (place.className = `toast ${kind}`), 4200);
}

/** Hides a toast whose sentence is no longer true. */
export const hideToast = () => byId("toast").classList.remove("shown");

/** What went wrong, as a sentence.
 * @param {unknown} error
 */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/** Does what may be refused; why it was is shown in a toast.
 * @param {() => unknown} task
 */
export async function attempt(task) {
  try {
    await task();
  } catch (error) {
    toast(messageOf(error));
  }
}

/** Announced by screen readers when they have finished speaking.
 * @param {string} text
 */
export function announce(text) {
  if (!text) return;
  const place = byId("spoken");
  place.append(h("p", {}, text));
  while (place.children.length > 6) place.firstChild?.remove();
}

/** @param {[string[], string][]} rows */
const keyTable = (rows) => h("dl", { class: "keys" }, rows.map(([keys, text]) =>
  h("div", {}, h("dt", {}, keys.map((key) => (key === "…" ? " … " : h("kbd", {}, key)))), h("dd", {}, text))));

export function openKeys() {
  if (dialogOpen()) return;
  dialog(label("site.keys"), [h("h3", {}, label("keys.at_table")), keyTable(/** @type {[string[], string][]} */ (LABELS.keys.table)), h("h3", {}, label("keys.in_replay")), keyTable(/** @type {[string[], string][]} */ (LABELS.keys.replay))],
    [["close", label("site.close"), "primary"]]);
}
