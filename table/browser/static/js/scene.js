/* A scene is what lies on the table, as plain data: hands, stock, upcards, the trick, the last one.
   `sceneOf` reads it from a state of the server, `after` makes the next one from an event. */

export const EMPTY = { hand: [], other: [], stockLeft: 0, up: [], trick: [], last: [], trump: null };

/** The scene of a state, for the seat that it was sent to; who plays from memory sees no known cards. */
export function sceneOf(state, memory = false) {
  const own = memory && !state.watched && state.phase !== "over";
  const known = own ? [] : state.other_hand ?? state.known_other ?? [];
  const hidden = Math.max(0, state.hand_size_other - known.length);
  return {
    hand: [...state.hand],
    other: [...known, ...Array(hidden).fill(null)],
    stockLeft: state.stock_left,
    up: [...state.upcards],
    trick: state.trick.map(({ who, card }) => ({ who, card })),
    last: (state.last_trick ?? []).map(({ who, card }) => ({ who, card })),
    trump: state.trump,
  };
}

function without(cards, card) {
  const place = cards.includes(card) ? cards.indexOf(card) : cards.lastIndexOf(null);
  return place < 0 ? cards : [...cards.slice(0, place), ...cards.slice(place + 1)];
}

/** The scene after a card was played from a hand to the trick. */
export function played(scene, who, card) {
  if (scene.trick.some((each) => each.card === card)) return scene;
  return {
    ...scene,
    hand: who === 0 ? scene.hand.filter((each) => each !== card) : scene.hand,
    other: who === 1 ? without(scene.other, card) : scene.other,
    trick: [...scene.trick, { who, card }],
  };
}

const cleared = (scene) => (scene.trick.length > 1 ? { ...scene, last: scene.trick, trick: [] } : scene);

function drawn(scene, who, card) {
  const up = scene.up.filter((each) => each !== card);
  const shown = card ?? null;
  return {
    ...cleared(scene),
    up,
    stockLeft: Math.max(0, scene.stockLeft - 1),
    hand: who === 0 && shown && !scene.hand.includes(shown) ? [...scene.hand, shown] : scene.hand,
    other: who === 1 ? [...scene.other, shown] : scene.other,
  };
}

/** The scene after an event; `null` when nothing moves. */
export function after(scene, event) {
  if (event.kind === "led" || event.kind === "followed") return played(scene, event.who, event.card);
  if (event.kind === "won") return cleared(scene);
  if (event.kind === "drew") return drawn(scene, event.who, event.card);
  if (event.kind === "turned") return { ...scene, up: event.cards ?? scene.up };
  return null;
}
