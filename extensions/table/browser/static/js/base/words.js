// @ts-check
/* All that the page says, which the server writes into it: `label("lobby.deal")`. It stands in one file,
   `labels.json`; its forms are those of `labels.py`. */

import { byId } from "./dom.js";

/**
 * @typedef {string | Labels[] | { [name: string]: Labels }} Labels
 * @typedef {Record<string, string | number | null | undefined>} Values
 */

/** @type {typeof import("../../../../text/labels.json")} */
export const LABELS = JSON.parse(byId("labels").textContent);

/* Where there is no keyboard, no text names keys. */
export const TOUCH = matchMedia("(hover: none) and (pointer: coarse)").matches;
const KEY = / \((?:[A-Z,?←→]|Space|Home|End)\)$/;

/** A text at the start of a sentence: names of agents and runs stay as they are.
 * @param {string} text
 */
export const capital = (text) => text.replace(/^(?:you|the other|seat \d+)\b/, (word) => word[0].toUpperCase() + word.slice(1));

/* Of a sentence's forms the one for this person and number. */
/** @type {(found: Labels, values: Values) => string} */
function form(found, { name, n }) {
  if (typeof found === "string") return found;
  if (Array.isArray(found)) return form(found[Number(n) === 1 ? 0 : 1], { name, n });
  return form(found[String(name).toLowerCase() === "you" ? "you" : "other"], { name, n });
}

/** A sentence, `{name}` in it replaced by a value, `{Name}` by the same with a capital letter.
 * @param {string} key
 * @param {object} [values]
 */
export function label(key, values = {}) {
  const given = /** @type {Values} */ (values);
  const text = form(key.split(".").reduce((part, name) => /** @type {Record<string, Labels>} */ (part)[name], /** @type {Labels} */ (LABELS)), given);
  return (TOUCH ? text.replace(KEY, "") : text).replace(/\{(\w+)\}/g, (_, name) => String(given[name] ?? capital(`${given[name.toLowerCase()]}`)));
}

/** A number with its sign, a minus and no hyphen.
 * @param {number} value
 */
export function signed(value, digits = 0) {
  const rounded = Number(value.toFixed(digits));
  return `${rounded > 0 ? "+" : rounded < 0 ? "−" : ""}${Math.abs(rounded).toFixed(digits)}`;
}

/** `A, B and C`, or `A, B or C`. */
/** @type {(texts: string[], last?: string) => string} */
export const listed = (texts, last = "and") =>
  (texts.length < 2 ? texts.join("") : label(`lists.${last}`, { first: texts.slice(0, -1).join(", "), last: texts.at(-1) }));
