// @ts-check
/* Cards drawn as SVG in a box of 250 by 350: modern with a large index, classic with pips and courts. */

import { s } from "../base/dom.js";
import { rankOf, rankText, suitOf } from "./names.js";
import { court } from "./courts.js";
import { pip } from "./suits.js";

const LEFT = 84, MIDDLE = 125, RIGHT = 166;
const TOP = 66, BOTTOM = 284, CENTER = 175;
/** @param {number} part */
const between = (part) => TOP + (BOTTOM - TOP) * part;
/* Where the pips of a classic card lie: x, y. Those below the middle stand on their heads. */
/** @type {(...rows: number[]) => [number, number][]} */
const sides = (...rows) => rows.flatMap((y) => [[LEFT, y], [RIGHT, y]]);
/** @type {Record<string, [number, number][]>} */
const PIPS = {
  A: [[MIDDLE, CENTER]],
  2: [[MIDDLE, TOP], [MIDDLE, BOTTOM]],
  3: [[MIDDLE, TOP], [MIDDLE, CENTER], [MIDDLE, BOTTOM]],
  4: sides(TOP, BOTTOM),
  5: [...sides(TOP, BOTTOM), [MIDDLE, CENTER]],
  6: sides(TOP, CENTER, BOTTOM),
  7: [...sides(TOP, CENTER, BOTTOM), [MIDDLE, between(1 / 4)]],
  8: [...sides(TOP, CENTER, BOTTOM), [MIDDLE, between(1 / 4)], [MIDDLE, between(3 / 4)]],
  9: [...sides(TOP, between(1 / 3), between(2 / 3), BOTTOM), [MIDDLE, CENTER]],
  T: [...sides(TOP, between(1 / 3), between(2 / 3), BOTTOM), [MIDDLE, between(1 / 6)], [MIDDLE, between(5 / 6)]],
};

/* The ranks as strokes in a box of 60 by 100: no font is asked, so nothing can touch the suit below. */
/** @type {Record<string, string>} */
const RANKS = {
  A: "M4,98L30,4L56,98M14,66H46", K: "M9,4V98M54,4L11,58M27,42L57,98",
  Q: "M30,4C-4,4 -4,98 30,98C64,98 64,4 30,4ZM36,72L58,100", J: "M47,4V70C47,104 7,104 5,72",
  1: "M8,24L30,4V98", 0: "M30,4C-4,4 -4,98 30,98C64,98 64,4 30,4Z",
  2: "M6,26C8,-6 54,-6 54,28C54,52 14,64 6,98H56", 3: "M6,14C20,-4 54,0 54,26C54,44 40,49 26,49C44,49 57,56 57,75C57,104 14,104 4,84",
  4: "M43,98V4L4,70H58", 5: "M52,4H14L10,44C24,34 57,36 57,68C57,104 14,102 4,84",
  6: "M50,8C20,4 5,40 5,68C5,104 57,104 57,68C57,36 14,36 6,64", 7: "M4,4H56C36,34 26,62 22,98",
  8: "M30,48C2,42 4,4 30,4C56,4 58,42 30,48C-4,56 -4,98 30,98C64,98 64,56 30,48Z",
  9: "M10,94C40,98 55,62 55,34C55,-2 3,-2 3,34C3,66 46,66 54,38",
};

/* A rank of this height around x, its foot on the line, and the suit below it. */
/** @type {(card: string, x: number, height: number, baseline: number, pipSize: number, pipY: number) => SVGElement} */
function index(card, x, height, baseline, pipSize, pipY) {
  const figures = [...rankText(card)];
  const size = height / 100;
  const step = figures.length > 1 ? 46 * size : 0;
  return s("g", {},
    figures.map((figure, place) => s("path", {
      class: "rank", d: RANKS[figure], "stroke-width": 15,
      transform: `translate(${x - 30 * size + (place - (figures.length - 1) / 2) * step} ${baseline - height}) scale(${size})`,
    })),
    pip(suitOf(card), x, pipY, pipSize));
}

/** @param {SVGElement} part */
function turnedToo(part) {
  const other = /** @type {SVGElement} */ (part.cloneNode(true));
  other.setAttribute("transform", "rotate(180 125 175)");
  return [part, other];
}

/** @param {string} card */
function modern(card) {
  const suit = suitOf(card);
  return [index(card, 45, 64, 86, 60, 130), pip(suit, 158, 238, 150)];
}

/** @param {string} card */
function classic(card) {
  const rank = rankOf(card), suit = suitOf(card);
  const corners = turnedToo(index(card, 29, 36, 56, 34, 84));
  if (rank in PIPS) {
    const size = rank === "A" ? 118 : 52;
    return [...corners, ...PIPS[rank].map(([x, y]) => pip(suit, x, y, size, y > CENTER))];
  }
  return [...corners, ...court(rank, suit)];
}

/** The face of a card. Its colors come from the style sheet, by suit.
 * @param {string} card
 * @param {string} style
 */
export function face(card, style) {
  const shapes = style === "classic" ? classic(card) : modern(card);
  return s("svg", { viewBox: "0 0 250 350", class: `face ${style} suit-${suitOf(card)}`, "aria-hidden": "true" }, shapes);
}
