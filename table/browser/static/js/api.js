/* Talking to the server: JSON both ways, errors as sentences, and one line that says when it is gone. */

import { byId } from "./dom.js";
import { say } from "./words.js";

export class Refused extends Error {
  constructor(status, answer) {
    super(answer.error ?? say("site.status", { status }));
    this.status = status;
    this.answer = answer;
  }
}

export class Unreachable extends Error {}

/** Tells whether the server can be reached. */
export function connected(yes) {
  const line = byId("connection");
  if (line.hidden === yes) return;
  line.hidden = yes;
  line.textContent = yes ? "" : say("site.lost");
}

async function ask(method, path, body, signal) {
  let response, answer;
  try {
    response = await fetch(path, {
      method,
      signal,
      headers: body === undefined ? {} : { "Content-Type": typeof body === "string" ? "text/plain" : "application/json" },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
    });
    answer = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (!response) {
      connected(false);
      throw new Unreachable(say("site.unreachable"));
    }
    answer = {};
  }
  connected(true);
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const post = (path, body = {}) => ask("POST", path, body);
export const remove = (path) => ask("DELETE", path);
