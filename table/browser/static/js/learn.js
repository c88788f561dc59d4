/* Learn: a guided first hand, puzzles with a rating, the mistakes of one's own hands, and the rules. */

import { get, post } from "./api.js";
import { toast } from "./dialogs.js";
import { h, plural } from "./dom.js";
import { openRules } from "./menu.js";

const part = (title, text, ...more) => h("section", { class: "card-panel lesson" }, h("h2", {}, title), h("p", {}, text), ...more);

export class LearnPage {
  constructor() {
    this.puzzles = h("div", { class: "lesson-body" });
    this.own = h("div", { class: "lesson-body" });
    this.root = h("div", { class: "page learn" }, h("h1", { tabindex: "-1" }, "Learn"),
      part("A guided first hand", "Five tricks for the stock and five that count, with a word before each card: what the upcard is, why to lose on purpose, and what changes when the stock is gone.",
        h("div", { class: "lesson-buttons" }, h("button", { type: "button", class: "primary", onclick: () => this.begin() }, "Begin"),
          h("button", { type: "button", class: "quiet", onclick: () => openRules("classic") }, "Read the rules"))),
      part("Puzzles", "Endings in which one card alone wins or saves the hand, and tricks for the stock with one card that is clearly best.", this.puzzles),
      part("My mistakes", "Decisions of your own hands that surely cost something: the position again, without a clock.", this.own));
  }

  async open() {
    const [solver, mistakes] = await Promise.all([get("/api/puzzles"), get("/api/exercises")]);
    this.puzzles.replaceChildren(
      h("p", { class: "figures-line" }, h("b", {}, solver.rating), ` rating ± ${2 * solver.deviation} · `, h("b", {}, solver.solved), ` of ${plural(solver.tried, "puzzle")} solved · `,
        h("b", {}, solver.streak), ` in a row, ${solver.best_streak} at best · ${solver.puzzles} in the set`),
      h("div", { class: "lesson-buttons" }, h("a", { class: "button primary", href: "#/puzzles" }, "Solve puzzles"),
        h("a", { class: "button", href: "#/puzzles/endgame" }, "Endings only"), h("a", { class: "button", href: "#/puzzles/foreplay" }, "Foreplay only")));
    const left = mistakes.filter((each) => !each.solved);
    this.own.replaceChildren(
      h("p", { class: "figures-line" }, h("b", {}, left.length), ` of ${plural(mistakes.length, "mistake")} left to be put right`),
      left.length ? h("ul", { class: "hand-list" }, left.slice(0, 12).map((each) => h("li", {},
        h("a", { href: `#/exercise/${each.id}/${each.hand}/${each.decision}` }, h("b", {}, each.title),
          h("span", {}, `decision ${each.decision + 1}${each.solved === false ? ", tried before" : ""}`), h("small", {}, new Date(each.finished * 1000).toLocaleDateString())))))
        : h("p", { class: "faint" }, "Mistakes are found when a hand of yours is analysed, which its result and its replay do."));
  }

  close() {}

  async begin() {
    try {
      const { state } = await post("/api/tables", { lesson: true });
      location.hash = `#/table/${state.id}`;
    } catch (error) {
      toast(error.message);
    }
  }
}
