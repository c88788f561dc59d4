/* A position with a question: a puzzle, or a mistake of one's own to be tried again. After the answer
   stands what every card is worth, and endings are played out against perfect defence. */

import { get, post } from "./api.js";
import { actionSymbol, cardOf, isCard, TAKE_HIDDEN, whyNot } from "./cards.js";
import { cardText } from "./chip.js";
import { announce, attempt, toast } from "./dialogs.js";
import { h, pause } from "./dom.js";
import { ExchangeBar } from "./exchange.js";
import { Felt } from "./felt.js";
import { tool } from "./icons.js";
import { openRules } from "./menu.js";
import { openPages } from "./pages.js";
import { Picker } from "./picker.js";
import { Plates } from "./plates.js";
import { sceneOf } from "./scene.js";
import { feltOptions, openSettings, settings } from "./settings.js";
import { valuesTable } from "./values.js";
import { say } from "./words.js";

const STEP = { normal: 900, fast: 350, none: 250 };
const keyOf = (action) => (action === TAKE_HIDDEN ? "stock" : cardOf(action));

export class ProblemPage {
  /** `source` says where problems come from: `first()`, `next()` and the path of a problem. */
  constructor(source) {
    this.source = source;
    this.felt = new Felt(feltOptions);
    this.plates = new Plates(this.felt);
    this.picker = new Picker(this.felt, (action) => this.answer(action));
    this.exchange = new ExchangeBar((action) => this.answer(action));
    this.felt.root.append(this.exchange.root);
    this.title = h("h1", { tabindex: "-1" }, source.title);
    this.panel = h("aside", { class: "analysis problem", "aria-label": source.title, tabindex: "0" });
    this.told = h("section", { class: "sr-only", "aria-label": say("site.table_in_words") });
    this.root = h("div", { class: "table-page problem-page" },
      h("header", { class: "table-bar" }, tool("menu", say("problem.pages"), () => this.openMenu()), this.title,
        h("div", { class: "tools" }, tool("rules", say("site.rules"), () => openRules("classic")), tool("settings", say("site.settings_tool"), openSettings))),
      this.told, h("div", { class: "table-main replay" }, this.felt.root, this.panel));
  }

  async open() {
    await this.load(await this.source.first());
  }

  close() {
    this.closed = true;
    this.felt.close();
  }

  async load(problem) {
    if (!problem) return this.empty();
    this.problem = problem;
    this.path = this.source.path(problem.id);
    this.answered = null;
    const parts = [problem.rules_title, problem.rating ? say("problem.rated", { n: Math.round(problem.rating) }) : ""];
    this.title.replaceChildren(this.source.title, h("small", {}, parts.filter(Boolean).join(" · ")));
    this.told.replaceChildren(...[problem.question, ...problem.said.table].map((text) => h("p", {}, text)));
    this.panel.replaceChildren(h("h2", {}, problem.question), h("p", { class: "faint" }, `${problem.said.stage}. ${problem.said.last}`),
      h("p", { class: "faint" }, say(problem.open ? "problem.open" : "problem.closed")));
    await this.show(problem, true);
    return this.offer();
  }

  empty() {
    this.panel.replaceChildren(h("h2", {}, this.source.none), h("a", { class: "button primary", href: "#/learn" }, say("problem.lessons")));
  }

  async show(state, still = false) {
    this.plates.update({
      ...state, watched: false, thinking: false, names: this.problem.names, match: { kind: "single" },
    });
    await this.felt.show(sceneOf({ ...state, watched: false }), { still });
  }

  offer() {
    this.picker.update({ ...this.problem, watched: false, move: this.problem.id });
    this.exchange.update(this.problem);
    this.felt.root.dataset.move = this.answered ? "answered" : "asked";
  }

  async answer(action) {
    if (this.playing) return;
    if (this.answered) return void this.playOut(action);
    if (!this.problem.legal.includes(action)) return void toast(whyNot(this.problem, action));
    await attempt(async () => {
      const found = await post(`${this.path}/answer`, { action });
      this.answered = found;
      this.tell(found, action);
      announce(found.verdict);
    });
  }

  tell(found, action) {
    const { problem } = this;
    const score = found.rating === null ? "" : say("problem.rating", { rating: found.rating, change: `${found.change >= 0 ? "+" : ""}${found.change}`, n: found.streak });
    this.panel.replaceChildren(
      h("h2", { class: found.solved ? "good" : "bad", role: "status" }, `${found.solved ? "✓" : "✗"} ${found.verdict}`),
      h("p", {}, found.why), score ? h("p", { class: "faint" }, score) : "",
      valuesTable({ cards: found.values, best: found.best, action, unit: found.unit, exact: found.exact }),
      problem.open ? h("p", { class: "faint" }, say("problem.play_out")) : "",
      h("div", { class: "problem-buttons" },
        h("button", { type: "button", class: "primary", onclick: () => this.next() }, say("problem.next")),
        found.solved ? "" : h("button", { type: "button", onclick: () => this.load(problem) }, say("site.again"))));
    this.picker.update({ ...problem, watched: false, move: problem.id });
    this.exchange.update(problem, { best: found.best, action });
    this.felt.mark({ chosen: [keyOf(action)], hinted: found.best.map(keyOf) });
    this.felt.root.dataset.move = "answered";
  }

  /* A card and perfect play after it, card by card. */
  async playOut(action) {
    if (!this.problem.open || !this.problem.legal.includes(action)) return;
    this.playing = true;
    await attempt(async () => {
      const { text, steps } = await post(`${this.path}/line`, { action });
      const list = h("ol", { class: "line" });
      this.panel.replaceChildren(h("h2", {}, say("problem.after"), isCard(action) ? cardText(cardOf(action)) : actionSymbol(action)), list);
      for (const step of steps) {
        if (this.closed) return;
        list.append(h("li", {}, step.text));
        await this.show(step);
        await pause(STEP[settings.motion]);
      }
      this.panel.append(h("p", { role: "status" }, `${text}.`), h("div", { class: "problem-buttons" },
        h("button", { type: "button", class: "primary", onclick: () => this.next() }, say("problem.next")),
        h("button", { type: "button", onclick: () => this.back() }, say("problem.back"))));
    });
    this.playing = false;
  }

  async back() {
    await this.show(this.problem, true);
    this.tell(this.answered, this.answered.best[0]);
  }

  async next() {
    if (!this.playing) await attempt(async () => this.load(await this.source.next()));
  }

  async openMenu() {
    await openPages([]);
  }

  key(event) {
    const key = event.key.toLowerCase();
    if (key === "n" && this.answered) return this.next() ?? true;
    if (key === "m") return this.openMenu() ?? true;
    if (key === ",") return openSettings() ?? true;
    if (key === "r") return announce([this.problem.question, ...this.problem.said.table].join(" ")) ?? true;
    return this.picker.key(event);
  }
}

/** Puzzles, one after the other. */
export const puzzles = (id, kind = "") => ({
  title: say("problem.puzzle"),
  none: say("problem.no_puzzle"),
  path: (name) => `/api/puzzles/${name}`,
  first: () => get(id ? `/api/puzzles/${encodeURIComponent(id)}` : `/api/puzzles/next?kind=${kind}`),
  next: () => get(`/api/puzzles/next?kind=${kind}`),
});

/** The mistakes of one's own hands, the one that is named first. */
export function exercises(id, hand, n) {
  let left = null;
  return {
    title: say("problem.mistakes"),
    none: say("problem.no_mistake"),
    path: (name) => `/api/exercises/${name}`,
    first: () => get(`/api/exercises/${encodeURIComponent(id)}/${hand}/${n}`),
    async next() {
      left ??= (await get("/api/exercises")).filter((each) => !each.solved && !(each.id === id && each.hand === hand && each.decision === n));
      const each = left.shift();
      return each && get(`/api/exercises/${each.id}/${each.hand}/${each.decision}`);
    },
  };
}

