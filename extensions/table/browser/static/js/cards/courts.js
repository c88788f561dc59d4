// @ts-check
/* Kings, queens and jacks of the classic cards: one half is drawn, and drawn again on its head. */

/** @import { Properties } from "../base/dom.js" */

import { s } from "../base/dom.js";
import { isRed } from "./names.js";
import { pip } from "./suits.js";

const INK = "#22242b", GOLD = "#e8b23f", SKIN = "#f8e0c6", CREAM = "#fff8e6", RED = "#c3262f", BLUE = "#23508f";
/** @type {Record<string, string>} */
const HAIR = { C: "#5b3b22", D: "#d29a3c", H: "#d9a94f", S: "#4a3426" };
const line = { stroke: INK, "stroke-width": 2.4, "stroke-linejoin": "round", "stroke-linecap": "round" };
/** @type {(d: string, fill: string, extra?: Properties) => SVGElement} */
const shape = (d, fill, extra = {}) => s("path", { d, fill, ...line, ...extra });
/** @type {(d: string, color?: string, width?: number) => SVGElement} */
const stroke = (d, color = INK, width = 2.4) =>
  s("path", { d, fill: "none", stroke: color, "stroke-width": width, "stroke-linecap": "round" });
/** @type {(cx: number, cy: number, r: number, fill: string, extra?: Properties) => SVGElement} */
const dot = (cx, cy, r, fill, extra = {}) => s("circle", { cx, cy, r, fill, ...extra });

/** @type {(main: string, second: string) => SVGElement[]} */
function robe(main, second) {
  const folds = [64, 80, 170, 186].map((x) => stroke(`M${x},178 Q${x + (x < 125 ? 6 : -6)},158 ${x + (x < 125 ? 14 : -14)},142`, GOLD, 4));
  return [
    shape("M47,178 L47,158 C62,136 86,128 102,124 L148,124 C164,128 188,136 203,158 L203,178Z", main),
    ...folds,
    shape("M106,124 L144,124 L154,178 L96,178Z", second),
    ...[136, 150, 164].map((y) => s("path", { d: `M125,${y - 6} l6,6 l-6,6 l-6,-6Z`, fill: GOLD })),
  ];
}

/** @param {number} brow */
function facing(brow) {
  return [
    shape("M102,92 C102,66 148,66 148,92 C148,112 138,128 125,128 C112,128 102,112 102,92Z", SKIN),
    stroke(`M109,${brow} q6,-4 11,-1 M130,${brow - 1} q6,-3 11,1`),
    dot(115, 95, 2.7, INK), dot(135, 95, 2.7, INK),
    stroke("M125,95 l-3,11 l5,1", INK, 1.8),
    stroke("M119,114 q6,4 12,0", RED, 3),
  ];
}

/** @typedef {(suit: string, main: string, second: string) => SVGElement[]} Figure */
/** @type {Figure} */
function king(suit, main, second) {
  const hair = HAIR[suit];
  return [
    ...robe(main, second),
    shape("M94,84 C84,112 88,130 98,134 L152,134 C162,130 166,112 156,84Z", hair),
    ...facing(88),
    shape("M102,100 C102,150 148,150 148,100 C144,112 134,108 125,108 C116,108 106,112 102,100Z", hair),
    stroke("M118,116 q7,5 14,0", RED, 3.4),
    stroke("M116,128 q3,6 2,10 M134,128 q-3,6 -2,10 M125,130 v9", INK, 1.6),
    shape("M97,80 L90,50 L109,65 L125,44 L141,65 L160,50 L153,80Z", GOLD),
    shape("M97,80 L153,80 L152,71 L98,71Z", second),
    dot(90, 49, 4.5, main, line), dot(125, 43, 5, main, line), dot(160, 49, 4.5, main, line),
    ...[110, 125, 140].map((x) => dot(x, 75.5, 2.6, CREAM)),
    shape("M181,152 L181,62 L185,52 L189,62 L189,152Z", "#dfe5ea"),
    shape("M172,146 L198,146 L198,153 L172,153Z", GOLD),
    shape("M181.500,153 h7 v14 h-7Z", second), dot(185, 170, 5, GOLD, line),
  ];
}

/** @type {Figure} */
function queen(suit, main, second) {
  const hair = HAIR[suit];
  const petals = [0, 72, 144, 216, 288].map((turn) =>
    s("ellipse", { cx: 70, cy: 95, rx: 6, ry: 10, fill: main, transform: `rotate(${turn} 70 105)`, ...line, "stroke-width": 1.6 }));
  return [
    ...robe(main, second),
    shape("M98,80 C78,104 84,140 100,150 L112,132 L138,132 L150,150 C166,140 172,104 152,80Z", hair),
    shape("M114,118 h22 l5,14 q-16,14 -32,0Z", SKIN),
    ...facing(86),
    shape("M101,96 C99,76 112,70 125,72 C138,70 151,76 149,96 C144,84 134,80 125,80 C116,80 106,84 101,96Z", hair),
    shape("M100,76 C98,64 102,58 106,56 L114,66 L125,50 L136,66 L144,56 C148,58 152,64 150,76 Q125,66 100,76Z", GOLD),
    dot(105, 55, 4, CREAM, line), dot(125, 48, 4.5, CREAM, line), dot(145, 55, 4, CREAM, line), dot(125, 65, 3.2, main),
    ...[109, 117, 125, 133, 141].map((x) => dot(x, 138 + (4 - Math.abs(x - 125) / 4) * 0.9, 2.7, CREAM, { stroke: INK, "stroke-width": 1 })),
    stroke("M70,108 C70,130 74,150 82,168", "#3b7a45", 4),
    shape("M72,134 q-14,-4 -16,-14 q14,0 16,14Z", "#4b8f55", { "stroke-width": 1.6 }),
    ...petals, dot(70, 105, 5, GOLD, line),
  ];
}

/** @type {Figure} */
function jack(suit, main, second) {
  const hair = HAIR[suit];
  return [
    ...robe(main, second),
    shape("M97,78 C90,104 92,122 100,128 L150,128 C158,122 160,104 153,78Z", hair),
    ...facing(87),
    shape("M101,98 C100,82 104,78 112,78 L140,78 C147,79 150,84 149,98 C146,90 142,86 136,86 L113,86 C107,87 103,90 101,98Z", hair),
    shape("M90,80 C86,56 112,46 132,50 C152,52 164,64 160,80 C140,72 110,72 90,80Z", second),
    shape("M90,80 C110,72 140,72 160,80 L159,87 C138,79 112,79 91,87Z", GOLD),
    shape("M146,58 C158,36 176,40 190,54 C178,52 172,58 168,66 C162,62 154,64 150,70Z", CREAM),
    stroke("M150,68 C158,54 170,50 182,52", INK, 1.6),
    shape("M98,128 Q125,146 152,128 L156,138 Q125,160 94,138Z", CREAM),
    stroke("M66,178 L66,66", "#7a5330", 6),
    shape("M66,50 L75,70 L66,82 L57,70Z", "#dfe5ea"), shape("M56,84 h20 v6 h-20Z", GOLD),
  ];
}

/** @type {Record<string, { draw: Figure, place: [number, number] }>} */
const FIGURES = { K: { draw: king, place: [68, 62] }, Q: { draw: queen, place: [182, 62] }, J: { draw: jack, place: [182, 104] } };

/** The picture of a court card, without the corners.
 * @param {string} rank
 * @param {string} suit
 */
export function court(rank, suit) {
  const [main, second] = isRed(suit) ? [RED, BLUE] : [BLUE, RED];
  const { draw, place } = FIGURES[rank];
  const half = () => s("svg", { x: 46, y: 34, width: 158, height: 141, viewBox: "46 34 158 141" },
    draw(suit, main, second), pip(suit, ...place, 34, false, { class: "on-court" }));
  return [
    s("rect", { x: 46, y: 34, width: 158, height: 282, rx: 5, fill: "#fffdf6" }),
    half(), s("g", { transform: "rotate(180 125 175)" }, half()),
    stroke("M46,175 L204,175", INK, 2),
    s("rect", { x: 46, y: 34, width: 158, height: 282, rx: 5, fill: "none", stroke: "#345c93", "stroke-width": 2.5 }),
  ];
}
