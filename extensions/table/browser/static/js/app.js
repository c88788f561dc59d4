// @ts-check
/* The page as a whole: which part of it is shown (by the address after #), and keys for all of it. */

/**
 * A part of the page: `key` returns whether a key meant something to it.
 * @typedef {{ root: HTMLElement, open: () => unknown, close: () => void, key?: (event: KeyboardEvent) => unknown }} Page
 */

import { dialogOpen, messageOf, openKeys, toast } from "./base/dialogs.js";
import { byId, h } from "./base/dom.js";
import { tool } from "./base/icons.js";
import { pageLinks } from "./base/pages.js";
import { apply, openSettings } from "./base/settings.js";
import { label, TOUCH } from "./base/words.js";
import { LobbyPage } from "./pages/lobby.js";
import { tablePage } from "./table/table.js";

// What a first visit does not need comes when it is opened.
const problems = () => import("./review/problem.js");

/** @type {[RegExp, string, (...parts: string[]) => Page | Promise<Page>][]} */
const ROUTES = [
  [/^#\/table\/([\w-]+)$/, "table", tablePage],
  [/^#\/replay\/([\w.~-]+)\/(\d+)(?:\/(\d+))?$/, "replay", async (id, hand, step) => (await import("./review/replay.js")).replayPage(id, hand, step)],
  [/^#\/puzzles(?:\/(\w+))?$/, "problem", async (kind) => (await problems()).puzzlePage("", kind)],
  [/^#\/puzzle\/([\w-]+)$/, "problem", async (id) => (await problems()).puzzlePage(id)],
  [/^#\/exercise\/([\w-]+)\/(\d+)\/(\d+)$/, "problem", async (id, hand, n) => (await problems()).exercisePage(id, Number(hand), Number(n))],
  [/^#\/learn$/, "learn", async () => new (await import("./pages/learn.js")).LearnPage()],
  [/^#\/watch$/, "watch", () => new LobbyPage({ watching: true })],
  [/^#\/replays$/, "replays", async () => new (await import("./pages/records.js")).RecordsPage()],
  [/^#\/statistics$/, "statistics", async () => new (await import("./pages/statistics.js")).StatisticsPage()],
  [/^/, "lobby", () => new LobbyPage()],
];
/** @type {Page | null} */
let page = null;
let shown = 0;

async function show() {
  const hash = location.hash || "#/";
  const [pattern, name, make] = ROUTES.find(([test]) => test.test(hash)) ?? ROUTES[ROUTES.length - 1];
  const mine = shown += 1;
  page?.close();
  page = null;
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
  try {
    const made = await make(...(pattern.exec(hash) ?? []).slice(1));
    if (shown !== mine) return made.close();
    page = made;
    document.body.dataset.page = name;
    document.title = label("site.page", { page: label(`site.${name}`) });
    for (const link of byId("pages").querySelectorAll("a")) {
      if (link.dataset.page === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    byId("main").replaceChildren(page.root);
    page.root.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
    await page.open();
  } catch (error) {
    if (shown === mine) failed(error);
  }
}

/** @param {unknown} error */
function failed(error) {
  byId("main").replaceChildren(h("div", { class: "page" }, h("div", { class: "empty card-panel parts" },
    h("h1", {}, label("site.failed")), h("p", {}, messageOf(error)),
    h("button", { class: "primary", type: "button", onclick: show }, label("site.again")), " ", h("a", { href: "#/" }, label("site.to_lobby")))));
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialogOpen()) return;
  const { target } = event;
  if (!(target instanceof Element)) return;
  if (target.closest("input:not([type=range]):not([type=radio]), select, textarea")) return;
  if (target.matches("input") && /^(Arrow|Home|End|Page| )/.test(event.key)) return;
  if (target.closest("button, a") && (event.key === "Enter" || event.key === " ")) return;
  if (event.key === "?") openKeys();
  else if (event.key === "," && !page?.key) openSettings();
  else if (!page?.key?.(event)) return;
  event.preventDefault();
});

addEventListener("unhandledrejection", (event) => toast(event.reason?.message ?? label("site.wrong")));
apply();
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault(); // The address after # is a page, not a place in one.
  byId("main").focus();
});
byId("pages").append(...pageLinks());
byId("site-tools").append(tool("settings", label("site.settings_tool"), openSettings), TOUCH ? "" : tool("keys", label("site.keys_tool"), openKeys));
addEventListener("hashchange", show);
show();
