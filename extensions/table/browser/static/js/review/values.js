// @ts-check
/* What each card of a decision is worth, as a table: the best five first, and then the others. Bars
   stand on the whole scale, so that a row of 1 % looks like one. */

/** @import { ActionValue, PositionValues } from "../../../messages" */

import { faint, h } from "../base/dom.js";
import { label, signed } from "../base/words.js";
import { actionSymbol, isCard } from "../cards/names.js";
import { cardText } from "../cards/chip.js";

const FIRST = 5;
/** @type {(value?: number | null) => value is number} */
const known = (value) => value !== null && value !== undefined;
/** @type {(value: number | null, unit: string) => string} */
const amount = (value, unit) =>
  (!known(value) ? "–" : unit === "win %" ? value.toFixed(1) : signed(value, 2));

/**
 * @typedef {{ action: number | null, best: number[], unit: string, low: number, high: number, champion: boolean }} Scale
 * @type {(option: ActionValue, scale: Scale) => HTMLElement}
 */
function rowOf(option, { action, best, unit, low, high, champion }) {
  const bar = h("i", { "aria-hidden": "true" });
  bar.style.width = `${(100 * ((option.value ?? low) - low)) / (high - low || 1)}%`;
  const played = option.action === action;
  return h("tr", { class: [played ? "played" : "", best.includes(option.action) ? "best" : ""].join(" ") },
    h("th", { scope: "row" }, isCard(option.action) ? cardText(option.card) : actionSymbol(option.action),
      played ? h("span", { class: "sr-only" }, " ", label("values.played")) : null),
    h("td", { class: "bar-cell" }, h("span", { class: "bar" }, bar)),
    h("td", { class: "number" }, amount(option.value, unit), option.margin_of_error ? h("small", {}, ` ±${option.margin_of_error.toFixed(unit === "win %" ? 0 : 1)}`) : null),
    champion ? h("td", { class: "number" }, known(option.probability) ? `${Math.round(100 * option.probability)} %` : "–") : null);
}

/** The table of a decision, with the champion's probabilities where it plays; `name` is the player who made it.
 * @param {Omit<PositionValues, "samples"> & { action?: number | null, samples?: number | null, name?: string }} decision
 */
export function valuesTable({ cards, best, action = null, unit, exact, samples, name }) {
  const numbers = cards.map((option) => option.value).filter(known);
  if (!numbers.length) return faint(label("values.no_choice"));
  const low = unit === "win %" ? 0 : Math.min(0, ...numbers), high = unit === "win %" ? 100 : Math.max(1, ...numbers);
  const champion = cards.some((option) => known(option.probability));
  const ordered = [...cards].sort((one, two) => (two.value ?? -1e9) - (one.value ?? -1e9));
  const shown = ordered.filter((option, place) => place < FIRST || option.action === action);
  /** @param {ActionValue[]} which */
  const rows = (which) => which.map((option) => rowOf(option, { action, best, unit, low, high, champion }));
  const body = h("tbody", {}, rows(shown));
  const kind = exact ? [] : [label(samples ? "values.samples" : "values.estimated", { n: samples })];
  const more = h("button", { type: "button", class: "quiet small", onclick: () => { body.replaceChildren(...rows(ordered)); more.parentElement?.focus(); more.remove(); } },
    label("values.all", { n: ordered.length }));
  return h("div", { class: "values-scroll", tabindex: -1 },
    h("table", { class: "values" },
      h("caption", { class: "faint" }, [label(unit === "win %" ? "values.win" : "values.pay"), ...kind, ...(name ? [label("values.from", { name })] : [])].join(", ")),
      h("thead", { class: champion ? "" : "sr-only" }, h("tr", {}, h("th", { scope: "col" }, label("values.card")), h("th", { scope: "col" }, h("span", { class: "sr-only" }, label("values.bar"))),
        h("th", { scope: "col", class: "number" }, label("values.value")), champion ? h("th", { scope: "col", class: "number" }, label("values.champion")) : null)),
      body),
    shown.length < ordered.length ? more : null);
}
