/* All that the page says, which the server writes into it: `say("lobby.deal")`. It stands in one file,
   `labels.json`; its forms are those of `labels.py`. */

export const LABELS = JSON.parse(document.getElementById("labels").textContent);
const { plurals, you } = LABELS.site;

export const capital = (text) => text.slice(0, 1).toUpperCase() + text.slice(1);

/* Of a sentence's forms the one for this person and number. */
function form(found, { name, n }) {
  if (typeof found === "string") return found;
  if (!Array.isArray(found)) return form(found[name.toLowerCase() === you.toLowerCase() ? "you" : "other"], { name, n });
  const place = plurals.findIndex((digits) => new RegExp(digits).test(n));
  return form(found.at(place), { name, n });
}

/** A sentence, `{name}` in it replaced by a value, `{Name}` by the same with a capital letter. */
export function say(key, values = {}) {
  const text = form(key.split(".").reduce((part, name) => part[name], LABELS), values);
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? capital(`${values[name.toLowerCase()]}`));
}

/** `A, B and C`, or `A, B or C`. */
export const listed = (texts, last = "and") =>
  (texts.length < 2 ? texts.join("") : say(`lists.${last}`, { first: texts.slice(0, -1).join(", "), last: texts.at(-1) }));
