// @ts-check
/* A hand that is over, step by step, with what its decisions were worth. It asks no server, so that
   a saved page can show the same. */

/** @import { Analysis, AnalysisProgress, BoardState, DecisionValues, Mistake, NetworkReview, Replay, Step } from "../../../messages" */
/** @import { Scene } from "../table_view/scene.js" */
/** @import { TableViewOptions } from "../base/settings.js" */

import { faint, h } from "../base/dom.js";
import { show, tool } from "../base/icons.js";
import { capital, label } from "../base/words.js";
import { actionName, actionSymbol, cardOf, isCard, nameOf, TAKE_HIDDEN } from "../cards/names.js";
import { cardText } from "../cards/chip.js";
import { TableView } from "../table_view/table_view.js";
import { Plates } from "../table_view/plates.js";
import { NetworksPanel } from "./networks.js";
import { storyPlot } from "./story.js";
import { valuesTable } from "./values.js";

/**
 * Whose cards are shown: those of both, or what one seat may know.
 * @typedef {"both" | 0 | 1} View
 */

const PLAY_EVERY = { normal: 1100, fast: 550, none: 400 };

/* What lies on the table, from the seat at the bottom; `view` is "both", or the seat that looks. */
/** @type {(before: BoardState, view: View) => Scene} */
function sceneFrom(before, view) {
  const bottom = view === 1 ? 1 : 0;
  /** @param {BoardState["trick"]} cards */
  const turned = (cards) => cards.map(({ who, card }) => ({ who: who === bottom ? 0 : 1, card }));
  const others = before.hands[1 - bottom];
  const known = view === "both" || before.open ? others : before.known[1 - bottom].filter((card) => others.includes(card));
  return {
    hand: before.hands[bottom],
    other: [...known, ...Array(others.length - known.length).fill(null)],
    stockLeft: before.stock_left, up: before.upcards, trump: before.trump,
    trick: turned(before.trick), last: turned(before.last_trick),
  };
}

/** @param {number | null} accuracy */
const accuracyText = (accuracy) => (accuracy === null ? "–" : `${accuracy.toFixed(0)} %`);

export class ReplayView {
  /**
   * @param {Replay} replay
   * @param {Analysis | AnalysisProgress | null} analysis
   * @param {{ tableView: () => TableViewOptions, first?: number, onstep?: (step: number) => void, onchoose?: (step: Step, action: number) => void,
   *   actions?: HTMLElement }} options Without `onchoose`, other cards cannot be tried.
   */
  constructor(replay, analysis, options) {
    this.replay = replay;
    this.options = options;
    this.at = Math.min(options.first ?? 0, replay.steps.length);
    this.closed = false;
    /** @type {View} */
    this.view = "both";
    /** @type {Analysis | null} */
    this.analysis = null;
    /** @type {number | undefined} */
    this.playing = undefined;
    this.progress = h("progress", { max: 1, "aria-label": label("steps.analysis") });
    // The cards of a replay need not be hit, so a hand lies in one row.
    this.tableView = new TableView(() => {
      const wished = options.tableView();
      return { ...wished, rows: wished.rows === "stacked" ? "stacked" : "single" };
    });
    this.plates = new Plates(this.tableView);
    this.stepCount = h("p", { class: "replay-count faint" });
    this.stepText = h("p", { class: "replay-text", "aria-live": "polite" });
    /** @type {HTMLInputElement} */
    this.slider = h("input", {
      type: "range", min: 0, max: replay.steps.length, value: 0, "aria-label": label("steps.step"),
      oninput: () => this.go(Number(this.slider.value), true),
    });
    this.playButton = tool("play", label("steps.play"), () => this.togglePlay());
    /** @type {HTMLSelectElement} */
    this.seats = h("select", { "aria-label": label("steps.whose"), onchange: () => this.look(this.seats.value) },
      h("option", { value: "both" }, label("steps.both")), replay.players.map((name, seat) => h("option", { value: seat }, label("steps.as", { name }))));
    this.controls = h("div", { class: "replay-controls wrap row", role: "group", "aria-label": label("steps.steps") },
      h("div", { class: "replay-buttons" },
        tool("first", label("steps.first"), () => this.go(0)), tool("previous", label("steps.back"), () => this.go(this.at - 1)), this.playButton,
        tool("next", label("steps.on"), () => this.go(this.at + 1)), tool("last", label("steps.last"), () => this.go(replay.steps.length))),
      this.seats, this.slider, this.stepCount);
    this.decision = h("section", { class: "decision stack" });
    this.story = h("section", { class: "story-place" });
    this.networks = h("section");
    this.totals = h("section", { class: "totals-place" });
    this.tricks = h("section", { class: "tricks stack" });
    this.own = h("input", { type: "checkbox", onchange: () => this.showMistakes() });
    this.mistakeList = h("div");
    this.mistakes = h("section", { class: "mistakes stack", hidden: true },
      h("div", { class: "mistakes-head wrap row between" }, h("h2", {}, label("steps.by_cost")), h("label", {}, this.own, " ", label("steps.only_mine"))), this.mistakeList);
    this.panel = h("aside", { class: "analysis", "aria-label": label("steps.analysis"), tabindex: "0" },
      replay.note ? h("p", { class: "note" }, replay.note) : null, this.stepText, this.decision, this.story, options.actions, this.networks, this.totals, this.mistakes, this.tricks);
    this.root = h("div", { class: "replay" }, h("div", { class: "replay-table" }, this.tableView.root, this.controls), this.panel);
    this.tableView.root.setAttribute("role", options.onchoose ? "group" : "img");
    this.setAnalysis(analysis);
    // The table has a size once the page has been laid out; an analysis may be there before.
    requestAnimationFrame(() => this.closed || this.go(this.at, true));
  }

  close() {
    this.closed = true;
    clearInterval(this.playing);
    this.tableView.close();
  }

  get last() {
    return this.replay.steps.length;
  }

  /** Takes up the analysis, or how far it is.
   * @param {Analysis | AnalysisProgress | null} analysis
   */
  setAnalysis(analysis) {
    this.analysis = analysis && "story" in analysis ? analysis : null;
    if (!analysis) this.story.replaceChildren();
    else if (!this.analysis) this.showProgress(analysis.done);
    else {
      const { story, unit } = this.analysis;
      this.plot = storyPlot({ story, unit, name: this.replay.players[0], steps: this.last, onpick: (n) => this.go(n) });
      this.story.replaceChildren(h("h2", { class: "sr-only" }, label("story.title")), this.plot.root);
      this.plot.at(this.at);
      this.hideStory();
      this.showMistakes();
    }
    this.showDecision();
  }

  /** @type {(review: NetworkReview, open?: boolean) => void} */
  setNetworks(review, open = review.names.length > 1) {
    if (!review.names.length && !review.curves.length) return;
    this.networksPanel = new NetworksPanel(this.replay, review, open, (n) => this.go(n));
    this.networks.replaceChildren(this.networksPanel.root);
    this.showNetworks();
  }

  showNetworks() {
    const step = this.replay.steps.at(this.at);
    this.networksPanel?.at(this.at, this.view, !step || this.isHidden(step));
  }

  /* It shows what the first player could expect from a hand that the second does not see. */
  hideStory() {
    this.story.hidden = this.view === 1;
  }

  /** @param {number} done */
  showProgress(done) {
    this.progress.value = done;
    this.story.replaceChildren(faint(label("steps.analyzing")), this.progress);
  }

  /* Each player's totals, the mistakes, and the tricks with a mark on every card that cost something. */
  showMistakes() {
    if (!this.analysis) return;
    const { unit, totals } = this.analysis;
    const seen = this.analysis.mistakes.filter((mistake) => !this.isHidden(this.replay.steps[mistake.n]));
    const mistakes = seen.filter((mistake) => !this.own.checked || mistake.who === 0);
    /** @param {number} cost */
    const price = (cost) => `${cost.toFixed(unit === "win %" ? 0 : 1)}${unit === "win %" ? " %" : ""}`;
    this.totals.replaceChildren(
      h("table", { class: "totals" }, h("caption", { class: "sr-only" }, label("steps.how_well")),
        h("thead", {}, h("tr", {}, ["", label("steps.accuracy"), label("steps.mistakes"), label("steps.cost")].map((text) => (text ? h("th", { scope: "col" }, text) : h("td"))))),
        h("tbody", {}, this.replay.players.map((name, who) => (this.view === 1 - who ? null : h("tr", {}, h("th", { scope: "row" }, capital(name)),
          totals[who].mattered ? [h("td", {}, accuracyText(totals[who].accuracy)),
            h("td", {}, label("steps.of", { n: totals[who].mistakes, all: totals[who].mattered })), h("td", {}, price(totals[who].cost))]
            : h("td", { colspan: 3 }, label("steps.nothing_mattered"))))))),
      faint(label("steps.accuracy_about")));
    this.mistakes.hidden = false;
    this.mistakeList.replaceChildren(
      mistakes.length
        ? h("ol", { class: "mistake-list stack" }, mistakes.map((mistake) => h("li", {}, h("button", { type: "button", onclick: () => this.goToMistake(mistake.n) },
          h("b", {}, price(mistake.cost)), h("span", {}, mistake.text)))))
        : faint(label("steps.sure_of_none")));
    this.showTricks(new Map(seen.map((mistake) => [mistake.n, mistake])));
  }

  /** @param {Map<number, Mistake>} costly */
  showTricks(costly) {
    const numbers = [...new Set(this.replay.steps.map((step) => step.trick))];
    const dear = this.analysis?.unit === "win %" ? 10 : 1; // An inaccuracy costs less, a blunder twice as much.
    /** @param {Step} step */
    const markOf = ({ n }) => ["?!", "?", "??"][Math.min(2, Math.floor((costly.get(n)?.cost ?? 0) / dear))];
    /** @param {Step} step */
    const chip = (step) => h("button", {
      type: "button", class: `trick-card ${costly.has(step.n) ? "mistake" : ""}`, "data-step": step.n, onclick: () => this.go(step.n),
      "aria-label": costly.has(step.n) ? label("steps.mistake", { text: step.text, what: label(`steps.marks.${markOf(step)}`) }) : step.text,
    }, this.isHidden(step) && step.kind === "chose" ? "…" : step.action === TAKE_HIDDEN ? "?" : isCard(step.action) ? cardText(step.card) : actionSymbol(step.action), costly.has(step.n) ? h("span", { class: "mark", "aria-hidden": "true" }, markOf(step)) : null);
    this.tricks.replaceChildren(h("h2", {}, label("steps.tricks")), h("ol", { class: "trick-list" }, numbers.map((number) => {
      const steps = this.replay.steps.filter((step) => step.trick === number);
      return h("li", {}, h("span", { class: "trick-number faint" }, number), steps.map(chip),
        h("span", { class: "trick-won faint" }, label("steps.to", { name: this.replay.players[steps.find((step) => step.won !== null)?.won ?? 0] })));
    })));
  }

  /** @param {number} step */
  goToMistake(step) {
    this.go(step);
    this.panel.scrollTop = 0; // The decision stands above the list.
  }

  /** Goes to a step; the position before it is shown.
   * @param {number} step
   */
  go(step, still = false) {
    this.at = Math.max(0, Math.min(this.last, step));
    const next = this.replay.steps.at(this.at);
    const before = next?.before ?? this.replay.final;
    const bottom = this.view === 1 ? 1 : 0;
    this.tableView.show(sceneFrom(before, this.view), { still });
    const { players } = this.replay;
    const text = this.at ? this.replay.steps[this.at - 1].text : label("steps.dealt");
    /** @type {(who: number) => number} */
    const seat = (who) => (who === bottom ? 0 : 1);
    /** @type {<T>(pair: T[]) => [T, T]} */
    const turned = (pair) => (bottom ? [pair[1], pair[0]] : [pair[0], pair[1]]);
    const prompt = next?.prompt ?? this.replay.result.text;
    this.plates.update({
      names: [players[bottom], players[1 - bottom]], watched: true, match: { kind: "single" }, dealer: seat(this.replay.dealer),
      tricks: turned(before.tricks), stock_tricks: before.stock_tricks && turned(before.stock_tricks), turned: before.turned, exchanged: turned(before.exchanged), turn: before.turn === null ? null : seat(before.turn), trump: before.trump, low: before.low,
      stock_left: before.stock_left, last_trick: before.last_trick, texts: { prompt, stage: "", last: "" },
    });
    this.options.onstep?.(this.at);
    for (const element of /** @type {NodeListOf<HTMLElement>} */ (this.tricks.querySelectorAll(".trick-card"))) element.classList.toggle("now", Number(element.dataset.step) === this.at);
    this.tableView.root.setAttribute("aria-label", this.inWords(before));
    this.slider.value = String(this.at);
    this.slider.setAttribute("aria-valuetext", label("steps.at", { n: this.at, all: this.last }));
    this.stepText.textContent = text;
    this.offer(next);
    this.stepCount.textContent = label(next ? "steps.count" : "steps.end", { trick: next?.trick, at: this.at, all: this.last });
    this.showDecision();
    this.showNetworks();
    this.plot?.at(this.at);
  }

  /* The cards that might be played here, as buttons: another one leads to the hand that it would have made. */
  /** @param {Step} [step] */
  offer(step) {
    const { onchoose } = this.options;
    const free = step && onchoose && !this.isHidden(step) && step.kind !== "exchanged" ? step.legal : [];
    const zone = step?.kind === "chose" ? "up" : step?.who === (this.view === 1 ? 1 : 0) ? "hand" : "other";
    this.tableView.buttons(free.map((action) => ({ key: cardOf(action) ?? "stock", action, zone: isCard(action) ? zone : "stock", name: actionName(action) })), {
      label: label("replay.choose"), onfocus: () => {}, onhover: (key) => this.tableView.mark({ lifted: [key] }),
      onchoose: (key) => this.choose(Number(free.find((legal) => (cardOf(legal) ?? "stock") === key))),
    });
    for (const hit of this.tableView.hitButtons()) hit.tabIndex = 0;
  }

  /* The card played leads on, and another one to the hand that it would have made. */
  /** @param {number} action */
  choose(action) {
    const step = this.replay.steps[this.at];
    if (!step || action === step.action) this.go(this.at + 1);
    else this.options.onchoose?.(step, action);
  }

  /** @param {BoardState} before */
  inWords(before) {
    const { players } = this.replay;
    const trick = before.trick.map(({ who, card }) => label("steps.led", { name: players[who], card: nameOf(card) })).join(", ");
    return label("steps.in_words", { trick: trick || label("steps.no_card"), n: before.stock_left, first: players[0], a: before.tricks[0], second: players[1], b: before.tricks[1] });
  }

  showDecision() {
    const step = this.replay.steps[this.at];
    if (!step) {
      this.decision.replaceChildren(h("h2", {}, label("steps.over")), h("p", {}, this.replay.result.text));
      this.tableView.mark({ chosen: [], hinted: [] });
      return;
    }
    const found = this.analysis?.decisions.find((decision) => decision.n === step.n);
    if (this.isHidden(step)) {
      this.tableView.mark({ chosen: [], hinted: [] });
      this.decision.replaceChildren(h("h2", {}, step.prompt));
      return;
    }
    /** @param {number} action */
    const shown = (action) => (action === TAKE_HIDDEN ? "stock" : cardOf(action));
    const best = found && !found.best.includes(step.action) ? found.best.map(shown) : [];
    this.tableView.mark({ chosen: [shown(step.action)], hinted: best });
    const chip = isCard(step.action) ? cardText(step.card) : actionName(step.action);
    this.decision.replaceChildren(
      h("h2", {}, step.prompt, ": ", chip),
      ...(found ? this.values(found) : []), this.options.onchoose && step.kind !== "exchanged" && step.legal.length > 1 ? faint(label("replay.choose")) : "");
  }

  /* Whether the seat that looks may not see what this decision was between. */
  /** @param {Step} step */
  isHidden(step) {
    return this.view !== "both" && this.view !== step.who && !step.before.open;
  }

  /** @param {DecisionValues} found */
  values(found) {
    const { unit } = found;
    if (found.cards.every((option) => option.value === null || option.value === undefined)) return [faint(label("values.no_choice"))];
    const cost = found.cost.toFixed(unit === "win %" ? 0 : 1);
    const dear = Number(cost) > 0 && (found.sure || found.exact);
    const judged = Number(cost) > 0 && !dear ? "may_cost" : `${dear ? "costs" : "as_good"}${found.exact ? "" : "_about"}`;
    return [
      h("p", { class: `cost ${dear ? "bad" : "good"}` }, label(`steps.${judged}`, { cost: `${cost}${unit === "win %" ? "\u00a0%" : ""}` })),
      valuesTable({ ...found, name: capital(this.replay.players[found.who]), onpick: this.options.onchoose && ((action) => this.choose(action)) }),
    ];
  }

  /** @param {string} value */
  look(value) {
    this.view = value === "both" ? value : value === "1" ? 1 : 0;
    this.seats.value = value;
    this.hideStory();
    this.showMistakes();
    this.go(this.at);
  }

  togglePlay() {
    const running = this.playing !== undefined;
    clearInterval(this.playing);
    this.playing = undefined;
    if (!running) {
      if (this.at === this.last) this.go(0);
      this.playing = setInterval(() => (this.at < this.last ? this.go(this.at + 1) : this.togglePlay()), PLAY_EVERY[this.options.tableView().speed]);
    }
    show(this.playButton, running ? "play" : "pause", label(running ? "steps.play" : "steps.stop"));
  }

  /* The first step of the trick before this one, or after it. */
  /** @param {number} by */
  trickFrom(by) {
    const { steps } = this.replay;
    const now = steps[this.at]?.trick ?? steps[steps.length - 1].trick + 1;
    const at = steps.findIndex((step) => step.trick === now + by);
    return at < 0 ? (by < 0 ? 0 : this.last) : at;
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const views = ["both", "0", "1"];
    /** @type {Record<string, () => void>} */
    const acts = {
      ArrowRight: () => this.go(this.at + 1), ArrowLeft: () => this.go(this.at - 1), Home: () => this.go(0), End: () => this.go(this.last),
      PageDown: () => this.go(this.trickFrom(1)), PageUp: () => this.go(this.trickFrom(-1)), " ": () => this.togglePlay(),
      v: () => this.look(views[(views.indexOf(String(this.view)) + 1) % 3]),
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    act?.();
    return Boolean(act);
  }
}
