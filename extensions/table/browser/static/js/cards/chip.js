// @ts-check
/* A card in running text: its symbol in its color, its name for screen readers. */

import { h } from "../base/dom.js";
import { isRed, nameOf, symbolOf } from "./names.js";

/** @param {string} card */
export function cardText(card) {
  return h("span", { class: `chip ${isRed(card[1]) ? "red" : "black"} suit-${card[1]}`, title: nameOf(card) },
    h("span", { "aria-hidden": "true" }, symbolOf(card)), h("span", { class: "sr-only" }, nameOf(card)));
}
