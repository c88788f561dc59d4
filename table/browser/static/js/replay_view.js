/* A hand that is over, step by step, with what its decisions were worth. It asks no server, so that
   a saved page can show the same. */

import { actionName, actionSymbol, cardOf, TAKE_HIDDEN } from "./cards.js";
import { cardText } from "./chip.js";
import { h } from "./dom.js";
import { Felt } from "./felt.js";
import { icon } from "./icons.js";
import { Plates } from "./plates.js";
import { storyPlot } from "./plot.js";

const PLAY_EVERY = { normal: 1100, fast: 550, none: 400 };

/* What lies on the table, from the seat at the bottom; `view` is "both", or the seat that looks. */
function sceneFrom(before, view) {
  const bottom = view === 1 ? 1 : 0;
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

const VERBS = { led: "lead", followed: "follow", chose: "choose" };
const isYou = (name) => name.toLowerCase() === "you";

const amount = (value, unit) => (value === null || value === undefined ? "–" : unit === "win %" ? `${value.toFixed(1)}` : `${value > 0 ? "+" : ""}${value.toFixed(2)}`);

export class ReplayView {
  constructor(replay, analysis, options) {
    this.replay = replay;
    this.options = options;
    this.at = 0;
    this.view = "both";
    this.felt = new Felt(options.felt);
    this.plates = new Plates(this.felt);
    this.tellCount = h("p", { class: "replay-count" });
    this.tell = h("p", { class: "replay-text", "aria-live": "polite" });
    this.slider = h("input", {
      type: "range", min: 0, max: replay.steps.length, value: 0, "aria-label": "Step of the hand",
      oninput: () => this.go(Number(this.slider.value), true),
    });
    const button = (name, text, act) => h("button", { type: "button", class: "tool", "aria-label": text, title: text, onclick: act }, icon(name));
    this.playButton = button("play", "Play on (Space)", () => this.togglePlay());
    this.seats = h("select", { "aria-label": "Whose cards are shown", onchange: () => this.look(this.seats.value) },
      h("option", { value: "both" }, "Both hands open"), replay.players.map((name, seat) => h("option", { value: seat }, `As ${name} saw it`)));
    this.controls = h("div", { class: "replay-controls", role: "group", "aria-label": "Steps" },
      h("div", { class: "replay-buttons" },
        button("first", "First step (Home)", () => this.go(0)), button("previous", "Back (←)", () => this.go(this.at - 1)), this.playButton,
        button("next", "Forwards (→)", () => this.go(this.at + 1)), button("last", "Last step (End)", () => this.go(replay.steps.length))),
      this.slider, this.tellCount, this.seats);
    this.decision = h("section", { class: "decision" });
    this.story = h("section", { class: "story-place" });
    this.mistakes = h("section", { class: "mistakes" });
    this.panel = h("aside", { class: "analysis", "aria-label": "Analysis", tabindex: "0" }, this.tell, this.story, this.decision, this.mistakes);
    this.root = h("div", { class: "replay" }, h("div", { class: "replay-table" }, this.felt.root, this.controls), this.panel);
    this.felt.root.setAttribute("role", "img");
    this.setAnalysis(analysis);
    requestAnimationFrame(() => this.go(0, true));
  }

  close() {
    clearInterval(this.playing);
    this.felt.close();
  }

  get last() {
    return this.replay.steps.length;
  }

  /** Takes up the analysis, or how far it is. */
  setAnalysis(analysis) {
    this.analysis = analysis?.ready ? analysis : null;
    if (!analysis) this.story.replaceChildren();
    else if (!this.analysis) this.showProgress(analysis.done ?? 0);
    else {
      const { story, unit } = this.analysis;
      this.plot = storyPlot({ story, unit, name: this.replay.players[0], steps: this.last, onpick: (n) => this.go(n) });
      this.story.replaceChildren(h("h2", {}, "The story of the hand"), this.plot.root);
      this.hideStory();
      this.showMistakes();
    }
    this.tellDecision();
  }

  /* It tells what the first player could expect from a hand that the second does not see. */
  hideStory() {
    this.story.hidden = this.view === 1;
  }

  showProgress(done) {
    this.progress ??= h("progress", { max: 1, "aria-label": "Analysis" });
    this.progress.value = done;
    this.story.replaceChildren(h("p", { class: "faint" }, "Analysing every decision… "), this.progress);
  }

  showMistakes() {
    const { unit } = this.analysis;
    const mistakes = this.analysis.mistakes.filter((each) => !this.isHidden(this.replay.steps[each.n]));
    this.mistakes.replaceChildren(h("h2", {}, "Mistakes, by what they cost"), mistakes.length
      ? h("ol", { class: "mistake-list" }, mistakes.map((each) => h("li", {}, h("button", { type: "button", onclick: () => this.goToMistake(each.n) },
        h("b", {}, `${each.cost.toFixed(unit === "win %" ? 0 : 1)}${unit === "win %" ? " %" : ""}`), h("span", {}, each.text)))))
      : h("p", { class: "faint" }, "None that the analysis is sure of."));
  }

  goToMistake(step) {
    this.go(step);
    this.decision.scrollIntoView({ block: "nearest" });
  }

  /** Goes to a step; the position before it is shown. */
  go(step, still = false) {
    this.at = Math.max(0, Math.min(this.last, step));
    const next = this.replay.steps[this.at];
    const before = next?.before ?? this.replay.final;
    const bottom = this.view === 1 ? 1 : 0;
    this.felt.show(sceneFrom(before, this.view), { still });
    const { players } = this.replay;
    const told = this.at ? this.replay.steps[this.at - 1].text : "The cards are dealt";
    const seat = (who) => (who === bottom ? 0 : 1);
    const turned = (pair) => (bottom ? [pair[1], pair[0]] : pair);
    this.plates.update({
      player: players[bottom], opponent: players[1 - bottom], match: { kind: "single", points: [0, 0] }, dealer: seat(this.replay.dealer),
      tricks: turned(before.tricks), turn: before.turn === null ? null : seat(before.turn), trump: before.trump, low: before.low,
      stock_left: before.stock_left, last_trick: before.last_trick,
    }, next ? `${players[next.who]} ${isYou(players[next.who]) ? "are" : "is"} to ${VERBS[next.kind]}` : this.replay.result.text);
    this.felt.root.setAttribute("aria-label", this.inWords(before));
    this.slider.value = this.at;
    this.slider.setAttribute("aria-valuetext", `step ${this.at} of ${this.last}`);
    this.tell.textContent = told;
    this.tellCount.textContent = next ? `Trick ${next.trick} · ${this.at} / ${this.last}` : `End · ${this.last} / ${this.last}`;
    this.tellDecision();
    this.plot?.at(this.at);
  }

  inWords(before) {
    const { players } = this.replay;
    const trick = before.trick.map(({ who, card }) => `${players[who]} led the ${actionName(this.actionFor(card))}`).join(", ");
    return `The table. ${trick || "No card is led"}. ${before.stock_left} cards in the stock. Tricks: ${players[0]} ${before.tricks[0]}, ${players[1]} ${before.tricks[1]}.`;
  }

  actionFor(card) {
    return "CDHS".indexOf(card[1]) * 13 + "23456789TJQKA".indexOf(card[0]);
  }

  tellDecision() {
    const step = this.replay.steps[this.at];
    if (!step) {
      this.decision.replaceChildren(h("h2", {}, "The hand is over"), h("p", {}, this.replay.result.text));
      this.felt.mark({ chosen: [], hinted: [] });
      return;
    }
    const found = this.analysis?.decisions.find((each) => each.n === step.n);
    const name = this.replay.players[step.who];
    const verb = VERBS[step.kind] + (isYou(name) ? "" : "s");
    if (this.isHidden(step)) {
      this.felt.mark({ chosen: [], hinted: [] });
      this.decision.replaceChildren(h("h2", {}, `Next: ${name} ${verb}`));
      return;
    }
    const shown = (action) => (action === TAKE_HIDDEN ? "stock" : cardOf(action));
    const best = found && !found.best.includes(step.action) ? found.best.map(shown) : [];
    this.felt.mark({ chosen: [shown(step.action)], hinted: best });
    const chip = step.action === TAKE_HIDDEN ? "the hidden card" : cardText(step.card);
    this.decision.replaceChildren(
      h("h2", {}, `Next: ${name} ${verb}${step.kind === "followed" ? " with" : ""} `, chip),
      ...(found ? this.values(found) : []));
  }

  /* Whether the seat that looks may not see what this decision was between. */
  isHidden(step) {
    return this.view !== "both" && this.view !== step.who && !step.before.open;
  }

  values(found) {
    const { unit } = found;
    const priced = found.cards.filter((each) => each.value !== null && each.value !== undefined);
    if (!priced.length) return [h("p", { class: "faint" }, "There was no choice.")];
    const numbers = priced.map((each) => each.value);
    const low = unit === "win %" ? 0 : Math.min(0, ...numbers), high = unit === "win %" ? 100 : Math.max(1, ...numbers);
    const champion = found.cards.some((each) => each.probability !== undefined && each.probability !== null);
    const rows = [...found.cards].sort((one, two) => (two.value ?? -1e9) - (one.value ?? -1e9)).map((each) => {
      const bar = h("i", { "aria-hidden": "true" });
      bar.style.width = `${(100 * ((each.value ?? low) - low)) / (high - low || 1)}%`;
      const classes = [each.action === found.action ? "played" : "", found.best.includes(each.action) ? "best" : ""].join(" ");
      return h("tr", { class: classes },
        h("th", { scope: "row" }, each.action === TAKE_HIDDEN ? actionSymbol(each.action) : cardText(each.card),
          each.action === found.action ? h("span", { class: "sr-only" }, " played") : null),
        h("td", { class: "bar-cell" }, h("span", { class: "bar" }, bar)),
        h("td", { class: "number" }, amount(each.value, unit), each.half_width ? h("small", {}, ` ±${each.half_width.toFixed(unit === "win %" ? 0 : 1)}`) : null),
        champion ? h("td", { class: "number" }, each.probability === undefined ? "–" : `${Math.round(100 * each.probability)} %`) : null);
    });
    const kind = found.exact ? "exact" : `estimated in ${found.worlds ?? "sampled"} worlds`;
    const cost = found.cost.toFixed(unit === "win %" ? 1 : 2);
    const dear = Number(cost) > 0 && (found.sure || found.exact);
    const judged = Number(cost) === 0 ? "is as good as any" : `${dear ? "costs" : "may cost"} ${cost}${unit === "win %" ? " %" : ""}${dear ? "" : ", which is within the noise"}`;
    return [
      h("p", { class: `cost ${dear ? "bad" : "good"}` }, `The card played ${judged}.`),
      h("div", { class: "values-scroll" }, h("table", { class: "values" },
        h("caption", { class: "faint" }, `${unit === "win %" ? "Chance to win, per cent" : "Expected pay"}, ${kind}`),
        h("thead", { class: champion ? "" : "sr-only" }, h("tr", {}, h("th", { scope: "col" }, "Card"), h("th", { scope: "col" }, h("span", { class: "sr-only" }, "as a bar")),
          h("th", { scope: "col", class: "number" }, "Value"), champion ? h("th", { scope: "col", class: "number" }, "Champion") : null)),
        h("tbody", {}, rows))),
    ];
  }

  look(value) {
    this.view = value === "both" ? value : Number(value);
    this.seats.value = value;
    if (this.analysis) {
      this.hideStory();
      this.showMistakes();
    }
    this.go(this.at);
  }

  togglePlay() {
    const running = this.playing !== undefined;
    clearInterval(this.playing);
    this.playing = undefined;
    if (!running) {
      if (this.at === this.last) this.go(0);
      this.playing = setInterval(() => (this.at < this.last ? this.go(this.at + 1) : this.togglePlay()), PLAY_EVERY[this.options.felt().speed]);
    }
    this.playButton.replaceChildren(icon(running ? "play" : "pause"));
    this.playButton.setAttribute("aria-label", running ? "Play on (Space)" : "Stop (Space)");
  }

  /* The first step of the trick before this one, or after it. */
  trickFrom(by) {
    const { steps } = this.replay;
    const now = steps[this.at]?.trick ?? steps.at(-1).trick + 1;
    const at = steps.findIndex((each) => each.trick === now + by);
    return at < 0 ? (by < 0 ? 0 : this.last) : at;
  }

  key(event) {
    const views = ["both", "0", "1"];
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
