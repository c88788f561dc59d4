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

const USUAL = ["easy", "medium", "hard", "champion"];

/** Whether a player is one of those that are there to be played against.
 * @param {AgentInfo} agent
 */
export const isUsual = (agent) => USUAL.includes(agent.name);

/** Players from weak to strong, those without a rating last.
 * @param {AgentInfo[]} agents
 */
export const orderedAgents = (agents) => [...agents].sort((one, two) => (one.strength ?? 1e6) - (two.strength ?? 1e6));

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
