/* Cards as texts ("TH" is the ten of hearts): ids, names, and the order in which a hand is held. */

import { LABELS, listed, say } from "./words.js";

export const RANKS = "23456789TJQKA";
export const SUITS = "CDHS";
export const TAKE_HIDDEN = 52;
export const KEEP = 53;
export const TAKE_BLIND = 54;
const CHOICES = { [TAKE_HIDDEN]: "hidden", [KEEP]: "keep", [TAKE_BLIND]: "blind" };
export const SUIT_NAMES = LABELS.cards.suits;
const SUIT_SYMBOLS = { C: "♣", D: "♦", H: "♥", S: "♠" };

export const rankOf = (card) => card[0];
export const suitOf = (card) => card[1];
export const rankText = (card) => (card[0] === "T" ? "10" : card[0]);
export const isRed = (suit) => suit === "D" || suit === "H";
export const actionOf = (card) => SUITS.indexOf(card[1]) * 13 + RANKS.indexOf(card[0]);
export const nameOf = (card) => say("cards.name", { rank: LABELS.cards.ranks[card[0]], suit: SUIT_NAMES[card[1]] });
export const symbolOf = (card) => rankText(card) + SUIT_SYMBOLS[card[1]];

/** Whether an action is a card, and not a choice or an exchange. */
export const isCard = (action) => !(action in CHOICES);

export function cardOf(action) {
  return isCard(action) ? RANKS[action % 13] + SUITS[Math.floor(action / 13)] : null;
}

export const actionName = (action) => (isCard(action) ? nameOf(cardOf(action)) : say(`cards.${CHOICES[action]}`));
export const actionSymbol = (action) => (isCard(action) ? symbolOf(cardOf(action)) : say(`cards.${CHOICES[action]}_short`));

/** Why a card of the hand may not be played now. */
export function whyNot({ phase, trick, legal }, action) {
  if (phase === "choose" || phase === "exchange") return say(`refused.${phase}`);
  const suit = SUIT_NAMES[suitOf(trick[0].card)];
  return say("refused.follow", { card: actionSymbol(action), suit, cards: listed(legal.map(actionSymbol), "or") });
}

function permutations(items) {
  if (items.length < 2) return [items];
  return items.flatMap((each, place) =>
    permutations([...items.slice(0, place), ...items.slice(place + 1)]).map((rest) => [each, ...rest]));
}

/** The suits of a hand from left to right: trumps first, then red and black in turn. */
export function suitOrder(cards, trump, order) {
  const all = ["S", "H", "C", "D"];
  if (order === "classic") return ["S", "H", "D", "C"];
  const held = all.filter((suit) => cards.some((card) => suitOf(card) === suit));
  const clashes = (suits) => suits.filter((suit, place) => place && isRed(suit) === isRed(suits[place - 1])).length;
  const rows = permutations(held).filter((suits) => !held.includes(trump) || suits[0] === trump);
  return rows.reduce((best, suits) => (clashes(suits) < clashes(best) ? suits : best), rows[0] ?? all);
}

/** A hand as it is held: suit by suit, the highest card of each first. */
export function sorted(cards, trump, order) {
  const suits = suitOrder(cards, trump, order);
  const place = (card) => suits.indexOf(suitOf(card)) * 13 + 12 - RANKS.indexOf(rankOf(card));
  return [...cards].sort((one, two) => place(one) - place(two));
}
