// @ts-check
/* A position with a question: a puzzle, or a mistake of one's own to be tried again. After the answer
   stands what every card is worth, and endings are played out against perfect defense. */

/** @import { AnswerResult, Exercise, PlayoutLine, Problem, VisibleState } from "../../../messages" */
/** @import { Child } from "../base/dom.js" */

import { get, post } from "../base/api.js";
import { announce, attempt, toast } from "../base/dialogs.js";
import { button, faint, h, keepFocus, pause } from "../base/dom.js";
import { tool } from "../base/icons.js";
import { openRules } from "../base/menu.js";
import { openPages } from "../base/pages.js";
import { tableViewOptions, openSettings, settings } from "../base/settings.js";
import { label, signed } from "../base/words.js";
import { actionSymbol, cardOf, TAKE_HIDDEN, whyNot } from "../cards/names.js";
import { cardText } from "../cards/chip.js";
import { ExchangeBar } from "../table_view/exchange.js";
import { TableView } from "../table_view/table_view.js";
import { Picker } from "../table_view/picker.js";
import { Plates } from "../table_view/plates.js";
import { sceneOf } from "../table_view/scene.js";
import { valuesTable } from "./values.js";

const NARROW = matchMedia("(max-width: 900px) and (orientation: portrait)");
/* Where what stands below the table keeps the room of the answer's buttons. */
const STILL = matchMedia("(max-width: 900px) and (min-height: 700px) and (orientation: portrait)");
const STEP = { normal: 900, fast: 350, none: 250 };
/**
 * Where problems come from.
 * @typedef {{ title: string, none: string, path: (name: string) => string, first: () => Promise<Problem>,
 *   next: () => Promise<Problem | undefined> }} Source
 */

/** @param {number} action */
const keyOf = (action) => (action === TAKE_HIDDEN ? "stock" : cardOf(action));

class ProblemPage {
  /** @param {Source} source */
  constructor(source) {
    this.source = source;
    this.closed = false;
    /* An answer, a line or the next problem is under way. */
    this.busy = false;
    /** @type {Problem | null} The position that is asked about: the first one, or a later decision of its line. */
    this.problem = null;
    /** @type {number[]} The right cards before it. */
    this.before = [];
    /** @type {Problem | undefined} */
    this.first = undefined;
    /** @type {AnswerResult | null} */
    this.answered = null;
    this.tableView = new TableView(tableViewOptions);
    this.plates = new Plates(this.tableView);
    this.picker = new Picker(this.tableView, (action) => this.answer(action));
    this.exchange = new ExchangeBar((action) => this.answer(action));
    this.tableView.root.append(this.exchange.root);
    this.title = h("h1", { tabindex: "-1" }, source.title);
    this.task = h("section", { class: "task", "aria-label": source.title });
    this.panel = h("aside", { class: "analysis", "aria-label": label("problem.values"), tabindex: "0", hidden: true });
    this.foot = h("footer", { class: "problem-buttons wrap" });
    this.description = h("section", { class: "sr-only", "aria-label": label("site.table_in_words") });
    this.root = h("div", { class: "table-page problem-page" },
      h("header", { class: "table-bar row" }, tool("menu", label("problem.pages"), () => openPages([])), this.title,
        h("div", { class: "tools" }, tool("rules", label("site.rules"), () => openRules("classic")), tool("settings", label("site.settings_tool"), openSettings))),
      this.description, h("div", { class: "table-main problem" }, this.task, this.tableView.root, this.panel, this.foot));
  }

  async open() {
    await this.load(await this.source.first());
  }

  close() {
    this.closed = true;
    this.tableView.close();
  }

  /** @param {Problem} [problem] */
  async load(problem) {
    if (!problem) return this.empty();
    this.first = problem;
    this.before = [];
    const parts = [problem.rules_title, problem.rating ? label("problem.rated", { n: Math.round(problem.rating) }) : ""];
    this.title.replaceChildren(this.source.title, h("small", {}, parts.filter(Boolean).join(" · ")));
    this.description.replaceChildren(...[problem.question, ...problem.texts.table].map((text) => h("p", {}, text)));
    const question = h("h2", {}, problem.question);
    const about = faint(`${problem.texts.stage}. ${label(problem.open ? "problem.open" : "problem.closed")}`);
    this.lay(STILL.matches ? { task: [question], foot: [about] } : { task: [question, about] });
    await this.show(problem, problem, true);
    this.ask(problem);
  }

  /** @param {Problem} problem */
  ask(problem) {
    this.problem = problem;
    this.answered = null;
    this.offer(problem);
    this.tableView.root.dataset.move = "asked";
  }

  empty() {
    this.lay({ task: [h("h2", {}, this.source.none), h("a", { class: "button primary", href: "#/learn" }, label("problem.lessons"))] });
  }

  /** Puts the question or what came of it above the table, values beside it, and what is in reach below.
   * @param {{ task: Child[], values?: HTMLElement[], foot?: HTMLElement[] }} parts
   */
  lay({ task, values = [], foot = [] }) {
    this.task.replaceChildren(h("div", {}, task));
    this.panel.hidden = !values.length;
    this.panel.replaceChildren(h("details", { open: !NARROW.matches }, h("summary", {}, label("problem.values")), h("div", {}, values)));
    this.foot.replaceChildren(...foot);
    keepFocus();
  }

  /** @type {(problem: Problem, position: Problem | VisibleState, still?: boolean) => Promise<void>} */
  async show(problem, position, still = false) {
    this.plates.update({ ...position, texts: { ...position.texts, stage: "" }, names: problem.names, match: { kind: "single" } });
    await this.tableView.show(sceneOf(position), { still });
  }

  /** Shows positions one after the other, as long as the page is there.
   * @type {(problem: Problem, steps: VisibleState[], onstep?: (step: VisibleState) => void) => Promise<void>}
   */
  async walk(problem, steps, onstep = () => {}) {
    for (const [place, step] of steps.entries()) {
      if (place) await pause(STEP[settings.motion]);
      if (this.closed) return;
      onstep(step);
      await this.show(problem, step);
    }
  }

  /** @type {(problem: Problem, found?: { best: number[], action: number }) => void} */
  offer(problem, found) {
    this.picker.update({ ...problem, move: `${problem.id} ${this.before.length}` });
    this.exchange.update(problem, found);
  }

  /** @param {number} action */
  async answer(action) {
    const { problem } = this;
    if (this.busy || !problem) return;
    if (this.answered) return void this.playOut(problem, this.answered, action);
    if (!problem.legal.includes(action)) return void toast(whyNot(problem, action));
    await this.alone(async () => {
      /** @type {AnswerResult} */
      const found = await post(`${this.source.path(problem.id)}/answer`, { action, before: this.before });
      if (found.steps.length) return this.goOn(problem, found, action);
      this.answered = found;
      this.showAnswer(problem, found, action);
      announce(found.verdict);
    });
  }

  /* A right card, the other's perfect answers, and the next decision. */
  /** @type {(problem: Problem, found: AnswerResult, action: number) => Promise<void>} */
  async goOn(problem, { steps, why }, action) {
    delete this.tableView.root.dataset.move;
    this.picker.clear();
    const reason = h("p", { class: "faint" }, why);
    this.lay({ task: [h("h2", { class: "good" }, `✓ ${label("problem.go_on")}`), reason], foot: [faint(steps.slice(1).map(({ texts }) => texts.answer).join(" · "))] });
    await this.walk(problem, steps);
    if (this.closed) return;
    this.before = [...this.before, action];
    this.ask({ ...problem, ...steps[steps.length - 1] });
    announce(`${label("problem.go_on")} ${this.problem?.texts.prompt}`);
  }

  /** @type {(problem: Problem, found: AnswerResult, action: number) => void} */
  showAnswer(problem, found, action) {
    const score = found.rating === null ? "" : label("problem.rating", { rating: found.rating, change: signed(found.change ?? 0), n: found.streak });
    this.lay({
      task: [h("h2", { class: found.solved ? "good" : "bad" }, `${found.solved ? "✓" : "✗"} ${found.verdict}`), h("p", {}, found.why), score ? faint(score) : ""],
      values: [valuesTable({ cards: found.values, best: found.best, action, unit: found.unit, exact: found.exact }), ...(problem.open ? [faint(label("problem.play_out"))] : [])],
      foot: [
        ...(problem.open ? [button(() => this.playOut(problem, found, found.best[0]), "", label("problem.line"))] : []),
        ...(found.solved ? [] : [button(() => this.load(this.first), "", label("site.again"))]),
        button(() => this.next(), "primary", label("problem.next"))],
    });
    this.offer(problem, { best: found.best, action });
    this.tableView.mark({ chosen: [keyOf(action)], hinted: found.best.map(keyOf) });
    this.tableView.root.dataset.move = "answered";
  }

  /* A card and perfect play after it, card by card. */
  /** @type {(problem: Problem, answered: AnswerResult, action: number) => Promise<void>} */
  async playOut(problem, answered, action) {
    if (!problem.open || !problem.legal.includes(action)) return;
    await this.alone(async () => {
      /** @type {PlayoutLine} */
      const { text, steps } = await post(`${this.source.path(problem.id)}/line`, { action, before: this.before });
      const card = cardOf(action);
      const list = h("ol", { class: "line" }), spoken = h("p", { "aria-live": "polite" });
      this.lay({ task: [h("h2", {}, label("problem.after"), card ? cardText(card) : actionSymbol(action)), spoken], values: [list] });
      await this.walk(problem, steps, ({ texts }) => {
        list.append(h("li", {}, texts.answer));
        spoken.textContent = texts.answer;
      });
      spoken.textContent = `${text}.`;
      this.foot.replaceChildren(button(() => this.back(problem, answered), "", label("problem.back")), button(() => this.next(), "primary", label("problem.next")));
    });
  }

  /** @type {(problem: Problem, answered: AnswerResult) => Promise<void>} */
  async back(problem, answered) {
    await this.show(problem, problem, true);
    this.showAnswer(problem, answered, answered.best[0]);
  }

  async next() {
    if (!this.busy) await this.alone(async () => this.load(await this.source.next()));
  }

  /** Does what the server is asked for, and nothing else meanwhile; why it was refused is shown in a toast.
   * @param {() => Promise<void>} task
   */
  async alone(task) {
    this.busy = true;
    await attempt(task);
    this.busy = false;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const key = event.key.toLowerCase();
    if (key === "n" && this.answered) this.next();
    else if (key === "m") openPages([]);
    else if (key === ",") openSettings();
    else if (key === "r" && this.problem) announce([this.problem.question, ...this.problem.texts.table].join(" "));
    else return this.picker.key(event);
    return true;
  }
}

/** Puzzles, one after the other.
 * @type {(id: string, kind?: string) => ProblemPage}
 */
export const puzzlePage = (id, kind = "") => new ProblemPage({
  title: label("problem.puzzle"),
  none: label("problem.no_puzzle"),
  path: (name) => `/api/puzzles/${name}`,
  first: () => get(id ? `/api/puzzles/${encodeURIComponent(id)}` : `/api/puzzles/next?kind=${kind}`),
  next: () => get(`/api/puzzles/next?kind=${kind === "day" ? "" : kind}`),
});

/** The mistakes of one's own hands, the one that is named first.
 * @type {(id: string, hand: number, n: number) => ProblemPage}
 */
export function exercisePage(id, hand, n) {
  /** @type {Exercise[] | null} */
  let left = null;
  return new ProblemPage({
    title: label("problem.mistakes"),
    none: label("problem.no_mistake"),
    path: (name) => `/api/exercises/${name}`,
    first: () => get(`/api/exercises/${encodeURIComponent(id)}/${hand}/${n}`),
    async next() {
      left ??= (/** @type {Exercise[]} */ (await get("/api/exercises"))).filter((exercise) => !exercise.solved && !(exercise.id === id && exercise.hand === hand && exercise.decision === n));
      const exercise = left.shift();
      return exercise ? get(`/api/exercises/${exercise.id}/${exercise.hand}/${exercise.decision}`) : undefined;
    },
  });
}
