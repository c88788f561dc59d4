// @ts-check
/* The page of finished hands: those played here, and record files that are opened. */

/** @import { HandSummary, ReplayResult, UploadResult } from "../../../messages" */

import { get, post } from "../base/api.js";
import { attempt, toast } from "../base/dialogs.js";
import { faint, h } from "../base/dom.js";
import { capital, listed, label } from "../base/words.js";

const LARGEST = 5 * 1024 * 1024;
/** @type {UploadResult & { name: string } | null} */
let opened = null;

/**
 * A hand in the list; those of one group stand together.
 * @typedef {{ link: string, title: string, text: string, result: ReplayResult, note?: string, group?: string }} Listed
 */

/** @param {ReplayResult} result */
const won = (result) => (result.payoffs[0] > 0 ? "won" : result.payoffs[0] < 0 ? "lost" : "drawn");

const OUTCOMES = { won: "good", lost: "bad", drawn: "faint" };

/** @param {Listed} hand */
function handLink({ link, title, text, note, result }) {
  return h("li", { class: OUTCOMES[won(result)] }, h("a", { href: link }, h("b", {}, title), h("span", {}, text), h("small", {}, note ?? "")));
}

/* Hands of one match stand together, under its name. */
/** @param {Listed[]} hands */
function handList(hands) {
  /** @type {Map<string, Listed[]>} */
  const groups = new Map();
  for (const hand of hands) groups.set(hand.group ?? hand.link, [...(groups.get(hand.group ?? hand.link) ?? []), hand]);
  return h("ul", { class: "hand-list stack" }, [...groups.values()].map((group) => (group.length === 1 ? handLink(group[0])
    : h("li", { class: "hand-group stack" }, h("h3", {}, label("records.group", { title: group[0].title, n: group.length, won: group.filter((hand) => won(hand.result) === "won").length })),
      h("ul", { class: "hand-list stack" }, group.map(handLink))))));
}

export class RecordsPage {
  constructor() {
    this.file = h("div");
    this.own = h("div");
    /** @type {HTMLInputElement} */
    const input = h("input", { type: "file", id: "record-file", accept: ".jsonl,.json,.txt", onchange: () => this.read(input.files) });
    /** @type {HTMLElement} */
    const drop = h("div", {
      class: "drop card-panel wrap between",
      ondragover: (event) => { event.preventDefault(); drop.classList.add("over"); },
      ondragleave: () => drop.classList.remove("over"),
      ondrop: (event) => { event.preventDefault(); drop.classList.remove("over"); this.read(event.dataTransfer?.files); },
    }, h("label", { for: "record-file" }, h("b", {}, label("records.open")), h("span", {}, label("records.open_about"))), input);
    this.root = h("div", { class: "page records" }, h("h1", { tabindex: "-1" }, label("site.replays")), drop, this.file, this.own);
  }

  async open() {
    this.showFile();
    /** @type {HandSummary[]} */
    const records = await get("/api/records");
    this.own.replaceChildren(h("h2", {}, label("records.played")), ...[
      records.length ? this.filtered(records) : faint(label("records.none"))].flat());
  }

  /** @param {HandSummary[]} records */
  filtered(records) {
    const place = h("div");
    /** @type {Record<string, string>} */
    const chosen = { opponent: "", rules_title: "", won: "" };
    const show = () => {
      const left = records.filter((record) => (!chosen.opponent || record.opponent === chosen.opponent)
        && (!chosen.rules_title || record.rules_title === chosen.rules_title) && (!chosen.won || won(record.result) === chosen.won));
      place.replaceChildren(left.length ? handList(left.map((record) => ({
        link: `#/replay/${record.replay.id}/${record.replay.hand}`, group: record.replay.id, result: record.result,
        title: label("records.against", { rules: record.rules_title, opponent: capital(record.opponent) }), text: record.result.text, note: new Date((record.when ?? 0) * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }),
      }))) : faint(label("records.no_match")));
    };
    /** @type {(name: string, text: string, values: string[]) => HTMLElement} */
    const select = (name, text, values) => h("label", {}, text, h("select", { name, onchange: ({ target }) => { chosen[name] = /** @type {HTMLSelectElement} */ (target).value; show(); } },
      h("option", { value: "" }, label("records.all")), values.map((value) => h("option", { value }, name === "won" ? label(`records.results.${value}`) : value))));
    /** @param {"opponent" | "rules_title"} name */
    const values = (name) => [...new Set(records.map((record) => record[name]))].sort();
    show();
    return [h("div", { class: "filters wrap" }, select("opponent", label("lobby.opponent"), values("opponent")), select("rules_title", label("lobby.rules"), values("rules_title")),
      select("won", label("records.result"), ["won", "lost", "drawn"])), place];
  }

  close() {}

  /** @param {FileList | null} [files] */
  async read(files) {
    const file = files?.[0];
    if (!file) return;
    if (file.size > LARGEST) {
      toast(label("records.too_large", { name: file.name, size: (file.size / 1048576).toFixed(1) }));
      return;
    }
    await attempt(async () => {
      /** @type {UploadResult} */
      const found = await post("/api/replays", await file.text());
      opened = { ...found, name: file.name };
      this.showFile();
    });
  }

  showFile() {
    if (!opened) return;
    const { problems } = opened;
    this.file.replaceChildren(
      h("h2", {}, opened.name),
      problems.length ? h("div", { class: "problems", role: "alert" }, h("p", {}, label("records.problems", { n: problems.length })),
        h("ul", {}, problems.slice(0, 8).map((text) => h("li", {}, text)))) : "",
      handList(opened.hands.map((hand, place) => ({
        link: `#/replay/${hand.replay.id}/${hand.replay.hand}`, title: label("records.hand", { n: place + 1, players: listed(hand.players) }), text: `${hand.rules_title} · ${hand.result.text}`, result: hand.result,
      }))));
  }
}
