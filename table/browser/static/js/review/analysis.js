// @ts-check
/* The analysis of a hand, which the server makes while the page asks for it. */

/** @import { Analysis, AnalysisProgress } from "../../../messages" */

import { get, Refused } from "../base/api.js";
import { pause } from "../base/dom.js";

const ASK_EVERY = 700;

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
      if (error instanceof Refused && error.status !== 429) throw error;
    });
    if (part && waits()) {
      onpart(part);
      if ("story" in part) return part;
    }
    await pause(ASK_EVERY);
  }
}
