// @ts-check
/* Talking to the server: JSON both ways, errors as sentences, and one line that says when it is gone. */

/** @import { Analysis, AnalysisProgress, Refusal } from "../../../messages" */

import { byId, pause } from "./dom.js";
import { label } from "./words.js";

export class Refused extends Error {
  /**
   * @param {number} status
   * @param {Partial<Refusal>} answer
   */
  constructor(status, answer) {
    super(answer.error ?? label("site.status", { status }));
    this.status = status;
    this.answer = answer;
  }
}

export class Unreachable extends Error {}

const TRY_AGAIN = 1500, ASK_EVERY = 700;
/** @type {number | undefined} */
let trying;

/** Tells whether the server can be reached; while it cannot, it is tried again.
 * @param {boolean} yes
 */
export function connected(yes) {
  const line = byId("connection");
  clearTimeout(trying);
  if (!yes) trying = setTimeout(() => get("/static/table.webmanifest").catch(() => {}), TRY_AGAIN);
  if (line.hidden === yes) return;
  line.hidden = yes;
  line.textContent = yes ? "" : label("site.lost");
}

/* What the server answers is what messages.d.ts says: the caller names the type, and nothing checks it here. */
/**
 * @template T
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<T>}
 */
async function ask(method, path, body) {
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? body : JSON.stringify(body),
    });
    answer = await response.json();
  } catch {
    if (!response) {
      connected(false);
      throw new Unreachable(label("site.unreachable"));
    }
    answer = {};
  }
  connected(true);
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

/** @type {<T>(path: string) => Promise<T>} */
export const get = (path) => ask("GET", path);
/** @type {<T>(path: string, body?: object) => Promise<T>} */
export const post = (path, body = {}) => ask("POST", path, body);
/** @param {string} path */
export const remove = (path) => ask("DELETE", path);

/** The analysis of a hand once it is there, unless nobody waits for it any more.
 * @param {string} path
 * @param {() => boolean} waits
 * @param {(part: Analysis | AnalysisProgress) => void} [onpart]
 * @returns {Promise<Analysis | undefined>}
 */
export async function analysisOf(path, waits, onpart = () => {}) {
  while (waits()) {
    /** @type {Analysis | AnalysisProgress | undefined} */
    const part = await get(`${path}/analysis`).catch((error) => {
      if (error instanceof Refused) throw error;
    });
    if (part && waits()) {
      onpart(part);
      if ("story" in part) return part;
    }
    await pause(ASK_EVERY);
  }
}
