// @ts-check
/* What the server offers: rule sets and players. */

/** @import { AgentInfo, Menu, RulesText } from "../../../messages" */

import { get } from "./api.js";
import { attempt, dialog } from "./dialogs.js";
import { byId, h } from "./dom.js";
import { label } from "./words.js";

/** What the server offers, which it writes into the page.
 * @returns {Menu}
 */
export const menu = () => JSON.parse(byId("menu").textContent);

/** Whether an agent plays a rule set.
 * @type {(agent: AgentInfo, rules: string) => boolean}
 */
export const plays = (agent, rules) => !agent.plays || agent.plays.includes(rules);

/** The rules of a set, in a dialog.
 * @param {string} name
 */
export const openRules = (name) => attempt(async () => {
  /** @type {RulesText} */
  const rules = await get(`/api/rules/${encodeURIComponent(name)}`);
  await dialog(rules.title, h("div", { class: "rules-text" },
    h("p", { class: "lead" }, rules.about),
    rules.text.map(([heading, paragraphs]) => [h("h3", {}, heading), paragraphs.map((text) => h("p", {}, text))])),
  [["close", label("site.close"), "primary"]], { className: "reading" });
});
