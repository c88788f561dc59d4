/* What stands beside the cards: a plate for each player, the prompt, trumps and the stock's number. */

import { SUIT_NAMES, suitOf } from "./cards.js";
import { h, plural } from "./dom.js";
import { suitIcon } from "./suits.js";

export const namesOf = (state) => [state.player === "human" ? "You" : state.player, state.opponent];

/** "to 25 points", "best of 3", "a single hand". */
export function matchText(match) {
  if (match.kind === "points") return `to ${plural(match.n, "point")}`;
  return match.kind === "best" ? `best of ${match.n}` : "a single hand";
}

function score(number) {
  return h("span", { class: "plate-score" }, number, h("small"));
}

function tellScore(number, count, noun) {
  number.textContent = count;
  number.nextSibling.textContent = count === 1 ? noun : `${noun}s`;
}

class Plate {
  constructor(who) {
    this.who = who;
    this.name = h("span", { class: "plate-name" });
    this.mark = h("span", { class: "plate-mark", "aria-hidden": "true" });
    this.dealer = h("span", { class: "plate-dealer", title: "dealer" }, "D");
    this.tricks = h("b");
    this.points = h("b");
    this.pointsBox = score(this.points);
    this.root = h("div", { class: `plate plate-${who ? "other" : "own"}`, "aria-hidden": "true" },
      this.mark,
      h("div", { class: "plate-who" }, this.name, this.dealer),
      h("div", { class: "plate-scores" },
        score(this.tricks), this.pointsBox));
  }

  update(state) {
    const { who } = this;
    const name = namesOf(state)[who];
    this.name.textContent = name;
    this.mark.textContent = name[0].toUpperCase();
    this.dealer.hidden = state.dealer !== who;
    tellScore(this.tricks, state.tricks[who], "trick");
    this.pointsBox.hidden = state.match.kind === "single";
    const best = state.match.kind === "best";
    tellScore(this.points, best ? state.match.hands_won[who] : state.match.points[who], best ? "hand" : "point");
    this.root.classList.toggle("to-move", state.turn === who);
    this.root.classList.toggle("thinking", Boolean(state.thinking) && state.turn === who);
  }
}

/** What the player to move is asked for, in a few words. */
export function promptOf(state) {
  const [, other] = namesOf(state);
  if (state.left) return "This table is closed";
  if (state.phase === "over") return state.match.over ? "The match is over" : "The hand is over";
  if (state.player !== "human") return `${namesOf(state)[state.turn]} is to play`;
  if (state.turn === 1) return state.thinking ? `${other} is thinking` : `${other} is to play`;
  if (state.phase === "choose") return "You won the trick: take a card";
  if (state.phase === "lead") return "Your lead";
  const led = state.trick[0] && suitOf(state.trick[0].card);
  if (!led) return "Your turn";
  return state.hand.some((card) => suitOf(card) === led) ? `Follow ${SUIT_NAMES[led]}` : `No ${SUIT_NAMES[led]}: play any card`;
}

/** Plates and labels of one table, put on the felt. */
export class Plates {
  constructor(felt) {
    this.felt = felt;
    this.plates = [new Plate(0), new Plate(1)];
    this.prompt = h("p", { class: "prompt" });
    this.stock = h("p", { class: "stock-label", "aria-hidden": "true" });
    this.lastLabel = h("p", { class: "last-label", "aria-hidden": "true" }, "last trick");
    this.sign = h("div", { class: "watermark", "aria-hidden": "true" });
    felt.root.prepend(this.sign);
    felt.root.append(...this.plates.map((each) => each.root), this.stock, this.lastLabel, this.prompt);
    felt.onarranged = (plan) => this.place(plan);
  }

  place(plan) {
    const { root } = this.felt;
    root.classList.toggle("wide", plan.wide);
    root.classList.toggle("tall", !plan.wide);
    root.classList.toggle("roomy", plan.wide && plan.plate > 200);
    root.classList.toggle("low", plan.low);
    this.prompt.style.left = `${plan.handCentre}px`;
    this.prompt.style.top = `${plan.promptY}px`;
    // On a low felt the prompt has the room below the stock, so its label stands beside it.
    this.stock.style.left = `${plan.low ? plan.stockX - plan.card * 0.85 - 46 : plan.stockX}px`;
    this.stock.style.top = `${plan.low ? plan.middle - 16 : plan.middle + plan.tall * 0.46 + 9}px`;
    this.lastLabel.style.left = `${plan.lastX}px`;
    const scale = plan.wide && !plan.low ? 0.62 : 0.5;
    this.lastLabel.style.top = `${plan.middle + plan.tall * scale * 0.7 + 6}px`;
    this.sign.style.left = `${plan.trickX}px`;
    this.sign.style.top = `${plan.middle}px`;
  }

  update(state, said = promptOf(state)) {
    this.plates.forEach((each) => each.update(state));
    this.prompt.replaceChildren(h("span", {}, said), state.thinking ? h("span", { class: "dots", "aria-hidden": "true" }, h("i"), h("i"), h("i")) : "");
    this.prompt.classList.toggle("yours", state.turn === 0 && state.player === "human");
    const trumps = state.trump
      ? h("span", { class: "trumps" }, suitIcon(state.trump), "trumps") : h("span", { class: "trumps" }, "no trumps");
    this.stock.replaceChildren(
      trumps, h("span", {}, state.stock_left ? `${state.stock_left} in stock` : "stock is gone"),
      state.low ? h("strong", { class: "low-play" }, "play low") : "");
    this.lastLabel.hidden = !(state.last_trick ?? []).length;
    this.sign.replaceChildren(state.trump ? suitIcon(state.trump) : "");
  }
}

const list = (cards, name) => (cards.length ? cards.map(name).join(", ") : "none");

/** The table in sentences, for screen readers and for the key R. */
export function tableInWords(state, name) {
  const [me, other] = namesOf(state);
  const known = state.other_hand ?? state.known_other ?? [];
  const said = (cards) => cards.map(({ who, card }) => `${who ? other : me}: ${name(card)}`).join("; ");
  return [
    promptOf(state),
    state.trump ? `Trumps are ${SUIT_NAMES[state.trump]}` : "There are no trumps",
    state.low ? "Play low: fewer tricks win" : "",
    state.trick.length ? `On the table, ${said(state.trick)}` : "No card has been led",
    state.stock_left ? `${plural(state.stock_left, "card")} in the stock; face up: ${list(state.upcards, name)}` : "The stock is gone",
    (state.last_trick ?? []).length ? `Last trick, ${said(state.last_trick)}` : "",
    `${other} holds ${plural(state.hand_size_other, "card")}, known: ${list(known, name)}`,
    `Tricks: ${me} ${state.tricks[0]}, ${other} ${state.tricks[1]}`,
    state.match.kind === "single" ? "" : `Points: ${me} ${state.match.points[0]}, ${other} ${state.match.points[1]}`,
  ].filter(Boolean);
}
