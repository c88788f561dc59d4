// @ts-check
/* The four suits as outlines in a box from -0.5 to 0.5, and the sheet of symbols that cards use. */

/** @import { Properties } from "../base/dom.js" */

import { s } from "../base/dom.js";

const STEM = "C.04,.36 .08,.46 .2,.5 L-.2,.5 C-.08,.46 -.04,.36 -.035,";
/** @type {(x: number, y: number) => string} */
const leaf = (x, y) => `M${x - 0.215},${y}a.215,.215 0 1 1 .43,0a.215,.215 0 1 1 -.43,0Z`;

/** @type {Record<string, string>} */
const OUTLINES = {
  C: `${leaf(0, -0.27)}${leaf(-0.26, 0.1)}${leaf(0.26, 0.1)}M-.1,-.15L.1,-.15L.18,.16L-.18,.16ZM.035,0${STEM}0Z`,
  D: "M0,-.5C.1,-.28 .24,-.12 .38,0C.24,.12 .1,.28 0,.5C-.1,.28 -.24,.12 -.38,0C-.24,-.12 -.1,-.28 0,-.5Z",
  H: "M0,-.24C.08,-.5 .48,-.52 .48,-.16C.48,.1 .12,.28 0,.5C-.12,.28 -.48,.1 -.48,-.16C-.48,-.52 -.08,-.5 0,-.24Z",
  S: `M0,-.5C.12,-.26 .47,-.1 .47,.14C.47,.4 .1,.4 .05,.16L-.05,.16C-.1,.4 -.47,.4 -.47,.14C-.47,-.1 -.12,-.26 0,-.5ZM.035,.1${STEM}.1Z`,
};

/** A suit in a square of this size around (x, y); `turned` stands it on its head.
 * @type {(suit: string, x: number, y: number, size: number, turned?: boolean, extra?: Properties) => SVGElement}
 */
export function pip(suit, x, y, size, turned = false, extra = {}) {
  const turn = turned ? " rotate(180)" : "";
  return s("path", { d: OUTLINES[suit], transform: `translate(${x} ${y})${turn} scale(${size})`, ...extra });
}

/** A suit on its own, as an icon in running text.
 * @param {string} suit
 */
export function suitIcon(suit) {
  return s("svg", { viewBox: "-.52 -.52 1.04 1.04", class: `suit suit-${suit}`, "aria-hidden": "true" },
    s("path", { d: OUTLINES[suit] }));
}
