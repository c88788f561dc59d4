/* The table page: shows a session, sends what is clicked or keyed, and moves what the server tells. */

import { get, post, Refused, Unreachable } from "./api.js";
import { actionName, cardOf, TAKE_HIDDEN, whyNot } from "./cards.js";
import { announce, attempt, dialog, dialogOpen, toast } from "./dialogs.js";
import { h, pause } from "./dom.js";
import { ExchangeBar } from "./exchange.js";
import { Felt } from "./felt.js";
import { HelpPanel } from "./help.js";
import { tool } from "./icons.js";
import { openRules } from "./menu.js";
import { openPages, sitDown } from "./pages.js";
import { Picker } from "./picker.js";
import { Plates } from "./plates.js";
import { Queue } from "./queue.js";
import { after, EMPTY, played, sceneOf } from "./scene.js";
import { scoreboard } from "./scoreboard.js";
import { change, feltOptions, onchange, openSettings, settings } from "./settings.js";
import { sound } from "./sound.js";
import { Stream } from "./stream.js";
import { WatchBar } from "./watchbar.js";
import { say } from "./words.js";

const PATIENCE = 1000;
const REST = { normal: 620, fast: 150, none: 0 };
const STOCK_GONE = { normal: 2200, fast: 900, none: 0 };
const QUIET = ["hand_over", "match_over"];

export class TablePage {
  constructor(id) {
    this.path = `/api/tables/${encodeURIComponent(id)}`;
    this.state = null;
    this.scene = EMPTY;
    this.fresh = null;
    this.queue = new Queue(() => delete this.felt.root.dataset.move);
    this.felt = new Felt(feltOptions);
    this.plates = new Plates(this.felt);
    this.picker = new Picker(this.felt, (action, card, wish) => this.play(action, card, wish));
    this.exchange = new ExchangeBar((action, card, wish) => this.play(action, card, wish));
    this.help = new HelpPanel({ onclose: () => this.toggleHelp(), onhint: () => this.hint() });
    this.watch = new WatchBar((wish) => this.act("speed", wish));
    this.title = h("h1", { tabindex: "-1" });
    this.told = h("section", { class: "sr-only", "aria-label": say("site.table_in_words") });
    this.guide = h("aside", { class: "guide", "aria-label": say("table.know"), "aria-live": "polite", hidden: true });
    this.hintTool = tool("hint", say("table.hint"), () => this.hint());
    this.seenTool = tool("seen", say("table.seen"), () => this.toggleHelp(), { "aria-pressed": "false" });
    this.backTool = tool("undo", say("table.take_back"), () => this.takeBack());
    this.again = h("button", { type: "button", class: "after-hand", hidden: true, onclick: () => this.scores() }, say("table.show_score"));
    this.felt.root.append(this.again, this.watch.root, this.exchange.root);
    this.root = h("div", { class: "table-page" },
      h("header", { class: "table-bar" },
        tool("menu", say("table.menu"), () => this.openMenu()), this.title,
        h("div", { class: "tools" }, this.backTool, this.hintTool, this.seenTool,
          tool("rules", say("site.rules"), () => this.rules(), { "data-menu": true }), tool("settings", say("site.settings_tool"), openSettings, { "data-menu": true }))),
      this.told, this.guide, h("div", { class: "table-main" }, this.felt.root, this.help.root));
    this.onclick = (event) => event.target.closest(".hit, .exchange-bar") || this.queue.elsewhere(event);
    document.addEventListener("click", this.onclick, true);
    this.stop = onchange(() => this.state && this.queue.push(() => this.settle(this.state, true)).then(() => this.rested()));
  }

  async open() {
    const state = await get(this.path);
    await this.queue.push(() => this.settle(state.state, true));
    this.rested();
    if (settings.help === "on" && !this.state.watched) this.toggleHelp(true);
    this.stream = new Stream(this.path, {
      after: this.state.n, onanswer: (answer) => this.receive(answer), onend: () => this.gone(),
    });
  }

  close() {
    this.closed = true;
    this.stream?.close();
    this.felt.close();
    this.stop();
    document.removeEventListener("click", this.onclick, true);
  }

  async gone() {
    try {
      await get(this.path);
      this.stream.begin();
    } catch (error) {
      if (error instanceof Refused) toast(error.message);
      else setTimeout(() => !this.closed && this.gone(), PATIENCE);
    }
  }

  // -- showing

  /* Puts the page in the state that the server told, at rest. */
  async settle(state, still = false) {
    const dealt = this.state === null || this.state.match.hand !== state.match.hand;
    if (this.state?.move !== state.move) this.help.clearHint();
    this.state = state;
    this.scene = sceneOf(state, settings.known === "hidden");
    this.render();
    await this.felt.show(this.scene, { still: still || this.queue.hurried, stagger: dealt && !still ? 14 : 0 });
    if (this.closed || this.state !== state) return;
    this.picker.update(state, this.fresh);
    this.exchange.update(state);
    if (!this.help.root.hidden) this.refreshHelp();
  }

  /* Once nothing moves any more, and the hand that played has let go, the decision is asked for. */
  async rested() {
    const { state, queue } = this;
    if (queue.waiting || this.closed) return;
    queue.rest(state.move);
    await pause(queue.ready);
    if (queue.move !== state.move || this.state !== state || this.closed) return;
    this.felt.root.dataset.move = state.move;
    const forced = settings.forced === "on" && state.turn === 0 && state.legal.length === 1 && !state.watched;
    if (!forced || state.phase === "choose" || dialogOpen()) return;
    await pause(REST[settings.motion]);
    if (queue.move === state.move) this.send(state.legal[0], cardOf(state.legal[0]), state.move);
  }

  render() {
    const { state } = this;
    const { match, said } = state;
    const watching = state.watched;
    const parts = [said.match, match.kind === "single" ? "" : say("table.hand", { n: match.hand }), state.rated || watching ? "" : say("table.not_rated")];
    this.title.replaceChildren(state.lesson ? say("table.first_hand") : state.rules_title, h("small", {}, parts.filter(Boolean).join(" · ")));
    document.title = say("site.page", { page: said.prompt });
    this.plates.update(state);
    this.told.replaceChildren(...said.table.map((text) => h("p", {}, text)));
    this.guide.hidden = !said.guide.length;
    this.guide.replaceChildren(...said.guide.map((text) => h("p", {}, text)));
    this.hintTool.hidden = this.seenTool.hidden = watching;
    this.backTool.hidden = watching || state.phase === "over" || state.left;
    this.hintTool.disabled = state.turn !== 0;
    this.again.hidden = state.phase !== "over" || (watching && !match.over);
    this.watch.root.hidden = !watching;
    this.watch.update(state.speed);
    if (state.trouble ?? state.notice) toast(state.trouble ?? state.notice);
  }

  /* Answers of the server are shown one after the other, event by event. */
  receive(answer) {
    this.queue.push(() => this.run(answer)).then(() => this.rested());
  }

  async run({ state, events }) {
    if (this.closed || state.n < this.state.n || (state.n === this.state.n && state.move === this.state.move)) return;
    for (const event of events) {
      if (event.n <= this.state.n || this.closed) continue;
      if (!QUIET.includes(event.kind)) announce(event.text); // The dialog tells the result.
      await this.happen(event, state);
    }
    const ended = this.state.phase !== "over" && state.phase === "over";
    await this.settle(state);
    if (ended && (!state.watched || state.match.over || state.match.kind === "single")) this.ended();
  }

  async happen(event, state) {
    const still = this.queue.hurried;
    const next = after(this.scene, event);
    if (event.kind === "stock_gone") {
      this.plates.say(event.text);
      if (!still) await pause(STOCK_GONE[settings.motion]);
    }
    if (event.kind === "drew" && event.who === 0) this.fresh = event.card;
    if (!next) return;
    if (event.kind === "won") {
      // Where the winner has to choose, the trick lies until that is done.
      if (state.phase === "choose") return;
      if (!still) await pause(REST[settings.motion]);
      sound(event.who === 0 ? "won" : "lost");
    } else {
      sound(event.kind === "drew" ? "draw" : "card");
    }
    const moved = next !== this.scene;
    this.scene = next;
    if (moved) await this.felt.show(next, { still: this.queue.hurried });
  }

  async ended() {
    const { state } = this;
    sound(state.match.over && state.match.kind !== "single" ? "match" : "hand");
    await pause(REST[settings.motion] * 1.5);
    if (!this.closed && this.state === state && !state.lesson) this.scores();
  }

  async scores() {
    if (dialogOpen() || this.state.phase !== "over") return;
    const { state } = this;
    const wish = await scoreboard(state);
    if (this.closed) return;
    const { id, hand } = state.replay;
    const acts = {
      next: () => this.next(), lobby: () => (location.hash = "#/"), again: () => this.anew({}),
      replay: () => (location.hash = `#/replay/${id}/${hand}`),
      same: () => this.anew({ again: { id, hand } }), swapped: () => this.anew({ again: { id, hand, swapped: true } }),
    };
    acts[wish]?.();
    if (wish.startsWith("#")) location.hash = wish;
  }

  // -- what the person does

  refuse(card, text) {
    this.queue.forget(); // Nothing came of it, so the next wish is one of its own.
    this.felt.refuse(card);
    sound("refuse");
    toast(text);
  }

  play(action, card, wish) {
    const { state } = this;
    const move = this.queue.wish(wish);
    if (move === null || move !== state.move) return;
    if (state.turn !== 0 || state.left) this.refuse(card, `${state.said.prompt}.`);
    else if (!state.legal.includes(action)) this.refuse(card, whyNot(state, action));
    else this.send(action, card, move);
  }

  send(action, card, move) {
    this.fresh = null;
    this.queue.push(async () => {
      if (card && this.state.phase !== "choose") {
        this.scene = played(this.scene, 0, card);
        this.picker.clear();
        this.plates.say(this.state.said.answer);
        sound("card");
        this.felt.show(this.scene);
      }
      try {
        await this.run(await post(`${this.path}/play`, { action, move }));
      } catch (error) {
        await this.refused(error, card);
      }
    }).then(() => this.rested());
  }

  async refused(error, card) {
    if (!(error instanceof Refused || error instanceof Unreachable)) throw error;
    await this.settle(error.answer?.state ?? this.state);
    if (error instanceof Refused) this.refuse(card, error.message);
  }

  /** Asks the server for something that is not a card. */
  act(path, body) {
    return this.queue.push(() => attempt(async () => this.run(await post(`${this.path}/${path}`, body)))).then(() => this.rested());
  }

  next() {
    const { phase, match } = this.state;
    return phase === "over" && !match.over && match.kind !== "single" ? this.act("next") : undefined;
  }

  takeBack() {
    return this.backTool.hidden ? undefined : this.act("take-back");
  }

  async claim() {
    const left = this.state.hand.length;
    const number = h("input", { type: "number", id: "claimed", min: 0, max: left, value: left });
    const wish = await dialog(say("table.claim"),
      [h("p", {}, say("table.claim_about")),
        h("div", { class: "field" }, h("label", { for: "claimed" }, say("table.claim_field", { n: left })), number)],
      [h("button", { value: "no", class: "quiet" }, say("table.play_on")), h("button", { value: "claim", class: "primary" }, say("table.claim_it"))]);
    if (wish === "claim") await this.act("claim", { tricks: Number(number.value), move: this.state.move });
  }

  anew(more) {
    const { state } = this;
    const single = state.match.kind === "single" || more.again;
    const match = single ? { kind: "single" } : { kind: state.match.kind, n: state.match.n };
    const wished = { opponent: state.opponent, player: state.player, match, ...(more.again ? more : { rules: state.rules }) };
    return sitDown(wished);
  }

  async openMenu() {
    const { state } = this;
    const going = !state.left && !(state.phase === "over" && (state.match.over || state.match.kind === "single"));
    const claims = state.open && state.turn === 0 && !state.watched;
    const wish = await openPages([
      claims ? ["claim", say("table.claim")] : null,
      this.backTool.hidden ? null : ["back", say("table.take_back_card")],
      ["rules", say("site.rules")], ["settings", say("site.settings")], ["keys", say("site.keys")],
      going && !state.watched && !state.lesson ? ["resign", say("table.give_up")] : null,
    ]);
    if (wish === "claim") this.claim();
    if (wish === "back") this.takeBack();
    if (wish === "keys") this.onkeys();
    if (wish === "rules") this.rules();
    if (wish === "settings") openSettings();
    if (wish === "resign") this.resign();
  }

  rules() {
    return openRules(this.state.rules);
  }

  async resign() {
    const what = this.state.match.kind === "single" ? "table.give_up_hand" : "table.give_up_match";
    const wish = await dialog(say(what), h("p", {}, say("table.give_up_about")),
      [h("button", { value: "stay", class: "primary" }, say("table.play_on")), h("button", { value: "resign" }, say("table.give_up"))]);
    if (wish !== "resign") return;
    await this.act("leave");
    location.hash = "#/";
  }

  // -- help

  async toggleHelp(on = this.help.root.hidden) {
    this.help.root.hidden = !on;
    this.seenTool.setAttribute("aria-pressed", String(on));
    if (settings.help !== (on ? "on" : "off")) change("help", on ? "on" : "off");
    if (on) await this.refreshHelp();
  }

  async refreshHelp() {
    try {
      this.help.show(await get(`${this.path}/help`), this.state.names[1]);
    } catch (error) {
      if (error instanceof Refused) toast(error.message);
    }
  }

  async hint() {
    await this.queue.tail;
    const { state } = this;
    if (state.turn !== 0 || this.hintTool.classList.contains("working")) return;
    this.hintTool.classList.add("working");
    this.help.hint.textContent = say("table.thinking");
    const patience = setTimeout(() => toast(say("table.thinking_long"), "hint"), PATIENCE);
    try {
      const hint = await post(`${this.path}/hint`);
      if (this.state.move !== state.move) return this.help.clearHint();
      this.help.showHint(hint);
      this.exchange.point(hint.action);
      this.picker.point(hint.action === TAKE_HIDDEN ? "stock" : cardOf(hint.action));
      if (this.help.root.hidden) toast(hint.why, "hint");
      announce(say("table.hinted", { action: actionName(hint.action), why: hint.why }));
    } catch (error) {
      this.help.clearHint();
      toast(error.message);
    } finally {
      clearTimeout(patience);
      this.hintTool.classList.remove("working");
    }
  }

  // -- keys

  key(event) {
    if (event.key === "Escape" && !this.help.root.hidden) return this.toggleHelp(false);
    const { state } = this;
    if (!state) return false;
    const acts = {
      i: () => this.hint(), p: () => this.toggleHelp(), n: () => this.next(), ",": openSettings, m: () => this.openMenu(),
      z: () => this.takeBack(), r: () => announce(state.said.table.join(" ")),
      u: () => change("sound", settings.sound === "on" ? "off" : "on"),
    };
    const act = acts[event.key.toLowerCase()];
    if (act) return act() ?? true;
    if (state.watched) return this.watch.key(event);
    return this.exchange.key(event) || this.picker.key(event);
  }
}
