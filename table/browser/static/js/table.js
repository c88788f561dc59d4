/* The table page: shows a sitting, plays what is clicked or keyed, and moves what the server tells. */

import { get, isConnected, post, Refused, Unreachable } from "./api.js";
import { actionName, cardOf, SUIT_NAMES, suitOf, TAKE_HIDDEN } from "./cards.js";
import { announce, dialog, dialogOpen, toast } from "./dialogs.js";
import { h, pause } from "./dom.js";
import { Felt } from "./felt.js";
import { HelpPanel } from "./help.js";
import { icon } from "./icons.js";
import { Picker } from "./picker.js";
import { namesOf, Plates } from "./plates.js";
import { after, EMPTY, played, sceneOf } from "./scene.js";
import { scoreboard } from "./scoreboard.js";
import { change, feltOptions, onchange, openSettings, settings } from "./settings.js";
import { sound } from "./sound.js";
import { WatchBar } from "./watchbar.js";

const WAIT = 20;
const PATIENCE = 1000;
const REST = { normal: 620, fast: 220, none: 0 };

function tool(name, text, onclick, extra = {}) {
  return h("button", { type: "button", class: "tool", title: text, "aria-label": text, onclick, ...extra }, icon(name));
}

/* The server knows the rules; all that can be against them is not to follow suit. */
function whyNot(state) {
  if (state.phase === "choose") return "First take one of the cards of the stock.";
  const led = SUIT_NAMES[suitOf(state.trick[0].card)];
  return `${led[0].toUpperCase()}${led.slice(1)} were led, and you hold ${led}: follow suit.`;
}

export class TablePage {
  constructor(id) {
    this.path = `/api/tables/${encodeURIComponent(id)}`;
    this.state = null;
    this.scene = EMPTY;
    this.seen = 0;
    this.busy = 0;
    this.closed = false;
    this.hurry = false;
    this.chain = Promise.resolve();
    this.felt = new Felt(feltOptions);
    this.plates = new Plates(this.felt);
    this.picker = new Picker(this.felt, (action, card) => this.play(action, card));
    this.help = new HelpPanel({ onclose: () => this.toggleHelp(), onhint: () => this.hint() });
    this.watch = new WatchBar((wish) => this.speed(wish));
    this.title = h("h1", { tabindex: "-1" });
    this.told = h("section", { class: "sr-only", "aria-label": "The table in words" });
    this.seenTool = tool("seen", "Cards seen (P)", () => this.toggleHelp(), { "aria-pressed": "false" });
    this.hintTool = tool("hint", "Hint (I)", () => this.hint());
    this.leaveTool = tool("leave", "Leave the table", () => this.leave());
    this.again = h("button", { type: "button", class: "after-hand", hidden: true, onclick: () => this.scores() }, "Show the score");
    this.felt.root.append(this.again, this.watch.root);
    this.root = h("div", { class: "table-page" },
      h("header", { class: "table-bar" },
        h("a", { href: "#/", class: "tool", title: "Lobby", "aria-label": "Lobby" }, icon("back")), this.title,
        h("div", { class: "tools" }, this.hintTool, this.seenTool, tool("settings", "Settings (,)", openSettings),
          tool("keys", "Keys (?)", () => this.onkeys?.()), this.leaveTool)),
      this.told, h("div", { class: "table-main" }, this.felt.root, this.help.root));
    this.stop = onchange(() => this.state && this.settle(this.state, true));
  }

  async open() {
    const answer = await get(this.path);
    this.seen = answer.state.n ?? 0;
    await this.settle(answer.state, true);
    if (settings.help === "on" && !answer.state.watched) this.toggleHelp(true);
    this.follow();
  }

  close() {
    this.closed = true;
    this.polling?.abort();
    this.felt.close();
    this.stop();
  }

  // -- showing

  /* Puts the page in the state that the server told, at rest. */
  async settle(state, still = false) {
    const fresh = this.state === null || this.state.match.hand !== state.match.hand;
    if (this.state?.move !== state.move) this.help.clearHint();
    this.state = state;
    this.scene = sceneOf(state);
    this.render();
    await this.felt.show(this.scene, { still, stagger: fresh && !still ? 14 : 0 });
    if (this.closed || this.state !== state) return;
    this.picker.update(state);
    this.felt.root.dataset.move = state.move;
    if (this.help.root.hidden === false) this.refreshHelp();
  }

  render() {
    const { state } = this;
    const watching = state.player !== "human";
    const parts = [state.said.match, state.match.kind === "single" ? null : `hand ${state.match.hand}`];
    this.title.replaceChildren(state.rules_title, h("small", {}, parts.filter(Boolean).join(" · ")));
    document.title = `${state.said.prompt} · German Whist`;
    this.plates.update(state);
    this.told.replaceChildren(...state.said.table.map((text) => h("p", {}, text)));
    this.hintTool.hidden = this.seenTool.hidden = watching;
    this.hintTool.disabled = state.turn !== 0;
    this.again.hidden = state.phase !== "over" || (state.watched && !state.match.over);
    this.watch.root.hidden = !watching;
    this.watch.update(state.speed);
    this.leaveTool.hidden = state.phase === "over";
    if (state.trouble ?? state.notice) toast(state.trouble ?? state.notice);
  }

  /* Answers of the server are shown one after the other, event by event. */
  receive(answer) {
    this.busy += 1;
    this.chain = this.chain.then(() => this.run(answer)).catch((error) => console.error(error)).then(() => (this.busy -= 1));
    return this.chain;
  }

  async run({ state, events }) {
    for (const event of events ?? []) {
      if (this.closed) return;
      if (event.n <= this.seen) continue;
      this.seen = event.n;
      announce(event.text);
      const next = after(this.scene, event);
      if (!next) continue;
      const still = this.hurry;
      if (event.kind === "won") {
        // Where the winner has to choose, the trick lies until that is done.
        if (state.phase === "choose" && event === events.findLast((each) => each.kind === "won")) continue;
        if (!still) await pause(REST[settings.motion]);
        sound(event.who === 0 ? "won" : "lost");
      } else {
        sound(event.kind === "drew" ? "draw" : "card");
      }
      const moved = next !== this.scene;
      this.scene = next;
      if (moved) await this.felt.show(next, { still });
    }
    this.seen = Math.max(this.seen, state.n ?? 0);
    const ended = this.state.phase !== "over" && state.phase === "over";
    await this.settle(state);
    if (ended && (!state.watched || state.match.over || state.match.kind === "single")) this.ended();
  }

  async ended() {
    const { state } = this;
    sound(state.match.over && state.match.kind !== "single" ? "match" : "hand");
    announce(state.result?.text);
    await pause(REST[settings.motion] * 1.5);
    if (!this.closed && this.state === state) this.scores();
  }

  async scores() {
    if (dialogOpen() || this.state.phase !== "over") return;
    const wish = await scoreboard(this.state);
    if (this.closed) return;
    if (wish === "next") this.next();
    if (wish === "lobby") location.hash = "#/";
    if (wish === "again") this.anew();
    if (wish === "replay") location.hash = `#/replay/${this.state.replay.id}/${this.state.replay.hand}`;
  }

  // -- what the person does

  refuse(card, text) {
    this.felt.refuse(card);
    sound("refuse");
    toast(text);
  }

  async play(action, card) {
    if (this.sending) return;
    if (this.busy) {
      // The last trick is still being shown: finish that at once, then play.
      this.hurry = true;
      await this.chain;
      this.hurry = false;
    }
    const { state } = this;
    if (state.turn !== 0 || state.left) return this.refuse(card, `${state.said.prompt}.`);
    if (!state.legal.includes(action)) return this.refuse(card, whyNot(state));
    this.sending = true;
    if (card && state.phase !== "choose") {
      this.scene = played(this.scene, 0, card);
      this.picker.clear();
      sound("card");
      this.felt.show(this.scene);
    }
    try {
      this.receive(await post(`${this.path}/play`, { action, move: state.move }));
    } catch (error) {
      await this.refused(error, card);
    } finally {
      this.sending = false;
    }
    await this.chain;
    this.follow();
  }

  async refused(error, card) {
    if (error instanceof Unreachable) {
      await this.settle(this.state);
      return;
    }
    if (!(error instanceof Refused)) throw error;
    if (error.answer.state) await this.settle(error.answer.state);
    this.refuse(card, error.message);
  }

  async act(path, body) {
    try {
      this.receive(await post(`${this.path}/${path}`, body));
      await this.chain;
      this.follow();
    } catch (error) {
      toast(error.message);
    }
  }

  next() {
    if (this.state.phase === "over" && !this.state.match.over && this.state.match.kind !== "single") return this.act("next");
    return undefined;
  }

  speed(wish) {
    return this.act("speed", wish);
  }

  async anew() {
    const { state } = this;
    const match = state.match.kind === "single" ? { kind: "single" } : { kind: state.match.kind, n: state.match.n };
    try {
      const { state: { id } } = await post("/api/tables", { rules: state.rules, opponent: state.opponent, player: state.player, match });
      location.hash = `#/table/${id}`;
    } catch (error) {
      toast(error.message);
    }
  }

  async leave() {
    const watching = this.state.player !== "human";
    const wish = await dialog(watching ? "Stop watching?" : "Leave the table?",
      h("p", {}, watching ? "The table can be opened again from the lobby."
        : "You can come back and play on, or give the hand up for good."),
      [h("button", { value: "stay", class: "quiet" }, "Stay"),
        watching ? null : h("button", { value: "resign" }, "Give up"),
        h("button", { value: "later", class: "primary" }, "Play on later")]);
    if (wish === "later") location.hash = "#/";
    if (wish === "resign") {
      await post(`${this.path}/leave`).catch((error) => toast(error.message));
      location.hash = "#/";
    }
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
      this.help.show(await get(`${this.path}/help`), namesOf(this.state)[1]);
    } catch (error) {
      if (error instanceof Refused) toast(error.message);
    }
  }

  async hint() {
    const { state } = this;
    if (state.turn !== 0 || this.busy || this.hinting) return;
    this.hinting = true;
    this.hintTool.classList.add("working");
    this.help.hint.textContent = "Thinking it over…";
    const patience = setTimeout(() => toast("Thinking it over… The first hint on a machine takes some seconds.", "hint"), PATIENCE);
    try {
      const hint = await post(`${this.path}/hint`);
      if (this.state !== state) return this.help.clearHint();
      this.help.showHint(hint);
      this.picker.point(hint.action === TAKE_HIDDEN ? "stock" : cardOf(hint.action));
      if (this.help.root.hidden) toast(hint.why, "hint");
      announce(`Hint: ${actionName(hint.action)}. ${hint.why}`);
    } catch (error) {
      this.help.clearHint();
      toast(error.message);
    } finally {
      clearTimeout(patience);
      this.hinting = false;
      this.hintTool.classList.remove("working");
    }
  }

  // -- the other side

  /* Waits for what the server has to tell, as long as it is not this person's turn. */
  async follow() {
    if (this.following) return;
    this.following = true;
    while (!this.closed && this.awaited()) {
      this.polling = new AbortController();
      try {
        const wait = isConnected() ? WAIT : 0;
        const answer = await get(`${this.path}?after=${this.seen}&wait=${wait}`, this.polling.signal);
        await this.receive(answer);
      } catch (error) {
        if (error.name === "AbortError") break;
        if (error instanceof Refused && error.status === 404) {
          toast(error.message);
          break;
        }
        await pause(1200);
      }
    }
    this.following = false;
  }

  awaited() {
    const { state } = this;
    if (!isConnected()) return true;
    if (state.player !== "human") return !(state.phase === "over" && (state.match.over || state.match.kind === "single"));
    return state.phase !== "over" && state.turn !== 0;
  }

  // -- keys

  key(event) {
    if (event.key === "Escape" && !this.help.root.hidden) return this.toggleHelp(false);
    const { state } = this;
    if (!state) return false;
    const acts = {
      i: () => this.hint(), p: () => this.toggleHelp(), n: () => this.next(), ",": openSettings,
      r: () => announce(state.said.table.join(" ")),
      u: () => change("sound", settings.sound === "on" ? "off" : "on"),
    };
    const act = acts[event.key.toLowerCase()];
    if (act) return act() ?? true;
    if (state.player !== "human") return this.watch.key(event);
    return this.picker.key(event);
  }
}
