// @ts-check
/* What plots over the steps of a hand, or over hands, have in common. */

import { s } from "./dom.js";

/** Lines across a plot, from `left` to `right`, with their values.
 * @type {(values: number[], y: (value: number) => number, left: number, right: number, tick: (value: number) => string) => Node[][]}
 */
export const gridLines = (values, y, left, right, tick) => values.map((value) => [
  s("line", { class: "plot-grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
  s("text", { class: "plot-label", x: left - 5, y: y(value) + 3.5, "text-anchor": "end" }, tick(value)),
]);

/** Calls back with the step at which a plot is clicked; steps from 0 to `last` lie from `left` to `right`.
 * @type {(drawing: SVGElement, width: number, left: number, right: number, last: number, onpick: (step: number) => void) => void}
 */
export function onStepClick(drawing, width, left, right, last, onpick) {
  drawing.addEventListener("click", (event) => {
    const box = drawing.getBoundingClientRect(), place = (width * (event.clientX - box.left)) / box.width;
    onpick(Math.max(0, Math.min(last, Math.round((last * (place - left)) / (right - left)))));
  });
}
