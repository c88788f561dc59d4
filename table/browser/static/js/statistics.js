/* The statistics page: hands and matches by opponent and rule set, to look at and to take along. */

import { get } from "./api.js";
import { chart } from "./chart.js";
import { h } from "./dom.js";

const signed = (value) => (value > 0 ? `+${value}` : String(value));
const share = (won, all) => (all ? `${Math.round((100 * won) / all)} %` : "–");

function tile(text, value, note) {
  return h("div", { class: "tile card-panel" }, h("b", {}, value), h("span", {}, text), note ? h("small", {}, note) : null);
}

export class StatisticsPage {
  constructor() {
    this.body = h("div", {}, h("p", { class: "faint" }, "Counting…"));
    this.root = h("div", { class: "page statistics" }, h("h1", { tabindex: "-1" }, "Statistics"), this.body);
  }

  async open() {
    const told = await get("/api/statistics");
    const { rows, total } = told;
    const rated = (title, points) => (points.length ? chart({ title, points: points.map(({ rating, deviation }) => ({ value: rating, width: 2 * deviation })) }) : null);
    const charts = h("div", { class: "charts" }, rated("Rating against players", told.play), rated("Rating on puzzles", told.puzzles),
      told.accuracy.length ? chart({ title: "Accuracy, hand by hand", unit: " %", from: 0, to: 100, points: told.accuracy.map(({ accuracy }) => ({ value: accuracy })) }) : null);
    if (!rows.length) {
      this.body.replaceChildren(h("div", { class: "empty card-panel" }, h("p", {}, "No hand is finished yet."), h("a", { class: "button primary", href: "#/" }, "Play one")), charts);
      return;
    }
    const best = Math.max(...rows.map((row) => row.best));
    this.body.replaceChildren(
      h("div", { class: "tiles" },
        tile("hands played", total.hands),
        tile("hands won", share(total.won, total.hands), `${total.won} won, ${total.lost} lost, ${total.drawn} drawn`),
        tile("matches won", share(total.matches_won, total.matches), `${total.matches_won} of ${total.matches}`),
        tile("best hand", signed(best), "tricks more than the other")),
      h("div", { class: "table-scroll card-panel", tabindex: "0", role: "region", "aria-label": "Statistics by opponent and rule set" }, h("table", { class: "figures" },
        h("caption", { class: "sr-only" }, "By opponent and rule set"),
        h("thead", {}, h("tr", {}, ["Opponent", "Rule set", "Hands", "Won", "Drawn", "Lost", "Won", "Margin", "Best", "Matches", "Won"].map((text, place) =>
          h("th", { scope: "col", class: place > 1 ? "right" : "" }, text)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, row.opponent), h("td", {}, row.rules),
          [row.hands, row.won, row.drawn, row.lost, share(row.won, row.hands), row.margin.toFixed(2), signed(row.best), row.matches, row.matches_won]
            .map((value) => h("td", { class: "right" }, String(value)))))))),
      charts,
      h("p", { class: "exports" }, "Take it along: ",
        h("a", { href: "/api/statistics/export?form=csv", download: "german-whist.csv" }, "as CSV"), " · ",
        h("a", { href: "/api/statistics/export?form=jsonl", download: "german-whist.jsonl" }, "all hands as records (JSON lines)")));
  }

  close() {}
}
