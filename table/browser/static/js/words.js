/* The labels of the page, which the server writes into it: `say("lobby.deal")`. All of them stand in
   one file, `labels.json`; sentences about a hand come with the hand. */

export const LABELS = JSON.parse(document.getElementById("labels").textContent);

/** A label, `{name}` in it replaced by a value; of two forms the first is for `n` = 1. */
export function say(key, values = {}) {
  const found = key.split(".").reduce((part, name) => part[name], LABELS);
  const text = Array.isArray(found) ? found[values.n === 1 ? 0 : 1] : found;
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

/** `Anna and Bert`. */
export const bothOf = ([first, second]) => say("replay.and", { first, second });
