// @ts-check
/* The few icons of the tool bars, as outlines in a box of 24. */

/** @import { Properties } from "./dom.js" */

import { h, s } from "./dom.js";

/** @type {Record<string, string>} */
const PATHS = {
  back: "M15 5l-7 7 7 7",
  hint: "M9 18h6M10 21h4M12 3a6 6 0 0 0-4 10.500c.8.8 1 1.500 1 2.500h6c0-1 .2-1.700 1-2.500A6 6 0 0 0 12 3Z",
  seen: "M2 12s3.600-6.500 10-6.500S22 12 22 12s-3.600 6.500-10 6.500S2 12 2 12ZM12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z",
  settings: "M4 7h9M17 7h3M4 17h3M11 17h9M15 4.500v5M9 14.500v5",
  keys: "M3 7h18v10H3ZM6.500 10h.01M10 10h.01M13.500 10h.01M17 10h.01M8 14h8",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  undo: "M9 5l-5 5 5 5M4 10h9a6 6 0 0 1 0 12h-2",
  first: "M6 5v14M19 5l-9 7 9 7Z", last: "M18 5v14M5 5l9 7-9 7Z",
  previous: "M16 5l-9 7 9 7Z", next: "M8 5l9 7-9 7Z", play: "M7 5l12 7-12 7Z", pause: "M8 5v14M16 5v14",
  trophy: "M7 4h10v5c0 4-2 6-5 6s-5-2-5-6ZM7 6H3c0 4 1 6 5 6M17 6h4c0 4-1 6-5 6M12 15v4M8 20h8",
  rules: "M6 3h12v18H6ZM9 8h6M9 12h6M9 16h4",
};

/** @param {string} name */
export function icon(name) {
  return s("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, s("path", { d: PATHS[name] }));
}

/** A button of a tool bar.
 * @type {(name: string, text: string, onclick: () => unknown, extra?: Properties) => HTMLButtonElement}
 */
export function tool(name, text, onclick, extra = {}) {
  return show(h("button", { type: "button", class: "tool", onclick, ...extra }), name, text);
}

/** Gives a button of a tool bar another icon and name.
 * @type {<B extends HTMLElement>(button: B, name: string, text: string) => B}
 */
export function show(button, name, text) {
  button.title = text;
  button.setAttribute("aria-label", text);
  button.replaceChildren(icon(name));
  return button;
}
