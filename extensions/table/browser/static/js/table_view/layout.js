// @ts-check
/* Where every card of the table lies, from the size of the table alone: no layout but this one, so
   that nothing jumps. A scene says what lies where; `arrange` gives each card a place. */

/** @import { PlayedCard } from "../../../messages" */
/** @import { Scene } from "./scene.js" */
/** @import { TableViewOptions } from "../base/settings.js" */

import { TOUCH } from "../base/words.js";
import { suitOf } from "../cards/names.js";
import { sorted, suitOrder } from "../cards/order.js";

/**
 * Where a card lies: `covered` is how much of its height shows, `step` how far the next card is.
 * @typedef {{ zone: string, card: string | null, who?: number, x: number, y: number, scale: number, z: number, step?: number,
 *   covered?: number }} Place
 * @typedef {ReturnType<typeof frame>} Frame
 * @typedef {Frame & { places: Place[] }} Plan
 */

const SHAPE = 1.4;
const STACK = 6;
const FINGER = 40, POINTER = 24;

/* The parts of the table, from its width and height: card size, and the middle of each place. */
/**
 * @param {number} width
 * @param {number} height
 * @param {number} rows
 */
function frame(width, height, rows) {
  const wide = width > Math.max(height * 0.95, 440);
  const low = height < 460;
  const plate = wide ? (width > 1000 ? 236 : 132) : 0;
  const strip = wide ? 0 : low ? 34 : 50;
  const stacked = rows > 1 ? (rows - 1) * (rows > 2 ? 0.4 : 0.5) : 0;
  const needs = (low && wide ? 2.67 : 2.85) + stacked;
  const room = height - 2 * strip - (low ? 52 : 92);
  const handWidth = wide ? width - plate - (width > 1000 ? plate : 12) : width - 12;
  const card = Math.max(40, Math.min(138, room / needs / SHAPE, wide ? handWidth / (width > 1000 || rows === 2 ? 5.2 : 6) : width * 0.19));
  const tall = card * SHAPE;
  const handLeft = wide ? plate + (width > 1000 ? 0 : 2) : 6;
  const handCenter = handLeft + handWidth / 2;
  const bottom = height - strip - (low ? 8 : 14);
  const handTop = bottom - tall * (1 + stacked);
  const otherScale = low ? 0.62 : 0.72;
  const otherY = strip + (low ? 4 : wide ? 12 : 8) + (tall * otherScale) / 2;
  const otherBottom = otherY + (tall * otherScale) / 2;
  const promptY = handTop - (low ? 20 : 30) - (low ? 0 : card * 0.06);
  const middle = (otherBottom + promptY - 18) / 2;
  const toLeft = Math.min(card * 2.3, handCenter - plate - card * 0.8 - 4); // Clear of the plates.
  const toRight = Math.min(card * 2.3, width - handCenter - card * 0.5 - 10);
  return {
    wide, low, card, tall, strip, plate, handLeft, handWidth, handCenter, handTop, bottom, otherScale, otherY,
    middle, promptY, stacked, lines: rows,
    stockX: wide ? handCenter - toLeft : 12 + card * 0.82,
    trickX: wide ? handCenter : width * 0.69,
    lastX: wide ? handCenter + toRight : width - card * 0.46,
    lean: Math.max(tall * 0.05, Math.min(tall * 0.34, (promptY - 18 - otherBottom - tall) / 2 - 6)),
  };
}

/** @type {<C>(cards: C[], left: number, width: number, card: number, scale: number, most: number) => { card: C, x: number, step: number }[]} */
function row(cards, left, width, card, scale, most) {
  const wide = card * scale;
  const step = cards.length > 1 ? Math.min(wide * most, (width - wide) / (cards.length - 1)) : 0;
  const start = left + (width - wide - step * (cards.length - 1)) / 2 + wide / 2;
  return cards.map((card, place) => ({ card, x: start + place * step, step }));
}

/** @typedef {(scene: Scene, area: Frame, options: TableViewOptions) => Place[]} Part */
/** @type {Part} */
function ownHand(scene, area, options) {
  const cards = sorted(scene.hand, scene.trump, options.order);
  const y = area.bottom - area.tall / 2;
  const lines = handLines(cards, scene, area, options);
  const offset = lines.length > 1 ? (area.tall * area.stacked) / (area.lines - 1) : 0;
  return lines.flatMap((held, line) =>
    row(held, area.handLeft, area.handWidth, area.card, 1, options.rows === "stacked" ? 0.62 : 0.7)
      .map((spot, place) => ({
        zone: "hand", ...spot, y: y - offset * (lines.length - 1 - line), scale: 1, z: 300 + line * 20 + place,
        covered: line < lines.length - 1 ? offset : 0,
      })));
}

/** @type {(cards: string[], scene: Scene, area: Frame, options: TableViewOptions) => string[][]} */
function handLines(cards, scene, area, options) {
  if (options.rows === "stacked") {
    return suitOrder(cards, scene.trump, options.order)
      .map((suit) => cards.filter((card) => suitOf(card) === suit)).filter((held) => held.length);
  }
  if (area.lines === 1) return [cards];
  // A suit stays in one row where fingers can hit the cards of the longer row.
  const half = Math.ceil(cards.length / 2), most = Math.max(half, Math.floor((area.handWidth - area.card) / FINGER) + 1);
  const ends = [...cards.keys()].filter((place) => place && suitOf(cards[place]) !== suitOf(cards[place - 1]) && Math.max(place, cards.length - place) <= most);
  const [end = half] = ends.sort((one, two) => Math.abs(one - half) - Math.abs(two - half));
  return [cards.slice(0, end), cards.slice(end)].filter((held) => held.length);
}

/** @type {Part} */
function otherHand(scene, area, options) {
  const known = sorted(scene.other.filter((card) => card !== null), scene.trump, options.order);
  const cards = [...known, ...scene.other.filter((card) => !card)];
  const width = area.wide ? Math.min(area.handWidth, area.card * 8) : area.handWidth;
  const left = area.handLeft + (area.handWidth - width) / 2;
  const open = !scene.other.includes(null);
  return row(cards, left, width, area.card, area.otherScale, open ? 0.62 : 0.5)
    .map((spot, place) => ({ zone: "other", ...spot, y: area.otherY, scale: area.otherScale, z: 20 + place }));
}

/** @type {(scene: Scene, area: Frame) => Place[]} */
function stock(scene, area) {
  const hidden = Math.max(0, scene.stockLeft - scene.up.length);
  const scale = 0.92, step = area.card * scale;
  const beside = hidden ? (scene.up.length > 1 ? 0.6 : 0.7) : 0;
  const whole = step * (1 + (scene.up.length ? beside + (scene.up.length - 1) * 0.62 : 0));
  const x = step / 2 + (area.wide ? area.stockX - whole / 2 : 10);
  const y = area.middle;
  const backs = Array.from({ length: Math.min(hidden, STACK) }, (_, place) =>
    ({ zone: "stock", card: null, x: x - place * 1.1, y: y - place * 1.3, scale, z: 60 + place }));
  const faced = scene.up.map((card, place) => ({
    zone: "up", card, scale, z: 80 + place,
    x: x + step * beside + place * step * 0.62, y: y + (place + 1) * 4,
  }));
  return [...backs, ...faced];
}

/** @type {(cards: PlayedCard[], area: Frame, zone: string) => Place[]} */
function trick(cards, area, zone) {
  const last = zone === "last";
  const scale = last ? (area.wide && !area.low ? 0.62 : 0.5) : 1;
  return cards.map(({ who, card }, place) => ({
    zone, card, who, scale, z: (last ? 40 : 200) + place,
    x: (last ? area.lastX : area.trickX) + (who ? 1 : -1) * area.card * scale * (last ? 0.2 : area.lean < area.tall * 0.16 ? 0.42 : 0.26),
    y: area.middle + (who ? -1 : 1) * (last ? area.tall * scale * 0.2 : area.lean),
  }));
}

/* A hand lies in two rows where fingers, or a pointer on a wide table, could not hit its cards in one. */
/** @type {(cards: number, width: number, height: number) => number} */
function linesFor(cards, width, height) {
  const { wide, handWidth, card } = frame(width, height, 1);
  return cards > 1 && (handWidth - card) / (cards - 1) < (wide && !TOUCH ? POINTER : FINGER) ? 2 : 1;
}

/** Places for all cards of a scene, and for the few labels beside them.
 * @type {(scene: Scene, width: number, height: number, options: TableViewOptions) => Plan}
 */
export function arrange(scene, width, height, options) {
  const rows = options.rows === "stacked" ? 4 : options.rows === "single" ? 1 : linesFor(scene.most ?? scene.hand.length, width, height);
  const area = frame(width, height, rows);
  const places = [
    ...otherHand(scene, area, options), ...stock(scene, area), ...trick(scene.last, area, "last"),
    ...trick(scene.trick, area, "trick"), ...ownHand(scene, area, options),
  ];
  return { ...area, places };
}
