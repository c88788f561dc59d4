/* Cards drawn as SVG in a box of 250 by 350: modern with a large index, classic with pips and courts. */

import { rankOf, rankText, suitOf } from "./cards.js";
import { court } from "./courts.js";
import { s } from "./dom.js";
import { pip } from "./suits.js";

const LEFT = 84, MIDDLE = 125, RIGHT = 166;
const TOP = 66, BOTTOM = 284, CENTRE = 175;
const between = (part) => TOP + (BOTTOM - TOP) * part;
/* Where the pips of a classic card lie: x, y. Those below the middle stand on their heads. */
const sides = (...rows) => rows.flatMap((y) => [[LEFT, y], [RIGHT, y]]);
const PIPS = {
  A: [[MIDDLE, CENTRE]],
  2: [[MIDDLE, TOP], [MIDDLE, BOTTOM]],
  3: [[MIDDLE, TOP], [MIDDLE, CENTRE], [MIDDLE, BOTTOM]],
  4: sides(TOP, BOTTOM),
  5: [...sides(TOP, BOTTOM), [MIDDLE, CENTRE]],
  6: sides(TOP, CENTRE, BOTTOM),
  7: [...sides(TOP, CENTRE, BOTTOM), [MIDDLE, between(1 / 4)]],
  8: [...sides(TOP, CENTRE, BOTTOM), [MIDDLE, between(1 / 4)], [MIDDLE, between(3 / 4)]],
  9: [...sides(TOP, between(1 / 3), between(2 / 3), BOTTOM), [MIDDLE, CENTRE]],
  T: [...sides(TOP, between(1 / 3), between(2 / 3), BOTTOM), [MIDDLE, between(1 / 6)], [MIDDLE, between(5 / 6)]],
};

function index(card, x, size, baseline, pipSize, pipY) {
  const text = rankText(card);
  const tight = text === "10" ? { textLength: size * 0.84, lengthAdjust: "spacingAndGlyphs" } : {};
  return s("g", {},
    s("text", { x, y: baseline, "font-size": size, "text-anchor": "middle", ...tight }, text),
    pip(suitOf(card), x, pipY, pipSize));
}

function turnedToo(part) {
  const other = part.cloneNode(true);
  other.setAttribute("transform", "rotate(180 125 175)");
  return [part, other];
}

function modern(card) {
  const suit = suitOf(card);
  return [index(card, 45, 90, 86, 60, 128), pip(suit, 158, 238, 150)];
}

function classic(card) {
  const rank = rankOf(card), suit = suitOf(card);
  const corners = turnedToo(index(card, 29, 52, 56, 36, 84));
  if (rank in PIPS) {
    const size = rank === "A" ? 118 : 52;
    return [...corners, ...PIPS[rank].map(([x, y]) => pip(suit, x, y, size, y > CENTRE))];
  }
  return [...corners, ...court(rank, suit)];
}

/** The face of a card. Its colours come from the style sheet, by suit. */
export function face(card, style) {
  const shapes = style === "classic" ? classic(card) : modern(card);
  return s("svg", { viewBox: "0 0 250 350", class: `face ${style} suit-${suitOf(card)}`, "aria-hidden": "true" }, shapes);
}
