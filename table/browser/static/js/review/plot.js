// @ts-check
/* A hand's story as a small plot: the expected result of the first player over the tricks. */

/** @import { StoryPoint } from "../../../messages" */

import { gridLines, onStepClick } from "../base/axes.js";
import { h, s } from "../base/dom.js";
import { label, signed } from "../base/words.js";

const PAD_LEFT = 34, PAD_RIGHT = 8, PAD_TOP = 10, PAD_BOTTOM = 22;

/** @type {(story: StoryPoint[], unit: string) => [number, number, number]} */
function rangeOf(story, unit) {
  if (unit === "win %") return [0, 50, 100];
  const most = Math.max(1, ...story.map((entry) => Math.abs(entry.expected)));
  const edge = Math.ceil(most);
  return [-edge, 0, edge];
}

/** The plot in so many pixels, and `at(n)`, which marks a step of the replay in it.
 * @param {{ story: StoryPoint[], unit: string, name: string, steps: number, onpick: (n: number) => void, width: number }} options
 */
export function storyPlot({ story, unit, name, steps, onpick, width }) {
  const height = width < 860 ? 92 : 120;
  const [low, middle, high] = rangeOf(story, unit);
  const last = Math.max(1, steps);
  /** @param {number} n */
  const x = (n) => PAD_LEFT + ((width - PAD_LEFT - PAD_RIGHT) * n) / last;
  /** @param {number} value */
  const y = (value) => PAD_TOP + ((height - PAD_TOP - PAD_BOTTOM) * (high - value)) / (high - low);
  const points = story.map(({ n, expected }) => [x(n), y(expected)]);
  const path = points.map(([px, py], place) => `${place ? "L" : "M"}${px.toFixed(1)},${py.toFixed(1)}`).join("");
  const area = points.length ? `${path}L${points[points.length - 1][0].toFixed(1)},${y(middle)}L${points[0][0].toFixed(1)},${y(middle)}Z` : "";
  const marker = s("line", { class: "plot-now", y1: PAD_TOP - 4, y2: height - PAD_BOTTOM });
  const spot = s("circle", { class: "plot-spot", r: 4 });
  const endgame = story.find((entry) => entry.exact);
  /** @param {number} value */
  const tick = (value) => (unit === "win %" ? `${value}%` : signed(value));
  const drawing = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img", "aria-label": spoken(story, unit, name) },
    endgame ? s("rect", { class: "plot-endgame", x: x(endgame.n), y: PAD_TOP, width: width - PAD_RIGHT - x(endgame.n), height: height - PAD_TOP - PAD_BOTTOM }) : null,
    gridLines([low, middle, high], y, PAD_LEFT, width - PAD_RIGHT, tick),
    s("path", { class: "plot-area", d: area }), s("path", { class: "plot-line", d: path }), marker, spot,
    s("text", { class: "plot-label", x: PAD_LEFT, y: height - 6 }, label("story.first")),
    s("text", { class: "plot-label", x: width - PAD_RIGHT, y: height - 6, "text-anchor": "end" }, label("story.last")),
    endgame ? s("text", { class: "plot-label", x: x(endgame.n) + 3, y: height - 6 }, endgame.n < last * 0.75 ? label("story.endgame") : "") : null);
  onStepClick(drawing, width, PAD_LEFT, width - PAD_RIGHT, last, onpick);
  const value = h("output", { class: "plot-value" });
  /** @param {number} n */
  const at = (n) => {
    const point = [...story].reverse().find((entry) => entry.n <= n) ?? story[0];
    for (const end of ["x1", "x2"]) marker.setAttribute(end, String(x(n)));
    if (!point) return;
    spot.setAttribute("cx", String(x(point.n)));
    spot.setAttribute("cy", String(y(point.expected)));
    const { exact, expected } = point;
    value.textContent = unit === "win %" ? label(exact ? "story.to_win" : "story.to_win_about", { name, value: Math.round(expected) })
      : label(exact ? "story.expected" : "story.expected_about", { name, value: signed(expected, 1) });
  };
  return { root: h("figure", { class: "story" }, drawing, h("figcaption", {}, value)), at };
}

/** @type {(story: StoryPoint[], unit: string, name: string) => string} */
function spoken(story, unit, name) {
  if (!story.length) return label("story.none");
  /** @param {number} value */
  const amount = (value) => (unit === "win %" ? `${Math.round(value)} %` : signed(value, 1));
  const values = story.map((entry) => entry.expected);
  return label("story.spoken", { name, first: amount(values[0]), last: amount(values[values.length - 1]), low: amount(Math.min(...values)), high: amount(Math.max(...values)) });
}
