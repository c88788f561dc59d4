// @ts-check
/* A line over time in a small plot: ratings with their band, and how accurate hands were. */

import { gridLines } from "../base/axes.js";
import { h, s } from "../base/dom.js";
import { label } from "../base/words.js";

const WIDTH = 320, HEIGHT = 120, LEFT = 38, RIGHT = 8, TOP = 10, BOTTOM = 18;

/** `points` are `{value, width?}` in order of time; `from` and `to` bound the scale where given.
 * @typedef {{ value: number, width?: number }} Point
 * @param {{ title: string, points: Point[], from?: number, to?: number, unit?: string }} options
 */
export function chart({ title, points, from, to, unit = "" }) {
  const values = points.flatMap(({ value, width = 0 }) => [value - width, value + width]);
  const low = from ?? Math.floor(Math.min(...values) / 50) * 50;
  const high = to ?? Math.ceil((Math.max(...values) + 1) / 50) * 50;
  /** @param {number} place */
  const x = (place) => LEFT + ((WIDTH - LEFT - RIGHT) * place) / Math.max(1, points.length - 1);
  /** @param {number} value */
  const y = (value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - Math.min(Math.max(value, low), high))) / (high - low);
  /** @param {(point: Point) => number} of */
  const line = (of) => points.map((point, place) => `${place ? "L" : "M"}${x(place).toFixed(1)},${y(of(point)).toFixed(1)}`).join("");
  const band = `${line(({ value, width = 0 }) => value + width)}${points.map((_, back) => points.length - 1 - back)
    .map((place) => `L${x(place).toFixed(1)},${y(points[place].value - (points[place].width ?? 0)).toFixed(1)}`).join("")}Z`;
  const last = points[points.length - 1].value;
  return h("figure", { class: "chart card-panel" }, h("figcaption", {}, title, " ", h("b", {}, `${Math.round(last)}${unit}`)),
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "plot", role: "img", "aria-label": label("story.chart", { title, n: points.length, first: `${Math.round(points[0].value)}${unit}`, last: `${Math.round(last)}${unit}` }) },
      gridLines([low, (low + high) / 2, high], y, LEFT, WIDTH - RIGHT, (value) => `${Math.round(value)}${unit}`),
      s("path", { class: "plot-area", d: band }), s("path", { class: "plot-line", d: line(({ value }) => value) }),
      points.length === 1 ? s("circle", { class: "plot-spot", r: 4, cx: x(0), cy: y(last) }) : null));
}
