// @ts-check
/* A hand's story as a small plot: the expected result of the first player over the tricks. */

/** @import { Points } from "../base/plot.js" */
/** @import { StoryPoint } from "../../../messages" */

import { h, s } from "../base/dom.js";
import { plot } from "../base/plot.js";
import { label, signed } from "../base/words.js";

/** The plot, and `at(n)`, which marks a step of the replay in it.
 * @param {{ story: StoryPoint[], unit: string, name: string, steps: number, onpick: (n: number) => void }} options
 */
export function storyPlot({ story, unit, name, steps, onpick }) {
  const wins = unit === "win %", values = story.map(({ expected }) => expected), most = Math.ceil(Math.max(1, ...values.map(Math.abs)));
  const [low, high] = wins ? [0, 100] : [-most, most];
  /** @param {number} value */
  const amount = (value) => (wins ? `${Math.round(value)} %` : signed(value, 1));
  const { drawing, x, y, mark, through } = plot({
    title: label(values.length ? "story.spoken" : "story.none", { name, first: amount(values[0] ?? 0), last: amount(values.at(-1) ?? 0), low: amount(Math.min(...values)), high: amount(Math.max(...values)) }),
    last: steps, range: [low, high], tick: (value) => (wins ? `${value}%` : signed(value)), onpick, height: 112, bottom: 22,
  });
  const endgame = story.find(({ exact }) => exact), spot = s("circle", { class: "plot-spot", r: 4 });
  /** @type {Points} */
  const points = story.map(({ n, expected }) => [n, expected]);
  /** @type {(n: number, text: string, anchor?: string) => Node} */
  const foot = (n, text, anchor = "start") => s("text", { class: "plot-label", x: x(n), y: y(low) + 16, "text-anchor": anchor }, text);
  if (endgame) drawing.prepend(s("rect", { class: "plot-endgame", x: x(endgame.n), y: y(high), width: x(steps) - x(endgame.n), height: y(low) - y(high) }));
  drawing.append(
    s("polygon", { class: "plot-area", points: through(points, points.map(([n]) => [n, (low + high) / 2])) }),
    s("polyline", { class: "plot-line", points: through(points) }), spot, foot(0, label("story.first")), foot(steps, label("story.last"), "end"),
    endgame && endgame.n < steps * 0.75 ? foot(endgame.n, label("story.endgame")) : "");
  const value = h("output", { class: "plot-value faint" });
  /** @param {number} n */
  const at = (n) => {
    mark(n);
    const point = [...story].reverse().find((entry) => entry.n <= n) ?? story[0];
    if (!point) return;
    const { exact, expected } = point;
    spot.setAttribute("cx", String(x(point.n)));
    spot.setAttribute("cy", String(y(expected)));
    value.textContent = label(`story.${wins ? "to_win" : "expected"}${exact ? "" : "_about"}`, { name, value: wins ? Math.round(expected) : signed(expected, 1) });
  };
  return { root: h("figure", { class: "story" }, drawing, h("figcaption", {}, value)), at };
}
