// @ts-check
/* The order in which a hand is held. */

import { isRed, RANKS, rankOf, suitOf } from "./names.js";

/** The suits of a hand from left to right: trumps first, then red and black in turn.
 * @param {string[]} cards
 * @param {string | null} trump
 * @param {string} order
 */
export function suitOrder(cards, trump, order) {
  if (order === "classic") return ["S", "H", "D", "C"];
  const left = ["S", "H", "C", "D"].filter((suit) => cards.some((card) => suitOf(card) === suit));
  const mostlyRed = left.filter(isRed).length > left.length / 2;
  /** @type {string[]} */
  const suits = [];
  let next = left.find((suit) => suit === trump) ?? (mostlyRed ? left.find(isRed) : left[0]);
  while (next) {
    suits.push(...left.splice(left.indexOf(next), 1));
    const red = isRed(next);
    next = left.find((suit) => isRed(suit) !== red) ?? left[0];
  }
  return suits;
}

/** A hand as it is held: suit by suit, the highest card of each first.
 * @param {string[]} cards
 * @param {string | null} trump
 * @param {string} order
 */
export function sorted(cards, trump, order) {
  const suits = suitOrder(cards, trump, order);
  /** @param {string} card */
  const place = (card) => suits.indexOf(suitOf(card)) * 13 + 12 - RANKS.indexOf(rankOf(card));
  return [...cards].sort((one, two) => place(one) - place(two));
}
