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
  (!known(value) ? "–" : unit === "win %" ? value.toFixed(0) : signed(value, 1));

/**
 * @typedef {{ action: number | null, best: number[], unit: string, low: number, high: number, champion: boolean, onpick?: (action: number) => void }} Scale
 * @type {(option: ActionValue, scale: Scale) => HTMLElement}
 */
function rowOf(option, { action, best, unit, low, high, champion, onpick }) {
  const bar = h("i", { "aria-hidden": "true" });
  bar.style.width = `${(100 * ((option.value ?? low) - low)) / (high - low || 1)}%`;
  const played = option.action === action, chip = isCard(option.action) ? cardText(option.card) : actionSymbol(option.action);
  const margin = option.margin_of_error?.toFixed(unit === "win %" ? 0 : 1) ?? "0";
  return h("tr", { class: [played ? "played" : "", best.includes(option.action) ? "best" : "", onpick ? "tried" : ""].join(" "), onclick: onpick && (() => onpick(option.action)) },
    h("th", { scope: "row" }, onpick ? h("button", { type: "button", title: label("replay.choose") }, chip) : chip,
      played ? h("span", { class: "sr-only" }, " ", label("values.played")) : null),
    h("td", { class: "bar-cell" }, h("span", { class: "bar" }, bar)),
    h("td", { class: "number" }, amount(option.value, unit), Number(margin) ? h("small", {}, ` ±${margin}`) : null),
    champion ? h("td", { class: "number" }, known(option.probability) ? `${Math.round(100 * option.probability)} %` : "–") : null);
}

/** The table of a decision, with the champion's probabilities where it plays; `name` is the player who made it.
 * With `onpick` a row chooses its card.
 * @param {Omit<PositionValues, "samples"> & { action?: number | null, samples?: number | null, name?: string, onpick?: (action: number) => void }} decision
 */
export function valuesTable({ cards, best, action = null, unit, exact, samples, name, onpick }) {
  const numbers = cards.map((option) => option.value).filter(known);
  if (!numbers.length) return faint(label("values.no_choice"));
  const low = unit === "win %" ? 0 : Math.min(0, ...numbers), high = unit === "win %" ? 100 : Math.max(1, ...numbers);
  const champion = cards.some((option) => known(option.probability));
  const ordered = [...cards].sort((one, two) => (two.value ?? -1e9) - (one.value ?? -1e9));
  const shown = ordered.filter((option, place) => place < FIRST || option.action === action);
  /** @param {ActionValue[]} which */
  const rows = (which) => which.map((option) => rowOf(option, { action, best, unit, low, high, champion, onpick }));
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
