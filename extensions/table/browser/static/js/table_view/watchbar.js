// @ts-check
/* The bar under a watched game: pause, one step, and how fast it goes. */

/** @import { Speed, SpeedRequest } from "../../../messages" */

import { h } from "../base/dom.js";
import { show, tool } from "../base/icons.js";
import { label } from "../base/words.js";

const SLOWEST = 3000, QUICKEST = 100;

export class WatchBar {
  /** @param {(wish: SpeedRequest) => void} onwish */
  constructor(onwish) {
    this.onwish = onwish;
    this.paused = false;
    this.pauseButton = tool("pause", label("watch.pause"), () => this.toggle());
    /** @type {HTMLInputElement} */
    this.slider = h("input", {
      type: "range", min: QUICKEST, max: SLOWEST, step: 100, value: 800,
      onchange: () => onwish({ delay_ms: SLOWEST + QUICKEST - Number(this.slider.value) }),
    });
    this.root = h("div", { class: "watch-bar row", hidden: true, role: "group", "aria-label": label("watch.title") },
      this.pauseButton, tool("last", label("watch.step"), () => this.step()),
      h("label", {}, h("span", {}, label("watch.speed")), this.slider));
  }

  /** @param {Speed | null} speed */
  update(speed) {
    if (!speed) return;
    this.paused = speed.paused;
    show(this.pauseButton, this.paused ? "play" : "pause", label(this.paused ? "watch.go_on" : "watch.pause"));
    if (document.activeElement !== this.slider) this.slider.value = String(SLOWEST + QUICKEST - speed.delay_ms);
  }

  toggle() {
    this.onwish({ pause: !this.paused });
  }

  step() {
    this.onwish({ step: true });
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.key === " ") this.toggle();
    else if (event.key === "ArrowRight") this.step();
    else return false;
    return true;
  }
}
