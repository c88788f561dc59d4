// @ts-check
/* A scene is what lies on the table, as plain data: hands, stock, upcards, the trick, the last one.
   `sceneOf` reads it from a state of the server, `after` makes the next one from an event. */

/** @import { PlayedCard, TableEvent, VisibleState } from "../../../messages" */

/**
 * Cards that are not known are null; `most` is how many cards a hand may have had before.
 * @typedef {{ hand: string[], other: (string | null)[], stockLeft: number, up: string[], trick: PlayedCard[], last: PlayedCard[],
 *   trump: string | null, most?: number }} Scene
 */

/** @type {Scene} */
export const EMPTY = { hand: [], other: [], stockLeft: 0, up: [], trick: [], last: [], trump: null };

/** The scene of a state, for the seat that it was sent to.
 * @param {VisibleState} state
 * @returns {Scene}
 */
export function sceneOf({ hand, other_hand, known_other, hand_size_other, stock_left, upcards, trick, last_trick, trump }) {
  const known = other_hand ?? known_other;
  return {
    hand, trick, trump, stockLeft: stock_left, up: upcards, last: last_trick,
    other: [...known, ...Array(Math.max(0, hand_size_other - known.length)).fill(null)],
  };
}

/** @type {(cards: (string | null)[], card: string) => (string | null)[]} */
function without(cards, card) {
  const place = cards.includes(card) ? cards.indexOf(card) : cards.lastIndexOf(null);
  return place < 0 ? cards : [...cards.slice(0, place), ...cards.slice(place + 1)];
}

/** The scene after a card was played from a hand to the trick.
 * @type {(scene: Scene, who: number, card: string) => Scene}
 */
export function played(scene, who, card) {
  if (scene.trick.some((played) => played.card === card)) return scene;
  return {
    ...scene,
    hand: who === 0 ? scene.hand.filter((other) => other !== card) : scene.hand,
    other: who === 1 ? without(scene.other, card) : scene.other,
    trick: [...scene.trick, { who, card }],
  };
}

/** @type {(scene: Scene) => Scene} */
const cleared = (scene) => (scene.trick.length > 1 ? { ...scene, last: scene.trick, trick: [] } : scene);

/** @type {(scene: Scene, who: number, card: string | null) => Scene} */
function drawn(scene, who, card) {
  const up = scene.up.filter((other) => other !== card);
  return {
    ...cleared(scene),
    up,
    stockLeft: Math.max(0, scene.stockLeft - 1),
    hand: who === 0 && card && !scene.hand.includes(card) ? [...scene.hand, card] : scene.hand,
    other: who === 1 ? [...scene.other, card] : scene.other,
  };
}

/** The scene after an event; `null` when nothing moves.
 * @type {(scene: Scene, event: TableEvent) => Scene | null}
 */
export function after(scene, { kind, who, card, cards }) {
  if ((kind === "led" || kind === "followed") && who !== null && card) return played(scene, who, card);
  if (kind === "won") return cleared(scene);
  if (kind === "drew" && who !== null) return drawn(scene, who, card);
  if (kind === "turned") return { ...scene, up: cards ?? scene.up };
  return null;
}
