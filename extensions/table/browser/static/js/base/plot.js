// @ts-check
/* A plot over the steps of a hand, or over hands: its scales, and lines through values. */

import { s } from "./dom.js";

/**
 * @typedef {(value: number) => number} Scale
 * @typedef {[n: number, value: number][]} Points
 */

/** A drawing with room for steps 0 to `last` and values from `low` to `high`, its scales, and `mark(n)`, which marks a step.
 * A click calls `onpick` with its step.
 * @param {{ title: string, last: number, range: [number, number], tick: (value: number) => string, onpick?: (n: number) => void,
 *   width?: number, height?: number, bottom?: number }} options
 */
export function plot({ title, last, range: [low, high], tick, onpick = () => {}, width = 340, height = 96, bottom = 6 }) {
  const left = 40, right = width - 8, top = 10, steps = Math.max(1, last);
  /** @type {Scale} */
  const x = (n) => left + ((right - left) * n) / steps;
  /** @type {Scale} */
  const y = (value) => top + ((height - top - bottom) * (high - Math.max(low, Math.min(high, value)))) / (high - low);
  const marker = s("line", { class: "plot-now", y1: top - 4, y2: height - bottom });
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": title },
    [low, (low + high) / 2, high].map((value) => [
      s("line", { class: "plot-grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
      s("text", { class: "plot-label", x: left - 5, y: y(value) + 3.5, "text-anchor": "end" }, tick(value))]));
  drawing.addEventListener("click", ({ clientX }) => {
    const box = drawing.getBoundingClientRect(), place = (width * (clientX - box.left)) / box.width;
    onpick(Math.max(0, Math.min(last, Math.round((steps * (place - left)) / (right - left)))));
  });
  /** @param {number} n */
  const mark = (n) => {
    for (const end of ["x1", "x2"]) marker.setAttribute(end, String(x(n)));
    drawing.append(marker);
  };
  /** The points of a line, or of an area that goes back along another one.
   * @type {(points: Points, back?: Points) => string}
   */
  const through = (points, back = []) =>
    [...points, ...[...back].reverse()].map(([n, value]) => `${x(n).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return { drawing, x, y, mark, through };
}
