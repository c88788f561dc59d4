/* Cards as texts ("TH" is the ten of hearts): ids, names, and the order in which a hand is held. */

export const RANKS = "23456789TJQKA";
export const SUITS = "CDHS";
export const TAKE_HIDDEN = 52;
export const SUIT_NAMES = { C: "clubs", D: "diamonds", H: "hearts", S: "spades" };
export const SUIT_SYMBOLS = { C: "♣", D: "♦", H: "♥", S: "♠" };
const RANK_NAMES = {
  2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine",
  T: "ten", J: "jack", Q: "queen", K: "king", A: "ace",
};

export const rankOf = (card) => card[0];
export const suitOf = (card) => card[1];
export const rankText = (card) => (card[0] === "T" ? "10" : card[0]);
export const isRed = (suit) => suit === "D" || suit === "H";
export const actionOf = (card) => SUITS.indexOf(card[1]) * 13 + RANKS.indexOf(card[0]);
export const nameOf = (card) => `${RANK_NAMES[card[0]]} of ${SUIT_NAMES[card[1]]}`;
export const symbolOf = (card) => rankText(card) + SUIT_SYMBOLS[card[1]];

export function cardOf(action) {
  return action === TAKE_HIDDEN ? null : RANKS[action % 13] + SUITS[Math.floor(action / 13)];
}

export const actionName = (action) => (action === TAKE_HIDDEN ? "the hidden card" : nameOf(cardOf(action)));
export const actionSymbol = (action) => (action === TAKE_HIDDEN ? "hidden" : symbolOf(cardOf(action)));

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
