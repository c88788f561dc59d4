// @ts-check
/* A line over time in a small plot: ratings with their band, and how accurate hands were. */

/** @import { Points } from "../base/plot.js" */

import { h, s } from "../base/dom.js";
import { plot } from "../base/plot.js";
import { label } from "../base/words.js";

/** `points` are `{value, width?}` in order of time; `range` bounds the scale where it is given.
 * @param {{ title: string, points: { value: number, width?: number }[], range?: [number, number], unit?: string }} options
 */
export function chart({ title, points, range, unit = "" }) {
  /** @type {(side: number) => Points} */
  const edge = (side) => points.map(({ value, width = 0 }, place) => [place, value + side * width]);
  const values = [...edge(-1), ...edge(1)].map(([, value]) => value);
  range ??= [Math.floor(Math.min(...values) / 50) * 50, Math.ceil((Math.max(...values) + 1) / 50) * 50];
  /** @param {number} value */
  const tick = (value) => `${Math.round(value)}${unit}`;
  const first = tick(points[0].value), last = tick(points[points.length - 1].value);
  const { drawing, x, y, through } = plot({
    title: label("story.chart", { title, n: points.length, first, last }), last: points.length - 1, range, tick, width: 320, height: 120,
  });
  drawing.append(s("polygon", { class: "plot-area", points: through(edge(1), edge(-1)) }), s("polyline", { class: "plot-line", points: through(edge(0)) }));
  if (points.length === 1) drawing.append(s("circle", { class: "plot-spot", r: 4, cx: x(0), cy: y(points[0].value) }));
  return h("figure", { class: "chart card-panel" }, h("figcaption", {}, title, " ", h("b", {}, last)), drawing);
}
