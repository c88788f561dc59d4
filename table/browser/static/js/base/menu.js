// @ts-check
/* What the server offers: rule sets and players, asked for once. */

/** @import { AgentInfo, Menu, RulesText } from "../../../messages" */

import { get } from "./api.js";
import { attempt, dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { say } from "./words.js";

/** @type {Promise<Menu> | undefined} */
let asked;

/** The menu; when asking failed, the next call asks again. */
export function menu() {
  asked ??= /** @type {Promise<Menu>} */ (get("/api/menu")).catch((error) => {
    asked = undefined;
    throw error;
  });
  return asked;
}

const STRENGTH = ["random", "easy", "threshold", "medium", "counting", "hard", "champion"];
const FIRST = ["easy", "medium", "hard", "champion"];

/** Players as a person looks for them: the named ones from weak to strong, then the others.
 * @param {AgentInfo[]} agents
 */
export function orderedAgents(agents) {
  /** @param {string} name */
  const place = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : 10 + (STRENGTH.indexOf(name) + 20) % 20);
  return [...agents].sort((one, two) => place(one.name) - place(two.name));
}

/** Whether a player is one of those that are there to be played against.
 * @param {AgentInfo} agent
 */
export const isUsual = (agent) => FIRST.includes(agent.name);

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
  [["close", say("site.close"), "primary"]], { className: "reading" });
});
