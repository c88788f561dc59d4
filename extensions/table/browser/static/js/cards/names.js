// @ts-check
/* Cards as texts ("TH" is the ten of hearts): their action ids, names and symbols. */

/** @import { TableState } from "../../../messages" */

import { LABELS, listed, label } from "../base/words.js";

export const RANKS = "23456789TJQKA";
export const SUITS = "CDHS";
export const TAKE_HIDDEN = 52;
export const KEEP = 53;
export const TAKE_BLIND = 54;
/** @type {Record<number, string>} */
const CHOICES = { [TAKE_HIDDEN]: "hidden", [KEEP]: "keep", [TAKE_BLIND]: "blind" };
/** @type {Record<string, string>} */
export const SUIT_NAMES = LABELS.cards.suits;
/** @type {Record<string, string>} */
const RANK_NAMES = LABELS.cards.ranks;
/** @type {Record<string, string>} */
const SUIT_SYMBOLS = { C: "♣", D: "♦", H: "♥", S: "♠" };

/** @typedef {(card: string) => string} Format */
/** @type {Format} */
export const rankOf = (card) => card[0];
/** @type {Format} */
export const suitOf = (card) => card[1];
/** @type {Format} */
export const rankText = (card) => (card[0] === "T" ? "10" : card[0]);
/** @param {string} suit */
export const isRed = (suit) => suit === "D" || suit === "H";
/** @param {string} card */
export const actionOf = (card) => SUITS.indexOf(card[1]) * 13 + RANKS.indexOf(card[0]);
/** @type {Format} */
export const nameOf = (card) => label("cards.name", { rank: RANK_NAMES[card[0]], suit: SUIT_NAMES[card[1]] });
/** @type {Format} */
export const symbolOf = (card) => rankText(card) + SUIT_SYMBOLS[card[1]];

/** Whether an action is a card, and not a choice or an exchange.
 * @param {number} action
 */
export const isCard = (action) => !(action in CHOICES);

/** @param {number} action */
export function cardOf(action) {
  return isCard(action) ? RANKS[action % 13] + SUITS[Math.floor(action / 13)] : null;
}

/** @type {(action: number, format: Format, form?: string) => string} */
const inWords = (action, format, form = "") => {
  const card = cardOf(action);
  return card ? format(card) : label(`cards.${CHOICES[action]}${form}`);
};
/** @param {number} action */
export const actionName = (action) => inWords(action, nameOf);
/** @param {number} action */
export const actionSymbol = (action) => inWords(action, symbolOf, "_short");

/** Why a card of the hand may not be played now.
 * @param {Pick<TableState, "phase" | "trick" | "legal">} state
 * @param {number} action
 */
export function whyNot({ phase, trick, legal }, action) {
  if (phase === "choose") return label("refused.choose");
  if (phase === "exchange") return label("refused.exchange");
  const suit = SUIT_NAMES[suitOf(trick[0].card)];
  return label("refused.follow", { card: actionSymbol(action), suit, cards: listed(legal.map(actionSymbol), "or") });
}
