/* The statistics page: hands and matches by opponent and rule set, to look at and to take along. */

import { get } from "./api.js";
import { h, plural } from "./dom.js";

const signed = (value) => (value > 0 ? `+${value}` : String(value));
const number = (value, digits = 1) => (value === null || value === undefined ? "–" : Number(value).toFixed(digits).replace(/\.0$/, ""));
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
    const rows = told.rows ?? told;
    if (!rows.length) {
      this.body.replaceChildren(h("div", { class: "empty card-panel" }, h("p", {}, "No hand is finished yet."), h("a", { class: "button primary", href: "#/" }, "Play one")));
      return;
    }
    const sum = (name) => rows.reduce((total, row) => total + (row[name] ?? 0), 0);
    const bests = rows.map((row) => row.best).filter((value) => value !== null && value !== undefined);
    this.body.replaceChildren(
      h("div", { class: "tiles" },
        tile("hands played", sum("hands")),
        tile("hands won", share(sum("won"), sum("hands")), `${sum("won")} won, ${sum("lost")} lost, ${sum("drawn")} drawn`),
        tile("matches won", share(sum("matches_won"), sum("matches")), plural(sum("matches"), "match").replace("matchs", "matches")),
        tile("best hand", bests.length ? signed(Math.max(...bests)) : "–", "tricks more than the other")),
      h("div", { class: "table-scroll card-panel", tabindex: "0", role: "region", "aria-label": "Statistics by opponent and rule set" }, h("table", { class: "figures" },
        h("caption", { class: "sr-only" }, "By opponent and rule set"),
        h("thead", {}, h("tr", {}, ["Opponent", "Rule set", "Hands", "Won", "Drawn", "Lost", "Won", "Margin", "Best", "Matches", "Won"].map((text, place) =>
          h("th", { scope: "col", class: place > 1 ? "right" : "" }, text)))),
        h("tbody", {}, rows.map((row) => h("tr", {},
          h("th", { scope: "row" }, row.opponent), h("td", {}, row.rules),
          [row.hands, row.won, row.drawn, row.lost, share(row.won, row.hands), number(row.margin, 2), row.best === null ? "–" : signed(row.best), row.matches, row.matches_won]
            .map((value) => h("td", { class: "right" }, String(value ?? "–")))))))),
      h("p", { class: "exports" }, "Take it along: ",
        h("a", { href: "/api/statistics/export?form=csv", download: "german-whist.csv" }, "as CSV"), " · ",
        h("a", { href: "/api/statistics/export?form=jsonl", download: "german-whist.jsonl" }, "all hands as records (JSON lines)")));
  }

  close() {}
}
