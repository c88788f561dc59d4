// @ts-check
/* The statistics page: hands and matches by opponent and rule set, to look at and to take along. */

/** @import { RatingPoint, Statistics } from "../../../messages" */

import { get } from "../base/api.js";
import { faint, h } from "../base/dom.js";
import { capital, LABELS, say, signed } from "../base/words.js";
import { chart } from "./chart.js";

/** @type {(won: number, all: number) => string} */
const share = (won, all) => (all ? `${Math.round((100 * won) / all)} %` : "–");

/** @type {(text: string, value: string | number, note?: string) => HTMLElement} */
function tile(text, value, note) {
  return h("div", { class: "tile card-panel" }, h("b", {}, value), h("span", {}, text), note ? h("small", {}, note) : null);
}

export class StatisticsPage {
  constructor() {
    this.body = h("div", {}, faint(say("statistics.counting")));
    this.root = h("div", { class: "page statistics" }, h("h1", { tabindex: "-1" }, say("site.statistics")), this.body);
  }

  async open() {
    /** @type {Statistics} */
    const told = await get("/api/statistics");
    const { rows, total } = told;
    /** @type {(title: string, points: RatingPoint[]) => HTMLElement | null} */
    const rated = (title, points) => (points.length ? chart({ title, points: points.map(({ rating, deviation }) => ({ value: rating, width: 2 * deviation })) }) : null);
    const charts = h("div", { class: "charts" }, rated(say("statistics.play"), told.play), rated(say("statistics.puzzles"), told.puzzles),
      told.accuracy.length ? chart({ title: say("statistics.accuracy"), unit: " %", from: 0, to: 100, points: told.accuracy.map(({ accuracy }) => ({ value: accuracy })) }) : null);
    if (!rows.length) {
      this.body.replaceChildren(h("div", { class: "empty card-panel" }, h("p", {}, say("statistics.none")), h("a", { class: "button primary", href: "#/" }, say("statistics.play_one"))), charts);
      return;
    }
    const best = Math.max(...rows.map((row) => row.best));
    this.body.replaceChildren(
      h("div", { class: "tiles" },
        tile(say("statistics.hands", { n: total.hands }), total.hands),
        tile(say("statistics.won"), share(total.won, total.hands), say("statistics.won_note", total)),
        tile(say("statistics.matches"), share(total.matches_won, total.matches), say("statistics.matches_note", { won: total.matches_won, n: total.matches })),
        tile(say("statistics.best"), signed(best), say("statistics.best_note"))),
      h("div", { class: "table-scroll card-panel", tabindex: "0", role: "region", "aria-label": say("statistics.region") }, h("table", { class: "figures" },
        h("caption", { class: "sr-only" }, say("statistics.caption")),
        h("thead", {}, h("tr", {}, LABELS.statistics.columns.map((text, place) =>
          h("th", { scope: "col", class: place > 1 ? "right" : "" }, text)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, capital(row.opponent)), h("td", {}, row.rules),
          [row.hands, row.won, row.drawn, row.lost, share(row.won, row.hands), signed(row.margin, 2), signed(row.best), row.matches, row.matches_won]
            .map((value) => h("td", { class: "right" }, String(value)))))))),
      charts,
      h("p", { class: "exports" }, say("statistics.take_along"),
        h("a", { href: "/api/statistics/export?form=csv", download: "german-whist.csv" }, say("statistics.csv")), " · ",
        h("a", { href: "/api/statistics/export?form=jsonl", download: "german-whist.jsonl" }, say("statistics.jsonl"))));
  }

  close() {}
}
