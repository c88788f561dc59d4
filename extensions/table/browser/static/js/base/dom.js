// @ts-check
/* Small helpers to make elements: every page is built from these, without HTML in strings. */

/**
 * @typedef {Node | string | number | false | null | undefined} Piece
 * @typedef {Piece | Child[]} Child
 * @typedef {{ [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => unknown }} Handlers
 * @typedef {Handlers & Record<string, unknown>} Properties
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {Element} E
 * @param {E} element
 * @param {Properties} properties
 * @param {Child[]} children
 */
function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "value" || name === "checked" || name === "disabled") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(.../** @type {string[]} */ (children.flat(4).filter((child) => child !== null && child !== undefined && child !== false)));
  return element;
}

/** An HTML element: `h("button", {class: "quiet", onclick: f}, "Leave")`.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Properties} [properties]
 * @param {Child[]} children
 */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** A button that does something here, where no form is sent.
 * @type {(onclick: () => unknown, kind: string, ...children: Child[]) => HTMLButtonElement}
 */
export const button = (onclick, kind, ...children) => h("button", { type: "button", class: kind, onclick }, children);

/** A paragraph of less weight.
 * @param {Child[]} children
 */
export const faint = (...children) => h("p", { class: "faint" }, children);

/** The same for SVG.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Properties} [properties]
 * @param {Child[]} children
 */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

/** An element that the page has.
 * @param {string} id
 */
export function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id));
}

/** Puts the focus on the page's heading where what had it is gone. */
export function keepFocus() {
  if (document.activeElement === document.body) document.querySelector("h1")?.focus({ preventScroll: true });
}

/** @param {number} milliseconds */
export function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}
