// @ts-check
/* The statistics page: hands and matches by opponent and rule set, to look at and to take along. */

/** @import { RatingPoint, Statistics } from "../../../messages" */

import { get } from "../base/api.js";
import { faint, h } from "../base/dom.js";
import { LABELS, label, signed } from "../base/words.js";
import { chart } from "./chart.js";

/** @type {(won: number, all: number) => string} */
const share = (won, all) => (all ? `${Math.round((100 * won) / all)} %` : "–");

/** @type {(text: string, value: string | number, note?: string) => HTMLElement} */
function tile(text, value, note) {
  return h("div", { class: "tile card-panel stack" }, h("b", {}, value), h("span", {}, text), note ? h("small", {}, note) : null);
}

export class StatisticsPage {
  constructor() {
    this.body = h("div", {}, faint(label("statistics.counting")));
    this.root = h("div", { class: "page statistics" }, h("h1", { tabindex: "-1" }, label("site.statistics")), this.body);
  }

  async open() {
    /** @type {Statistics} */
    const statistics = await get("/api/statistics");
    const { rows, total } = statistics;
    /** @type {(title: string, points: RatingPoint[]) => HTMLElement | null} */
    const rated = (title, points) => (points.length ? chart({ title, points: points.map(({ rating, deviation }) => ({ value: rating, width: 2 * deviation })) }) : null);
    const charts = h("div", { class: "charts parts" }, rated(label("statistics.play"), statistics.play), rated(label("statistics.puzzles"), statistics.puzzles),
      statistics.accuracy.length ? chart({ title: label("statistics.accuracy"), unit: " %", range: [0, 100], points: statistics.accuracy.map(({ accuracy }) => ({ value: accuracy })) }) : null);
    if (!rows.length) {
      this.body.replaceChildren(h("div", { class: "empty card-panel parts" }, h("p", {}, label("statistics.none")), h("a", { class: "button primary", href: "#/" }, label("statistics.play_one"))), charts);
      return;
    }
    const best = Math.max(...rows.map((row) => row.best));
    this.body.replaceChildren(
      h("div", { class: "tiles parts" },
        tile(label("statistics.hands", { n: total.hands }), total.hands),
        tile(label("statistics.won"), share(total.won, total.hands), label("statistics.won_note", total)),
        tile(label("statistics.matches"), share(total.matches_won, total.matches), label("statistics.matches_note", { won: total.matches_won, n: total.matches })),
        tile(label("statistics.best"), signed(best), label("statistics.best_note"))),
      h("div", { class: "table-scroll card-panel", tabindex: "0", role: "region", "aria-label": label("statistics.region") }, h("table", { class: "figures" },
        h("caption", { class: "sr-only" }, label("statistics.caption")),
        h("thead", {}, h("tr", {}, LABELS.statistics.columns.map((text, place) =>
          h("th", { scope: "col", class: place > 1 ? "right" : "" }, text)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, row.opponent), h("td", {}, row.rules),
          [row.hands, row.won, row.drawn, row.lost, share(row.won, row.hands), signed(row.margin, 2), signed(row.best), row.matches, row.matches_won]
            .map((value) => h("td", { class: "right" }, String(value)))))))),
      charts,
      h("p", { class: "exports" }, label("statistics.take_along"),
        h("a", { href: "/api/statistics/export?form=csv", download: "german-whist.csv" }, label("statistics.csv")), " · ",
        h("a", { href: "/api/statistics/export?form=jsonl", download: "german-whist.jsonl" }, label("statistics.jsonl"))));
  }

  close() {}
}
