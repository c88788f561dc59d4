// @ts-check
/* Learn: a guided first hand, puzzles with a rating, the mistakes of one's own hands, and the rules. */

/** @import { Exercise, PuzzleStats } from "../../../messages" */
/** @import { Child } from "../base/dom.js" */

import { get } from "../base/api.js";
import { button, faint, h } from "../base/dom.js";
import { openRules } from "../base/menu.js";
import { sitDown } from "../base/pages.js";
import { say } from "../base/words.js";

/** @type {(title: string, text: string, ...more: Child[]) => HTMLElement} */
const part = (title, text, ...more) => h("section", { class: "card-panel lesson" }, h("h2", {}, title), h("p", {}, text), ...more);

export class LearnPage {
  constructor() {
    this.puzzles = h("div", { class: "lesson-body" });
    this.own = h("div", { class: "lesson-body" });
    this.root = h("div", { class: "page learn" }, h("h1", { tabindex: "-1" }, say("site.learn")),
      part(say("learn.first"), say("learn.first_about"),
        h("div", { class: "lesson-buttons" }, button(() => sitDown({ lesson: true }), "primary", say("learn.begin")),
          button(() => openRules("classic"), "quiet", say("lobby.read_rules")))),
      part(say("learn.puzzles"), say("learn.puzzles_about"), this.puzzles),
      part(say("learn.mistakes"), say("learn.mistakes_about"), this.own));
  }

  async open() {
    /** @type {[PuzzleStats, Exercise[]]} */
    const [solver, mistakes] = await Promise.all([get("/api/puzzles"), get("/api/exercises")]);
    this.puzzles.replaceChildren(
      h("p", { class: "figures-line" }, h("b", {}, solver.rating), " ", [
        say("learn.rating", { n: 2 * solver.deviation }), say("learn.solved", { solved: solver.solved, n: solver.tried }),
        say("learn.streak", { n: solver.streak, best: solver.best_streak }), say("learn.in_set", { n: solver.puzzles })].join(" · ")),
      h("div", { class: "lesson-buttons" }, h("a", { class: "button primary", href: "#/puzzles" }, say("learn.solve")),
        h("a", { class: "button", href: "#/puzzles/day" }, say("learn.day")),
        h("a", { class: "button", href: "#/puzzles/endgame" }, say("learn.endings")), h("a", { class: "button", href: "#/puzzles/foreplay" }, say("learn.foreplay"))));
    const left = mistakes.filter((each) => !each.solved);
    this.own.replaceChildren(
      h("p", { class: "figures-line" }, say("learn.left", { left: left.length, n: mistakes.length })),
      left.length ? h("ul", { class: "hand-list" }, left.slice(0, 12).map((each) => h("li", {},
        h("a", { href: `#/exercise/${each.id}/${each.hand}/${each.decision}` }, h("b", {}, each.title),
          h("span", {}, say(each.solved === false ? "learn.decision_tried" : "learn.decision", { n: each.decision + 1 })), h("small", {}, new Date(each.finished * 1000).toLocaleDateString())))))
        : faint(say("learn.none")));
  }

  close() {}
}
