// @ts-check
/* What a player likes: kept in localStorage, applied to the page, changed in one dialog. */

import { dialog } from "./dialogs.js";
import { h } from "./dom.js";
import { label } from "./words.js";

/**
 * @typedef {"normal" | "fast" | "none"} Motion
 * @typedef {Record<string, string> & { motion: Motion }} Settings
 * @typedef {{ cards: string, order: string, rows: string, speed: Motion }} TableViewOptions
 */

const KEY = "german-whist-settings";
// The first of each is what a new player has; of two, the second is a box to check.
/** @type {Record<string, Record<string, string[]>>} */
const GROUPS = {
  look: { theme: ["auto", "light", "dark"], cards: ["modern", "classic"], back: ["blue", "red"], suits: ["two", "four"] },
  hand: { order: ["alternating", "classic"], rows: ["one", "stacked"], trumps: ["still", "pulse"], clicks: ["one", "two"], forced: ["off", "on"] },
  motion: { motion: ["normal", "fast", "none"], sound: ["off", "on"], ...("vibrate" in navigator ? { vibration: ["off", "on"] } : {}) },
};
/** @type {Record<string, string[]>} */
const CHOICES = { ...GROUPS.look, ...GROUPS.hand, ...GROUPS.motion, help: ["off", "on"] };
/** @type {Set<(name: string) => void>} */
const listeners = new Set();
const quiet = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");

/** @returns {Settings} */
function read() {
  const first = /** @type {Settings} */ (Object.fromEntries(Object.entries(CHOICES).map(([name, [usual]]) => [name, usual])));
  first.motion = quiet.matches ? "none" : "normal";
  try {
    /** @type {Record<string, string>} */
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    for (const [name, value] of Object.entries(kept)) {
      if (CHOICES[name]?.includes(value)) first[name] = value;
    }
  } catch {
    // A damaged setting costs nothing: the page starts with its own.
  }
  return first;
}

export const settings = read();

/** @type {(name: string, value: string) => void} */
export function change(name, value) {
  settings[name] = value;
  try {
    localStorage.setItem(KEY, JSON.stringify(settings));
  } catch {
    // Private windows may keep nothing; the choice then lasts as long as the page.
  }
  apply();
  listeners.forEach((listener) => listener(name));
}

/** Calls `listener` after every change; returns how to stop that.
 * @param {(name: string) => void} listener
 */
export function onchange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function apply() {
  const root = document.documentElement;
  const theme = settings.theme === "auto" ? (dark.matches ? "dark" : "light") : settings.theme;
  root.dataset.theme = theme;
  for (const name of ["suits", "back", "trumps"]) root.dataset[name] = settings[name];
  root.dataset.motion = settings.motion;
}
dark.addEventListener("change", apply);
quiet.addEventListener("change", () => {
  settings.motion = read().motion;
  apply();
});

/** What the table needs to know of the settings.
 * @type {() => TableViewOptions}
 */
export const tableViewOptions = () =>
  ({ cards: settings.cards, order: settings.order, rows: settings.rows, speed: settings.motion });

/** One choice out of a few, as a row of buttons that are radio buttons.
 * @type {(name: string, legend: string, values: Record<string, string>, chosen: string, onpick: (value: string) => void) => HTMLElement}
 */
export function segmented(name, legend, values, chosen, onpick) {
  return h("fieldset", { class: "segmented" },
    h("legend", {}, legend),
    h("div", { class: "segments wrap" }, Object.entries(values).map(([value, text]) =>
      h("label", {},
        h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => onpick(value) }),
        h("span", {}, text)))));
}

/** @type {(name: string, values: string[]) => HTMLElement} */
function field(name, values) {
  if (values.length > 2) {
    const texts = Object.fromEntries(values.map((value) => [value, label(`settings.${name}.${value}`)]));
    return segmented(`setting-${name}`, label(`settings.${name}.title`), texts, settings[name], (value) => change(name, value));
  }
  return h("label", { class: "row" }, h("input", { type: "checkbox", checked: settings[name] === values[1],
    onchange: ({ target }) => change(name, values[Number(/** @type {HTMLInputElement} */ (target).checked)]) }), label(`settings.${name}`));
}

export function openSettings() {
  dialog(label("site.settings"), h("div", { class: "settings parts" }, Object.entries(GROUPS).map(([group, fields]) =>
    h("section", { class: "stack" }, h("h3", {}, label(`settings.groups.${group}`)), Object.entries(fields).map(([name, values]) => field(name, values))))),
  [["close", label("settings.done"), "primary"]]);
}
