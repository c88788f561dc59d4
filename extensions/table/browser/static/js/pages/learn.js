// @ts-check
/* Learn: a guided first hand, puzzles with a rating, the mistakes of one's own hands, and the rules. */

/** @import { Exercise, LessonProgress, PuzzleStats } from "../../../messages" */
/** @import { Child } from "../base/dom.js" */

import { get } from "../base/api.js";
import { button, faint, h } from "../base/dom.js";
import { openRules } from "../base/menu.js";
import { sitDown } from "../base/pages.js";
import { LABELS, label } from "../base/words.js";

/** @type {(title: string, text: string, ...more: Child[]) => HTMLElement} */
const part = (title, text, ...more) => h("section", { class: "card-panel lesson parts" }, h("h2", {}, title), h("p", {}, text), ...more);

/** @param {string} theme */
const themeOf = (theme) => (theme ? label(`themes.${theme}.name`) : label("learn.for_the_stock"));

export class LearnPage {
  constructor() {
    this.lessons = h("ol", { class: "lesson-list" });
    this.puzzles = h("div", { class: "lesson-body parts" });
    this.own = h("div", { class: "lesson-body parts" });
    this.root = h("div", { class: "page learn" }, h("h1", { tabindex: "-1" }, label("site.learn")),
      part(label("learn.lessons_title"), label("learn.lessons_about"),
        this.lessons,
        h("div", { class: "lesson-buttons wrap" }, button(() => openRules("classic"), "quiet", label("lobby.read_rules")))),
      part(label("learn.puzzles"), label("learn.puzzles_about"), this.puzzles),
      part(label("learn.mistakes"), label("learn.mistakes_about"), this.own));
  }

  async open() {
    /** @type {[LessonProgress, PuzzleStats, Exercise[]]} */
    const [{ done }, solver, mistakes] = await Promise.all([get("/api/lessons"), get("/api/puzzles"), get("/api/exercises")]);
    this.lessons.replaceChildren(...LABELS.learn.lessons.map(([title, about], n) => h("li", {}, h("div", {}, h("h3", {}, title), faint(about)),
      done.includes(n + 1) ? h("span", { class: "good" }, label("learn.done")) : "",
      button(() => sitDown({ lesson: n + 1 }), done.includes(n + 1) ? "small" : "primary small", label("learn.begin"), h("span", { class: "sr-only" }, " ", title)))));
    this.puzzles.replaceChildren(
      h("p", { class: "figures-line" }, h("b", {}, solver.rating), " ", [
        label(solver.provisional ? "learn.provisional" : "learn.rating"),
        ...(solver.tried ? [label("learn.solved", { solved: solver.solved, n: solver.tried }), label("learn.streak", { n: solver.streak, best: solver.best_streak })] : []),
        label("learn.in_set", { n: solver.puzzles })].join(" · ")),
      h("div", { class: "lesson-buttons wrap" }, h("a", { class: "button primary", href: "#/puzzles" }, label("learn.solve")),
        h("a", { class: "button", href: "#/puzzles/day" }, label("learn.day")),
        h("a", { class: "button", href: "#/puzzles/endgame" }, label("learn.endings")), h("a", { class: "button", href: "#/puzzles/foreplay" }, label("learn.foreplay"))),
      h("p", { class: "themes" }, label("learn.themes"), " ", Object.entries(solver.themes).map(([name, n], place) => [place ? " · " : "", h("a", { href: `#/puzzles/${name}` }, themeOf(name)), ` (${n})`])),
      solver.history.length ? h("details", { class: "history" }, h("summary", {}, label("learn.history")), h("ul", { class: "hand-list stack" }, solver.history.map(({ id, solved, rating, theme }) => h("li", {},
        h("a", { href: `#/puzzle/${id}` }, h("b", { class: solved ? "good" : "bad" }, label(solved ? "learn.was_solved" : "learn.was_failed")), h("span", {}, themeOf(theme)), h("small", {}, label("problem.rated", { n: Math.round(rating) }))))))) : "");
    const left = mistakes.filter((mistake) => !mistake.solved);
    this.own.replaceChildren(
      mistakes.length ? h("p", { class: "figures-line" }, label("learn.left", { left: left.length, n: mistakes.length })) : "",
      left.length ? h("ul", { class: "hand-list stack" }, left.slice(0, 12).map((mistake) => h("li", {},
        h("a", { href: `#/exercise/${mistake.id}/${mistake.hand}/${mistake.decision}` }, h("b", {}, mistake.title),
          h("span", {}, label(mistake.solved === false ? "learn.decision_tried" : "learn.decision", { n: mistake.decision + 1 })), h("small", {}, new Date(mistake.finished * 1000).toLocaleDateString())))))
        : faint(label("learn.none")));
  }

  close() {}
}
