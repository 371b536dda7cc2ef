// The lists of the sidebar: turns, ledger and filters, and the next sentence that needs this person.

import { isDecided, listUndecided, memoOn } from "./marks.js";
import { announce, codes, FEATURES, findCode, make, notify, showProblem, site } from "./page.js";
import { pendingActs } from "./queue.js";
import { allRows, currentRow, findRow, firstOf, onCurrentChange, select, sentenceOf, turnOf } from "./sentences.js";
import { Stored } from "./storage.js";
import { goToTurn } from "./visibility.js";

const PATIENCE = 4_000;
const CODE = "code:";
const transcript = document.getElementById("transcript");
const filters = document.getElementById("filters");
const shown = document.getElementById("shown");
const byCode = document.querySelector("form.by-code");
const ledger = document.getElementById("ledger");
const isLedgerOpen = new Stored(window.localStorage, `desk:ledger:${site.user}`, true);
const families = [...new Set(codes.filter(({ identifier }) => identifier.startsWith(FEATURES)).map(({ family }) => family))];
let linesShown = "";
let isAsking = false;

// Why she was led to a sentence is said at it, by the server where another page was left for it, until she goes on.
onCurrentChange(() => document.getElementById("why")?.remove());

/** Lists, filters and links, which lead to a sentence; the ledger is open or closed as this person left it. */
export function startSidebar() {
  startList(document.getElementById("turns"));
  startList(filters);
  startFilters();
  ledger.open = isLedgerOpen.read();
  ledger.addEventListener("toggle", () => isLedgerOpen.write(ledger.open));
  document.querySelector(".sidebar").addEventListener("click", (event) => {
    const link = event.target.closest("#turns a, #ledger a, #first-undecided, #next-reason");
    if (!link || event.ctrlKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    if (link.id === "next-reason") {
      goToNext();
    } else if (!goToTurn(link.hash)) {
      goToRow(link.id === "first-undecided" ? listUndecided()[0] : firstOfTurn(document.querySelector(link.hash)));
    }
  });
}

function goToRow(row) {
  if (row) {
    reveal(row);
    select(row);
  } else {
    notify("Every sentence of the model is decided.");
  }
}

/** The first sentence of a turn that is shown, or the first of all where the filter leaves it out. */
const firstOfTurn = (exchange) => firstOf(exchange) ?? exchange.querySelector(".sentence");

/**
 * Make a list of links one stop of the keyboard: arrows go through it, Enter goes there, Escape back to the text. The current link
 * is where Tab arrives.
 */
function startList(list) {
  const links = () => [...list.querySelectorAll("a")].filter((link) => !link.closest("[hidden]"));
  const keepOne = (chosen) => links().forEach((link) => (link.tabIndex = link === chosen ? 0 : -1));
  const current = () => list.querySelector("a[aria-current]") ?? links()[0];
  list.addEventListener("keydown", (event) => {
    const at = links().indexOf(event.target.closest("a"));
    const last = links().length - 1;
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: last }[event.key];
    if (at >= 0 && to !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      const link = links()[Math.max(0, Math.min(last, to))];
      keepOne(link);
      link.focus();
    } else if (event.key === "Escape") {
      event.preventDefault();
      currentRow()?.focus();
    }
  });
  list.addEventListener("focusout", (event) => {
    if (!list.contains(event.relatedTarget)) {
      keepOne(current());
    }
  });
  new MutationObserver(() => list.contains(document.activeElement) || keepOne(current())).observe(list, {
    attributeFilter: ["aria-current"],
    subtree: true,
  });
  keepOne(current());
}

/** Go to a list by key. */
export function enterList(list) {
  (list.querySelector("a[tabindex='0']") ?? list.querySelector("a"))?.focus();
}

// Filters follow the same rules as the server's, which made the page, so that no page has to be loaded. What fits is found when a
// filter is chosen; a sentence that is coded meanwhile stays until one chooses again.
const isAnswer = (row) => Boolean(row.closest("[data-answer]"));
const RULES = {
  uncoded: (row) => isAnswer(row) && !isDecided(row),
  changed: (row) => Boolean(row.querySelector(":scope > .marks .chip.changed")),
  memo: (row) => Boolean(memoOn(row)),
};

/** Whether a code is applied to a sentence or, for its first sentence, to its turn. */
function hasCode(row, identifier) {
  const chip = `.chip[data-code="${CSS.escape(identifier)}"]`;
  const turn = turnOf(row);
  const isFirst = turn.querySelector(".sentence") === row;
  return Boolean(row.querySelector(`:scope > .marks ${chip}`) || (isFirst && turn.querySelector(`.marks[id^="tm"] ${chip}`)));
}

function startFilters() {
  filters.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-show]");
    // Where coders differ is for the server to say.
    if (link && link.dataset.show !== "disagreed" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      showOnly(link.dataset.show, link.textContent);
    }
  });
  byCode.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value, selectedOptions } = byCode.elements.show;
    const code = findCode(value.slice(CODE.length));
    showOnly(value, code ? code.name : selectedOptions[0].textContent);
  });
}

/** Show what fits a filter, and go to the first of it from here on; an empty value shows everything. */
function showOnly(value, label) {
  const rule = value.startsWith(CODE) ? (row) => hasCode(row, value.slice(CODE.length)) : RULES[value];
  const all = value === "uncoded" ? allRows().filter(isAnswer) : allRows();
  const fitting = new Set(rule ? all.filter(rule) : []);
  hideOthers(fitting);
  for (const link of filters.querySelectorAll("a[data-show]")) {
    link.toggleAttribute("aria-current", link.dataset.show === value);
    if (link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
    }
  }
  shown.textContent = describe(value, label, fitting.size, all.length);
  announce(shown.textContent || "All sentences are shown.");
  rememberFilter(value);
  selectNext(fitting);
}

function describe(value, label, found, total) {
  if (!value) {
    return "";
  }
  return found
    ? `${label}: ${found} of ${total} sentence${total === 1 ? "" : "s"}`
    : `${label}: none of ${total} sentences, so all are shown`;
}

function hideOthers(fitting) {
  const isFiltered = fitting.size > 0;
  for (const row of allRows()) {
    const isOut = isFiltered && !fitting.has(row);
    const isQuestion = Boolean(row.closest(".question"));
    row.hidden = isOut && !isQuestion;
    row.toggleAttribute("data-context", isOut && isQuestion);
  }
  const fits = (part) => !isFiltered || [...part.querySelectorAll(".sentence")].some((row) => fitting.has(row));
  for (const turn of transcript.querySelectorAll(".answer, .folded")) {
    turn.hidden = !fits(turn);
    if (isFiltered && !turn.hidden && turn.matches("details")) {
      turn.open = true;
    }
  }
  for (const exchange of transcript.querySelectorAll(".exchange")) {
    exchange.hidden = !fits(exchange);
    document.querySelector(`#turns a[href="#${exchange.id}"]`)?.parentElement.classList.toggle("out", exchange.hidden);
  }
}

function selectNext(fitting) {
  const rows = allRows();
  const from = Math.max(0, rows.indexOf(currentRow()));
  const next = [...rows.slice(from), ...rows.slice(0, from)].find((row) => fitting.has(row));
  const row = next ?? currentRow();
  if (row) {
    select(row);
    row.scrollIntoView({ block: "nearest" });
  }
}

/** A reload shows the same. */
function rememberFilter(value) {
  const search = new URLSearchParams(window.location.search);
  search.delete("why");
  if (value) {
    search.set("show", value);
  } else {
    search.delete("show");
  }
  if (currentRow()) {
    search.set("at", sentenceOf(currentRow()));
  }
  window.history.replaceState(null, "", `?${search}`);
}

/** Before one goes to a sentence that is out of sight, everything is shown again. */
export function reveal(row) {
  if (row.hidden || row.closest("[hidden]") || row.hasAttribute("data-context")) {
    showOnly("", "");
  }
}

/** Update the ledger of the thread, where it has changed: one line for each case feature that this person has entered. */
export function showLedger() {
  const lines = readLines();
  const told = JSON.stringify(lines);
  if (told === linesShown) {
    return;
  }
  linesShown = told;
  ledger.hidden = !lines.length;
  ledger.querySelector("ol").replaceChildren(...lines.map(makeLine));
}

/** The features in the order of their first entries, each with its statuses in the order of the text. */
function readLines() {
  const lines = new Map();
  for (const chip of listEntries()) {
    const { code } = chip.dataset;
    const turn = chip.closest("[data-turn]");
    const status = JSON.parse(chip.dataset.attributes ?? "{}").status ?? "";
    const isReasoning = turn.dataset.channel === "reasoning";
    const line = lines.get(code) ?? { code, turn: turn.id, statuses: [], isReasoningOnly: true };
    line.statuses.push(status || "no status");
    line.isReasoningOnly &&= isReasoning;
    lines.set(code, line);
  }
  return [...lines.values()];
}

function listEntries() {
  const chips = families.flatMap((family) => [...document.getElementsByClassName(`chip family-${family} own`)]);
  const entries = chips.filter((chip) => chip.dataset.code.startsWith(FEATURES) && chip.closest("#transcript [data-turn]"));
  return families.length < 2 ? entries : entries.sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
}

function makeLine({ code, turn, statuses, isReasoningOnly }) {
  const name = findCode(code)?.name ?? code;
  const position = turn.replace("turn-", "");
  return make(
    "li",
    {},
    make("a", { href: `#${turn}` }, make("span", { class: "visually-hidden", text: "Turn " }), `#${position}`),
    " ",
    make("bdi", { text: name }),
    " ",
    make("span", { class: "statuses", text: statuses.join(" › ") }),
    ...(isReasoningOnly ? [" ", make("span", { class: "tag", text: "in reasoning only" })] : []),
  );
}

/**
 * Go to the next sentence of the study for this person: the server knows which, in whatever interview, and why. What is not saved yet
 * goes first, or the server would not know of it.
 */
export async function goToNext() {
  if (isAsking) {
    return;
  }
  isAsking = true;
  try {
    await emptyQueue();
    await follow();
  } catch {
    showProblem("The server could not be reached, so the next sentence is not known. Try again in a moment.");
  } finally {
    isAsking = false;
  }
}

async function follow() {
  const row = currentRow();
  const response = await fetch(`${site.next}${row ? `?at=${sentenceOf(row)}` : ""}`, {
    headers: { "X-Desk": site.user },
    redirect: "error",
    signal: AbortSignal.timeout(PATIENCE),
  });
  const { sentence, url, words } = await response.json();
  const there = sentence ? findRow(sentence) : null;
  if (there) {
    reveal(there);
    select(there);
    document.getElementById("why")?.remove();
    there.querySelector(":scope > .text").after(make("p", { class: "why-here", id: "why", text: words }));
    announce(words);
  } else if (url) {
    window.location.assign(url);
  } else {
    notify(words);
  }
}

async function emptyQueue() {
  for (let waited = 0; pendingActs().length && waited < PATIENCE; waited += 50) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
