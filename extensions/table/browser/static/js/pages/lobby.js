// @ts-check
/* The lobby: choose an opponent, a rule set and a match, go on with a table, watch, open a record. */

/** @import { AgentInfo, LessonProgress, MatchRequest, TableRequest, TableSummary } from "../../../messages" */

import { get, remove } from "../base/api.js";
import { attempt, dialog } from "../base/dialogs.js";
import { button, faint, h, keepFocus } from "../base/dom.js";
import { icon } from "../base/icons.js";
import { menu, openRules, plays } from "../base/menu.js";
import { sitDown } from "../base/pages.js";
import { segmented } from "../base/settings.js";
import { LABELS, label } from "../base/words.js";
import { face } from "../cards/draw.js";

/** @typedef {"opponent" | "player"} Seat */
/** @type {Seat[]} */
const SEATS = ["opponent", "player"];
const KEY = "german-whist-last-game";

function lastGame() {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? "{}");
  } catch {
    return {};
  }
}

/** @type {Record<string, string>} */
const FACES = { easy: "JD", medium: "QH", counting: "QS", hard: "KC", champion: "KS" };

/* A court card for those whom people play, the first letter for the others. */
/** @param {AgentInfo} agent */
function portrait({ name, title }) {
  const card = FACES[name];
  return card ? face(card, "classic") : h("span", { class: "agent-mark", "aria-hidden": "true" }, title[0].toUpperCase());
}

/* Where an agent stands on the ladder of classic hands, between a random player and twice a threshold's. */
/** @param {AgentInfo} agent */
function strength({ strength: rating }) {
  if (rating === null) return null;
  const meter = h("i", {});
  meter.style.width = `${Math.max(4, Math.min(100, (rating - 450) / 7.5))}%`;
  return h("span", { class: "strength wrap row" }, h("span", { class: "bar", "aria-hidden": "true" }, meter), label("lobby.rating", { n: rating }));
}

export class LobbyPage {
  constructor({ watching = false } = {}) {
    this.watching = watching;
    this.menu = menu();
    /** @type {{ rules: string, opponent: string, player: string, kind: "single" | "points" | "best", lengths: { points: number, best: number }, memory: boolean }} */
    this.choice = { rules: "classic", opponent: "medium", player: "medium", kind: "single", lengths: { points: 10, best: 3 }, memory: false, ...lastGame() };
    this.chooseNamed();
    /* A first hand is coached. */
    this.coached = false;
    this.tables = h("div", { class: "tables parts" });
    this.first = h("section", { class: "first-hand card-panel row between", hidden: true },
      h("div", {}, h("h2", {}, label("learn.first")), faint(label("lobby.first_about"))),
      button(() => sitDown({ lesson: 1 }), "", label("learn.begin")));
    this.seats = h("div", { class: "seats" });
    this.about = faint();
    this.summary = h("small");
    this.options = h("details", { class: "options" });
    this.form = h("form", { class: "new-game card-panel", onsubmit: (event) => this.start(event) });
    this.root = h("div", { class: "page lobby" },
      h("section", { class: "hero" }, h("h1", { tabindex: "-1" }, label(watching ? "lobby.watch" : "lobby.sit")),
        h("p", {}, label(watching ? "lobby.watch_about" : "lobby.sit_about"))),
      this.menu.notice ? h("p", { role: "status" }, this.menu.notice) : "",
      this.first, this.tables, this.form);
  }

  async open() {
    if (!this.menu.rules.some(({ name }) => name === this.choice.rules)) this.choice.rules = this.menu.rules[0].name;
    this.render();
    if (!this.watching) await this.showTables();
  }

  close() {}

  /* An agent of the command line is there to be played against, or to be watched: two in their order. */
  chooseNamed() {
    const { choice } = this, [first, second] = this.menu.agents.filter(({ named }) => named);
    if (first) choice[this.watching ? "player" : "opponent"] = first.name;
    if (second && this.watching) choice.opponent = second.name;
    if (first && !plays(first, choice.rules)) choice.rules = first.plays?.[0] ?? choice.rules;
  }

  /** @param {string} rules */
  agentsFor(rules) {
    return this.menu.agents.filter((agent) => plays(agent, rules));
  }

  /** @type {(name: Seat, legend: string, chosen: string) => HTMLElement} */
  agents(name, legend, chosen) {
    const agents = this.agentsFor(this.choice.rules);
    const usual = agents.filter((agent) => agent.usual), others = agents.filter((agent) => !agent.usual);
    const open = others.some((agent) => agent.name === chosen);
    return h("fieldset", { class: "agents" }, h("legend", {}, legend), this.agentGrid(usual, name, chosen),
      others.length ? h("details", { open }, h("summary", {}, label("lobby.others", { n: others.length })), this.agentGrid(others, name, chosen)) : null);
  }

  /** @type {(agents: AgentInfo[], name: Seat, chosen: string) => HTMLElement} */
  agentGrid(agents, name, chosen) {
    return h("div", { class: "agent-grid" }, agents.map((agent) =>
        h("label", { class: "agent" },
          h("input", { type: "radio", name, value: agent.name, checked: agent.name === chosen, onchange: () => { this.choice[name] = agent.name; this.summarize(); } }),
          h("span", { class: "agent-card" },
            portrait(agent),
            h("span", { class: "agent-text" },
              h("b", {}, agent.title), h("span", {}, agent.about), strength(agent))))));
  }

  /* The usual rule sets, and the others behind a button. */
  rules() {
    const { choice, menu: { rules } } = this;
    /** @param {boolean} usual */
    const group = (usual) => segmented("rules", label(usual ? "lobby.rules" : "lobby.other_rules"),
      Object.fromEntries(rules.filter((set) => set.usual === usual).map(({ name, title }) => [name, title])), choice.rules,
      (name) => { choice.rules = name; this.showRules(); });
    const open = rules.some(({ name, usual }) => name === choice.rules && !usual);
    return h("section", { class: "rules-choice stack" }, group(true), h("details", { open }, h("summary", {}, label("lobby.more_rules")), group(false)), this.about,
      button(() => openRules(choice.rules), "quiet", icon("rules"), label("lobby.read_rules")));
  }

  /* What depends on the rule set; the fields that it is chosen in stay, and with them the focus. */
  showRules() {
    const { choice } = this;
    // The rule set that was chosen last time may be gone.
    const chosen = this.menu.rules.find(({ name }) => name === choice.rules) ?? this.menu.rules[0];
    choice.rules = chosen.name;
    const agents = this.agentsFor(choice.rules).map(({ name }) => name);
    for (const seat of SEATS) if (!agents.includes(choice[seat])) choice[seat] = agents[0];
    this.about.textContent = chosen.about;
    this.seats.replaceChildren(
      this.watching ? this.agents("player", label("lobby.first"), choice.player) : "",
      this.agents("opponent", label(this.watching ? "lobby.second" : "lobby.opponent"), choice.opponent));
    this.summarize();
  }

  /* What the button begins: the last choice, unless it is changed. */
  summarize() {
    const { rules, opponent, player } = this.choice;
    /** @param {string} name */
    const title = (name) => this.menu.agents.find((agent) => agent.name === name)?.title ?? name;
    const seats = this.watching ? `${title(player)} – ${title(opponent)}` : title(opponent);
    const match = this.match();
    this.summary.textContent = [seats, this.menu.rules.find(({ name }) => name === rules)?.title,
      `${label(`lobby.kinds.${match.kind}`)} ${match.n ?? ""}`.trim(), ...(this.fromMemory ? [label("lobby.memory")] : [])].join(" · ");
  }

  render() {
    const { choice } = this;
    this.showRules();
    const kinds = segmented("kind", label("lobby.match"), LABELS.lobby.kinds, choice.kind,
      (value) => { choice.kind = /** @type {typeof choice.kind} */ (value); this.render(); this.field(`[name=kind][value=${value}]`)?.focus(); });
    this.options.replaceChildren(h("summary", {}, label("lobby.options")),
      h("div", { class: "field match-choice wrap" }, kinds, this.length()),
      this.watching ? "" : this.memory(),
      this.watching || choice.kind !== "single" ? "" : this.deal());
    this.form.replaceChildren(
      h("button", { class: "primary play" }, h("b", {}, label(this.watching ? "site.watch" : "lobby.deal")), this.summary),
      this.seats, this.rules(), this.options);
    this.summarize();
  }

  get fromMemory() {
    return this.choice.memory && !this.watching;
  }

  memory() {
    return h("label", { class: "memory row" },
      h("input", { type: "checkbox", name: "memory", checked: this.choice.memory, onchange: ({ target }) => { this.choice.memory = /** @type {HTMLInputElement} */ (target).checked; this.summarize(); } }),
      h("span", {}, h("b", {}, label("lobby.memory")), " ", h("span", { class: "faint" }, label("lobby.memory_about"))));
  }

  /* How many hands, or points, a match has. */
  length() {
    const { kind, lengths } = this.choice;
    if (kind === "single") return "";
    const [min, max, step, text] = kind === "best" ? [3, 99, 2, label("lobby.hands")] : [1, 1000, 1, label("lobby.points")];
    return h("div", { class: "field" }, h("label", { for: "length" }, text),
      h("input", { id: "length", type: "number", min, max, step, required: true, value: lengths[kind], oninput: ({ target }) => { lengths[kind] = Number(/** @type {HTMLInputElement} */ (target).value); this.summarize(); } }));
  }

  /* A certain deal, by the seed and the number that records and others name. */
  deal() {
    /** @type {(name: string, text: string, most: number) => HTMLElement} */
    const field = (name, text, most) => h("label", {}, text, h("input", { type: "number", name, min: 0, max: most, step: 1, placeholder: label("lobby.any") }));
    return h("details", { class: "deal-choice" }, h("summary", {}, label("lobby.certain_deal")), h("div", { class: "field-row wrap" }, field("seed", label("lobby.seed"), 2 ** 53 - 1), field("number", label("lobby.number"), 1e9)),
      faint(label("lobby.certain_about")));
  }

  /** @param {string} selector */
  field(selector) {
    return /** @type {HTMLInputElement | null} */ (this.form.querySelector(selector));
  }

  /** @returns {TableRequest} */
  dealt() {
    /** @param {string} name */
    const value = (name) => this.field(`[name=${name}]`)?.value ?? "";
    return value("seed") === "" ? {} : { seed: Number(value("seed")), number: Number(value("number") || 0), match: null };
  }

  /** @returns {MatchRequest} */
  match() {
    const { kind, lengths } = this.choice;
    return kind === "single" ? { kind } : { kind, n: lengths[kind] };
  }

  /** @param {SubmitEvent} event */
  async start(event) {
    event.preventDefault();
    const { rules, opponent, player } = this.choice;
    try {
      localStorage.setItem(KEY, JSON.stringify(this.choice));
    } catch {
      // The choice is only a convenience.
    }
    const play = /** @type {HTMLButtonElement} */ (this.form.querySelector("button.primary"));
    play.disabled = true;
    const seat = this.watching ? { player } : {};
    play.disabled = await sitDown({ rules, opponent, ...seat, match: this.match(), memory: this.fromMemory, coached: this.coached, ...this.dealt() });
  }

  async showTables() {
    /** @type {[TableSummary[], LessonProgress]} */
    const [all, { done, played }] = await Promise.all([get("/api/tables"), get("/api/lessons")]);
    const tables = all.filter((table) => !table.over);
    this.first.hidden = done.length > 0;
    this.coached = !played && !done.length;
    if (!tables.length) return this.tables.replaceChildren();
    return this.tables.replaceChildren(h("h2", {}, label("lobby.go_on")), h("ul", { class: "table-list stack" }, tables.map((table) => h("li", { class: "card-panel" },
      h("a", { href: `#/table/${table.id}` }, h("b", {}, table.title), h("span", {}, `${table.match} · ${table.score.join(" – ")}`)),
      h("button", { type: "button", class: "quiet small", "aria-label": label("lobby.give_up", table), onclick: () => this.forget(table) }, "✕")))));
  }

  /** @param {TableSummary} table */
  async forget({ id, title }) {
    const wish = await dialog(label("lobby.give_up_title"), h("p", {}, label("lobby.give_up_about", { title })),
      [["keep", label("lobby.keep"), "primary"], ["forget", label("lobby.give_it_up")]]);
    if (wish !== "forget") return;
    await attempt(async () => {
      await remove(`/api/tables/${id}`);
      await this.showTables();
      keepFocus();
    });
  }
}
