// @ts-check
/* The table: one element for each card that lies on the table, moved from place to place.
   `show(scene)` finds for every place of the new scene the card that goes there, and moves it. */

/** @import { Place, Plan } from "./layout.js" */
/** @import { Scene } from "./scene.js" */
/** @import { TableViewOptions } from "../base/settings.js" */

import { h } from "../base/dom.js";
import { nameOf } from "../cards/names.js";
import { face } from "../cards/draw.js";
import { arrange } from "./layout.js";

/**
 * A card that lies on the table: `drawn` is what its face shows, `card` what it is where that is known.
 * @typedef {{ element: HTMLElement, inner: HTMLElement, card: string | null, zone: string, drawn: string | null, transform: string,
 *   depth: number }} Piece
 * A button over a card; the key is the card, or `stock`.
 * @typedef {{ key: string, zone: string, action: number, disabled?: boolean, name?: string }} Item
 */

const SPEEDS = { normal: 220, fast: 100, none: 0 };
const EASE = "cubic-bezier(.22,.8,.24,1)";

export class TableView {
  /** `options()` gives the settings in force: cards, order, rows, speed.
   * @param {() => TableViewOptions} options
   */
  constructor(options) {
    this.options = options;
    /** @type {Piece[]} */
    this.pieces = [];
    /** @type {Scene | null} */
    this.scene = null;
    /** @type {Plan | null} */
    this.plan = null;
    this.cards = h("div", { class: "cards", "aria-hidden": "true" });
    this.hits = h("div", { class: "hits" });
    this.root = h("div", { class: "table-view" }, this.cards, this.hits);
    /** @type {(plan: Plan) => void} */
    this.onarranged = () => {};
    this.observer = new ResizeObserver(() => this.scene && this.show(this.scene, { still: true }));
    this.observer.observe(this.root);
  }

  close() {
    this.observer.disconnect();
  }

  /** Ends all moves: every card lies where it was going. */
  finish() {
    for (const move of this.cards.getAnimations({ subtree: true })) move.finish();
  }

  /** Lays the table as the scene says; resolves when the cards have come to rest.
   * @param {Scene} scene
   */
  async show(scene, { still = false, stagger = 0 } = {}) {
    this.scene = scene;
    const { clientWidth: width, clientHeight: height } = this.root;
    if (!width || !height) return;
    const plan = arrange(scene, width, height, this.options());
    const duration = still ? 0 : SPEEDS[this.options().speed];
    const pairs = this.match(plan.places);
    const kept = new Set(pairs.map(([, piece]) => piece));
    for (const piece of this.pieces) if (!kept.has(piece)) this.dismiss(piece, duration);
    this.pieces = [...kept];
    this.root.style.setProperty("--card", `${plan.card}px`);
    this.root.style.setProperty("--above-hand", `${height - plan.handTop}px`);
    document.documentElement.style.setProperty("--toast", `${innerHeight - this.root.getBoundingClientRect().top - plan.handTop + 4}px`);
    this.plan = plan;
    this.root.dataset.size = `${width} ${height}`;
    this.onarranged(plan);
    this.placeButtons();
    const moves = pairs.map(([place, piece], number) =>
      this.move(piece, place, duration, stagger * number * (duration ? 1 : 0)));
    await Promise.all(moves);
  }

  /* Every place gets a piece: the same card first, then the card that is turned over on its way
     there, then a new one from the stock. */
  /** @param {Place[]} places */
  match(places) {
    const free = new Set(this.pieces);
    /** @type {Map<Place, Piece>} */
    const found = new Map();
    /** @type {(place: Place, test: (piece: Piece) => boolean) => void} */
    const take = (place, test) => {
      if (found.has(place)) return;
      for (const piece of free) {
        if (test(piece)) {
          found.set(place, piece);
          free.delete(piece);
          return;
        }
      }
    };
    for (const place of places) if (place.card) take(place, (piece) => piece.card === place.card);
    const hands = ["hand", "other"];
    for (const place of places) {
      if (place.zone === "trick") take(place, (piece) => !piece.card && piece.zone === hands[place.who ?? 0]);
    }
    for (const place of places) {
      if (place.zone === "hand" || place.zone === "other" || place.zone === "stock") {
        take(place, (piece) => piece.zone === place.zone && (!place.card || !piece.card));
      }
    }
    const top = [...free].filter((piece) => piece.zone === "stock").reverse();
    for (const place of places) {
      if (found.has(place) || place.zone === "stock" || place.zone === "last") continue;
      const piece = top.find((candidate) => free.has(candidate));
      if (piece) take(place, (other) => other === piece);
    }
    for (const place of places) if (!found.has(place)) found.set(place, this.create(place, places));
    return [...found];
  }

  /** @type {(place: Place, places: Place[]) => Piece} */
  create(place, places) {
    const inner = h("div", { class: "inner" });
    const element = h("div", { class: "card" }, inner);
    /** @type {Piece} */
    const piece = { element, inner, card: null, zone: place.zone, drawn: null, transform: "", depth: 0 };
    const origin = place.zone === "stock" || place.zone === "last" ? place : places.find((other) => other.zone === "stock") ?? place;
    this.set(piece, origin);
    this.cards.append(element);
    return piece;
  }

  /** @type {(piece: Piece, place: Place) => void} */
  set(piece, { x, y, scale, z }) {
    piece.transform = `translate(-50%, -50%) translate(${x.toFixed(1)}px, ${y.toFixed(1)}px) scale(${scale})`;
    piece.element.style.transform = piece.transform;
    piece.depth = z;
    piece.element.style.zIndex = String(z);
  }

  /** @type {(piece: Piece, duration: number) => void} */
  dismiss(piece, duration) {
    const gone = piece.element.animate([{ opacity: 1 }, { opacity: 0 }], { duration: duration * 0.6, fill: "forwards" });
    gone.finished.then(() => piece.element.remove(), () => piece.element.remove());
  }

  /** @type {(piece: Piece, place: Place, duration: number, delay: number) => Promise<void>} */
  async move(piece, place, duration, delay) {
    const { element } = piece;
    const running = element.getAnimations();
    const before = running.length ? getComputedStyle(element).transform : piece.transform;
    const zone = piece.zone;
    running.forEach((animation) => animation.cancel());
    piece.zone = place.zone;
    this.set(piece, place);
    element.dataset.zone = place.zone;
    element.classList.toggle("trump", place.zone === "hand" && place.card?.slice(-1) === this.scene?.trump);
    this.turn(piece, place.card, duration, delay);
    if (!duration || before === piece.transform) return;
    if (zone !== place.zone) element.style.zIndex = String(500 + place.z);
    const move = element.animate([{ transform: before }, { transform: piece.transform }],
      { duration, delay, easing: EASE, fill: "backwards" });
    await move.finished.then(() => void (element.style.zIndex = String(place.z)), () => {});
  }

  /* Shows the face or the back; a card that changes between them is turned over on its way. */
  /** @type {(piece: Piece, card: string | null, duration: number, delay: number) => void} */
  turn(piece, card, duration, delay) {
    const look = card ? `${card} ${this.options().cards}` : "back";
    if (piece.drawn === look) return;
    const turned = piece.drawn !== null && (piece.card === null) !== (card === null);
    piece.card = card;
    piece.drawn = look;
    const paint = () => {
      piece.inner.replaceChildren(card ? face(card, this.options().cards) : h("div", { class: "back" }));
      piece.element.dataset.card = card ?? "";
    };
    if (!duration || !turned) return paint();
    /** @type {KeyframeAnimationOptions} */
    const half = { duration: duration * 0.35, easing: "ease-in", fill: "forwards" };
    const away = piece.inner.animate([{ transform: "none" }, { transform: "scaleX(0)" }], { ...half, delay });
    away.finished.then(() => {
      paint();
      away.cancel();
      piece.inner.animate([{ transform: "scaleX(0)" }, { transform: "none" }], { ...half, easing: "ease-out", fill: "none" });
    }, paint);
  }

  /** Marks cards by class name: `{lifted: ["TH"], dim: [...]}`.
   * @param {Record<string, (string | null)[]>} classes
   */
  mark(classes) {
    const top = this.pieces.filter((piece) => piece.zone === "stock").sort((one, two) => two.depth - one.depth)[0];
    for (const piece of this.pieces) {
      for (const [name, cards] of Object.entries(classes)) {
        const named = cards.includes(piece === top ? "stock" : piece.card);
        piece.element.classList.toggle(name, named);
      }
    }
  }

  /** An illegal card shakes.
   * @param {string} card
   */
  refuse(card) {
    const steps = [0, -7, 7, -5, 5, 0].map((x) => ({ transform: `translateX(${x}px)` }));
    this.pieces.find((piece) => piece.card === card)?.inner.animate(steps, { duration: 320 });
  }

  /** Buttons over the cards that can be chosen: what keys and screen readers get.
   * @param {Item[]} wanted
   * `ondrop` gets the card of the hand that was drawn upwards.
   * @param {{ label: string, onchoose: (key: string, event: MouseEvent) => void, onfocus: (key: string) => void,
   *   onhover: (key: string | null) => void, ondrop?: (key: string, event: MouseEvent) => void }} options
   */
  buttons(wanted, { label, onchoose, onfocus, onhover, ondrop }) {
    const focused = this.focused();
    this.hits.setAttribute("role", "group");
    this.hits.setAttribute("aria-label", label);
    this.hits.replaceChildren(...wanted.map(({ key, zone, disabled, name }) => h("button", {
      type: "button", class: "hit", "data-key": key, "data-zone": zone, "aria-label": name ?? nameOf(key),
      "aria-disabled": disabled ? "true" : null, tabindex: "-1",
      onclick: (event) => onchoose(key, event),
      onpointerdown: ondrop && zone === "hand" && !disabled ? (event) => this.drag(key, event, ondrop) : undefined,
      onfocus: ({ target }) => target instanceof Element && target.matches(":focus-visible") && onfocus(key),
      onpointerenter: () => onhover(key), onpointerleave: () => onhover(null),
    })));
    this.placeButtons();
    if (focused) this.focus(focused);
  }

  /* A card follows the pointer; let go above the hand it is played, and it falls back elsewhere. */
  /** @type {(key: string, start: PointerEvent, ondrop: (key: string, event: MouseEvent) => void) => void} */
  drag(key, start, ondrop) {
    const button = /** @type {HTMLElement} */ (start.currentTarget), inner = this.pieces.find(({ card }) => card === key)?.inner;
    if (!inner || !start.isPrimary) return;
    const far = this.plan ? this.plan.tall / 3 : Infinity, end = new AbortController();
    /** @type {(kind: string, act: (event: PointerEvent) => void) => void} */
    const on = (kind, act) => button.addEventListener(kind, /** @type {EventListener} */ (act), { signal: end.signal });
    on("pointermove", ({ clientX: x, clientY: y }) => {
      const left = x - start.clientX, top = y - start.clientY;
      if (inner.style.translate || Math.hypot(left, top) > 8) inner.style.translate = `${left}px ${top}px`;
    });
    button.setPointerCapture(start.pointerId);
    on("pointercancel", () => end.abort());
    on("pointerup", (event) => {
      const moved = inner.style.translate, dropped = moved && start.clientY - event.clientY > far;
      end.abort();
      // The browser sends a click after a drag: it plays no card.
      if (moved) button.addEventListener("click", (click) => click.stopImmediatePropagation(), { capture: true, once: true });
      if (dropped) ondrop(key, event);
    });
    end.signal.addEventListener("abort", () => inner.style.removeProperty("translate"));
  }

  /* Each button covers what can be seen of its card; one whose card has gone is hidden. */
  placeButtons() {
    if (!this.plan) return;
    const { places, card, tall } = this.plan;
    const hand = places.filter((place) => place.zone === "hand");
    for (const button of this.hitButtons()) {
      const { key, zone } = button.dataset;
      const found = places.filter((candidate) => candidate.zone === zone && (zone === "stock" || candidate.card === key)).at(-1);
      button.hidden = !found;
      if (!found) continue;
      const after = hand[hand.indexOf(found) + 1];
      const covered = zone === "hand" && after && after.y === found.y;
      button.style.left = `${found.x - (card * found.scale) / 2}px`;
      button.style.top = `${found.y - (tall * found.scale) / 2}px`;
      button.style.width = `${covered ? Math.min(found.step ?? card, card) : card * found.scale}px`;
      button.style.height = `${found.covered || tall * found.scale}px`;
      // Where cards of the stock overlap, the one that lies above is the one that is taken.
      if (zone !== "hand") button.style.zIndex = String(found.z);
    }
  }

  hitButtons() {
    return /** @type {HTMLButtonElement[]} */ ([...this.hits.children]);
  }

  /** The key of the button that has the focus. */
  focused() {
    return this.hitButtons().find((candidate) => candidate === document.activeElement)?.dataset.key ?? null;
  }

  /** @param {string} key */
  focus(key) {
    const button = this.hitButtons().find((candidate) => candidate.dataset.key === key);
    button?.focus({ preventScroll: true });
    return Boolean(button);
  }
}
