// @ts-check
/* The table page: what is drawn, what the server sends and what the person does, put together; and what
   can be done besides playing cards: help and hints, the next hand, a claim, giving up. */

/** @import { Hint, SeenCards, TableRequest, TableState, TableUpdate } from "../../../messages" */
/** @import { HandOver } from "./scoreboard.js" */

import { get, post, Refused } from "../base/api.js";
import { announce, dialog, dialogOpen, hideToast, messageOf, openKeys, toast } from "../base/dialogs.js";
import { h } from "../base/dom.js";
import { openRules } from "../base/menu.js";
import { newTable, openPages, sitDown } from "../base/pages.js";
import { change, openSettings, settings } from "../base/settings.js";
import { label, TOUCH } from "../base/words.js";
import { actionName } from "../cards/names.js";
import { mayTakeBack, PageView } from "./page_view.js";
import { TableFeed } from "./table_feed.js";
import { TableInput } from "./table_input.js";

const PATIENCE = 1000;

/** The page of a table that the server has.
 * @param {string} id
 */
export async function tablePage(id) {
  const path = `/api/tables/${encodeURIComponent(id)}`;
  return new TablePage(path, newTable(id) ?? (/** @type {TableUpdate} */ (await get(path))).state);
}

class TablePage {
  /**
   * @param {string} path
   * @param {TableState} state
   */
  constructor(path, state) {
    this.view = new PageView((action) => () => void this[action](), (wish) => this.input.send("speed", wish));
    this.root = this.view.root;
    this.feed = new TableFeed(path, this.view, state, {
      settled: (shown) => {
        this.input.update(shown);
        this.showHint();
        this.refreshHelp();
      },
      resting: (shown) => this.input.playForced(shown),
      ended: () => this.scores(),
    });
    this.input = new TableInput(this.feed);
    /** @type {{ move: number, hint: Hint } | null} */
    this.hinted = null;
  }

  async open() {
    await this.feed.open();
    import("./scoreboard.js").catch(() => {}); // It will be asked for when the hand is over.
    if (settings.help === "on" && !this.state.watched) this.toggleHelp(true);
  }

  close() {
    this.feed.close();
    this.input.close();
    this.view.tableView.close();
  }

  get state() {
    return this.feed.state;
  }

  /** Whether a hand is over that another one follows. */
  get between() {
    const { phase, match } = this.state;
    return phase === "over" && !match.over && match.kind !== "single";
  }

  next() {
    return this.between ? this.input.send("next") : undefined;
  }

  takeBack() {
    return mayTakeBack(this.state) ? this.input.send("take-back") : undefined;
  }

  rules() {
    return openRules(this.state.rules);
  }

  async scores() {
    const { scoreboard } = await import("./scoreboard.js");
    const state = /** @type {HandOver} */ (this.state);
    if (dialogOpen() || state.phase !== "over" || this.feed.closed) return;
    const wish = await scoreboard(state);
    if (this.feed.closed) return;
    const { id, hand } = state.replay;
    /** @type {Record<string, () => unknown>} */
    const acts = {
      next: () => this.next(), lobby: () => (location.hash = "#/"), again: () => this.anew(),
      replay: () => (location.hash = `#/replay/${id}/${hand}`),
      same: () => this.anew({ id, hand }), swapped: () => this.anew({ id, hand, swapped: true }),
    };
    acts[wish]?.();
    if (wish.startsWith("#")) location.hash = wish;
  }

  /** Another table like this one, with the cards of a hand that was played where one is named.
   * @param {TableRequest["replayed_from"]} [earlier]
   */
  anew(earlier) {
    const { opponent, player, rules, lesson, memory, match: { kind, n } } = this.state;
    if (lesson) return sitDown({ lesson });
    const match = earlier || kind === "single" ? { kind: "single" } : { kind, n };
    return sitDown({ opponent, player, memory, match, ...(earlier ? { replayed_from: earlier } : { rules }) });
  }

  async claim() {
    const left = this.state.hand.length;
    const number = h("input", { type: "number", id: "claimed", min: 0, max: left, value: left });
    const wish = await dialog(label("table.claim"),
      [h("p", {}, label("table.claim_about")),
        h("div", { class: "field" }, h("label", { for: "claimed" }, label("table.claim_field", { n: left })), number)],
      [["no", label("table.play_on"), "quiet"], ["claim", label("table.claim_it"), "primary"]]);
    if (wish === "claim") await this.input.send("claim", { tricks: Number(number.value), move: this.state.move });
  }

  async leave() {
    await this.input.send("leave");
    location.hash = "#/";
  }

  async resign() {
    const what = this.state.match.kind === "single" ? "table.give_up_hand" : "table.give_up_match";
    const wish = await dialog(label(what), h("p", {}, label("table.give_up_about")),
      [["stay", label("table.play_on"), "primary"], ["resign", label("table.give_up")]]);
    if (wish === "resign") await this.leave();
  }

  async openMenu() {
    const { state } = this;
    const going = !state.left && (state.phase !== "over" || this.between);
    const claims = state.open && state.turn === 0 && !state.watched && !state.claim_refused;
    const wish = await openPages([
      claims ? ["claim", label("table.claim")] : null,
      mayTakeBack(state) ? ["back", label("table.take_back_card")] : null,
      ["rules", label("site.rules")], ["settings", label("site.settings")], TOUCH ? null : ["keys", label("site.keys")],
      going && !state.watched && !state.lesson ? ["resign", label("table.give_up")] : null,
    ]);
    /** @type {Record<string, () => unknown>} */
    const acts = {
      claim: () => this.claim(), back: () => this.takeBack(), rules: () => this.rules(), settings: openSettings, keys: openKeys,
      resign: () => this.resign(),
    };
    acts[wish]?.();
  }

  // -- help

  async toggleHelp(on = Boolean(this.view.help.root.hidden)) {
    if (on && this.state.memory) return;
    this.view.showHelp(on);
    if (settings.help !== (on ? "on" : "off")) change("help", on ? "on" : "off");
    await this.refreshHelp();
  }

  async refreshHelp() {
    const { help } = this.view;
    if (help.root.hidden) return;
    try {
      help.show(/** @type {SeenCards} */ (await get(`${this.feed.path}/help`)), this.state.names[1], this.state.trump);
    } catch (error) {
      if (error instanceof Refused) toast(error.message);
    }
  }

  async hint() {
    await this.feed.queue.tail;
    const { state, view: { help, hintTool } } = this;
    if (state.turn !== 0 || state.left || hintTool.classList.contains("working")) return;
    hintTool.classList.add("working");
    help.hint.textContent = label("table.thinking");
    const patience = setTimeout(() => toast(label("table.thinking_long"), "hint"), PATIENCE);
    try {
      /** @type {Hint} */
      const hint = await post(`${this.feed.path}/hint`);
      hideToast();
      await this.feed.queue.tail; // A card that was played meanwhile.
      if (this.state.move !== state.move) return help.clearHint();
      help.showHint(hint);
      this.hinted = { move: state.move, hint };
      this.showHint();
      announce(label("table.hinted", { action: actionName(hint.action), why: hint.why }));
    } catch (error) {
      help.clearHint();
      toast(messageOf(error));
    } finally {
      clearTimeout(patience);
      hintTool.classList.remove("working");
    }
  }

  /** Shows a hint until its decision is made. States come without a move too: where help is noted, or a
   * setting changes. */
  showHint() {
    const { hinted, state, view: { help, plates } } = this;
    if (!hinted || hinted.move !== state.move || state.turn !== 0 || state.left) {
      this.hinted = null;
      return;
    }
    this.input.point(hinted.hint.action);
    if (help.root.hidden) plates.showPrompt(hinted.hint.why, { yours: true, hint: true });
  }

  // -- keys

  /** @param {KeyboardEvent} event */
  key(event) {
    const { state } = this;
    /** @type {Record<string, () => unknown>} */
    const acts = {
      i: () => this.hint(), p: () => this.toggleHelp(), n: () => this.next(), ",": openSettings, m: () => this.openMenu(),
      z: () => this.takeBack(), r: () => announce(state.texts.table.join(" ")),
      u: () => change("sound", settings.sound === "on" ? "off" : "on"),
    };
    if (event.key === "Escape" && !this.view.help.root.hidden) acts.escape = () => this.toggleHelp(false);
    const act = acts[event.key.toLowerCase()];
    if (!act) return state.watched ? this.view.watch.key(event) : this.input.key(event);
    act();
    return true;
  }
}
