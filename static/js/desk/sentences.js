// The sentences as rows: which one is current, which are selected with it, and how one gets to another.

import { announce, notify } from "./page.js";

const transcript = document.getElementById("transcript");
const rows = [...transcript.querySelectorAll(".sentence")];
const currentListeners = [];
const rangeListeners = [];
let current = transcript.querySelector(".sentence[aria-current]");
let addressTimer = 0;
// The row where a range began, and the rows of the range; none of them while only one sentence is selected.
let anchor = null;
let range = [];
let isExtending = false;

export const currentRow = () => current;
export const allRows = () => rows;
export const findRow = (sentence) => document.getElementById(`s${sentence}`);
export const sentenceOf = (row) => row.id.slice(1);
export const turnOf = (row) => row.closest("[data-turn]");
export const exchangeOf = (row) => row.closest(".exchange");
export const numberOf = (row) => row.querySelector(".n").textContent;

/** Call back when the current row changes. */
export const onCurrentChange = (listener) => currentListeners.push(listener);

/** Links and buttons inside rows are reached with the pointer; by keyboard one row is one stop. */
export function startRows(onRowClick) {
  for (const row of rows) {
    row.querySelector(".n").tabIndex = -1;
  }
  takeButtonsOut(transcript);
  // NVDA passes keys on at an item of a list that can have the focus.
  for (const list of transcript.querySelectorAll("ol.sentences")) {
    list.tabIndex = -1;
  }
  transcript.addEventListener("click", (event) => {
    const row = event.target.closest(".sentence");
    if (row && !event.target.closest("button, input, select, label, a:not(.n)")) {
      event.preventDefault();
      onRowClick(row, event);
    }
  });
  // Shift and a click select several; the browser would select text.
  transcript.addEventListener("mousedown", (event) => {
    if (event.shiftKey && event.target.closest(".sentence") && !event.target.closest("input")) {
      event.preventDefault();
    }
  });
  onCurrentChange(() => {
    if (!isExtending) {
      endRange();
    }
  });
  // A screen reader goes to links and buttons inside rows: keys must act on the sentence that it reads.
  transcript.addEventListener("focusin", ({ target }) => {
    const row = target.closest(".sentence");
    if (row && row !== current) {
      select(row, { takesFocus: target === row });
    }
  });
  current?.scrollIntoView({ block: "nearest" });
}

export function takeButtonsOut(part) {
  for (const button of part.querySelectorAll(".marks :is(a, button)")) {
    button.tabIndex = -1;
  }
}

/** Make a row the current one, with the focus on it. */
export function select(row, { takesFocus = true } = {}) {
  if (row !== current) {
    current?.removeAttribute("aria-current");
    current?.setAttribute("tabindex", "-1");
    row.setAttribute("aria-current", "true");
    row.setAttribute("tabindex", "0");
    const before = current;
    current = row;
    for (const listener of currentListeners) {
      listener(row, before);
    }
    rememberPlace();
  }
  const fold = row.closest("details:not([open])");
  if (fold) {
    fold.open = true;
  }
  if (takesFocus && document.activeElement !== row) {
    row.focus();
  }
}

/** At first the focus is on the current row, unless it is at something else already: Enter acts only where the focus is. */
export function focusAtFirst() {
  if (!current || ![document.body, current].includes(document.activeElement)) {
    return;
  }
  // Said once: why p led here, and that a screen reader takes single keys for itself until they are let through.
  const row = current;
  row.setAttribute("aria-describedby", document.getElementById("why") ? "why reader-keys" : "reader-keys");
  row.addEventListener("blur", () => row.removeAttribute("aria-describedby"), { once: true });
  row.focus({ preventScroll: true });
}

/** Left out by what is shown; a question that is there only to be read with its answer is passed over as well. */
const isOut = (row) => row.hasAttribute("data-context") || Boolean(row.closest("[hidden]"));

const isInSight = (row) => !isOut(row) && !row.closest("details:not([open])");

/** The row `step` rows on; reasoning that is folded away is passed over. */
function findStep(step) {
  for (let at = rows.indexOf(current) + step; at >= 0 && at < rows.length; at += step) {
    if (isInSight(rows[at])) {
      return rows[at];
    }
  }
  return null;
}

export function move(step) {
  const row = current ? findStep(step) : rows[0];
  if (row) {
    select(row);
  }
  return Boolean(row);
}

/** The next sentence that the model says; what a coder goes on to. In reasoning that she reads, first the rest of it. */
export function moveToNextAnswer() {
  const reasoning = current?.closest("details[data-channel='reasoning']");
  const isNext = (row) => row.closest("[data-answer]") || (reasoning && reasoning.contains(row));
  const next = rows.slice(rows.indexOf(current) + 1).find((row) => isNext(row) && isInSight(row));
  if (next) {
    select(next);
  }
  return Boolean(next);
}

/** To the first sentence the model says in the exchange before or after (or of this one, when further down in it). */
export function moveTurn(step) {
  const exchanges = [...transcript.querySelectorAll(".exchange:not([hidden])")];
  const at = current ? exchanges.indexOf(exchangeOf(current)) : 0;
  const top = firstOf(exchanges[at]);
  const target = step < 0 && top && rows.indexOf(current) > rows.indexOf(top) ? top : null;
  const row = target ?? firstOf(exchanges[at + step]);
  if (row) {
    select(row);
  }
}

export function firstOf(exchange) {
  const inside = [...(exchange?.querySelectorAll(".sentence") ?? [])].filter((row) => !isOut(row));
  return inside.find((row) => row.closest("[data-answer]")) ?? inside[0] ?? null;
}

export function moveToEnd(step) {
  const inSight = rows.filter(isInSight);
  const row = step < 0 ? inSight[0] : inSight.at(-1);
  if (row) {
    select(row);
  }
}

/** A reload comes back to this row. Browsers refuse to rewrite the address many times a second. */
function rememberPlace() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const search = new URLSearchParams(window.location.search);
    search.set("at", sentenceOf(current));
    search.delete("why");
    history.replaceState(null, "", `?${search}`);
  }, 300);
}

/** Call back when the range changes, with its rows now, if any, and those before. */
export const onRangeChange = (listener) => rangeListeners.push(listener);

/** The rows of the range; without one, the current row alone. */
export function selectedRows() {
  return range.length ? range : current ? [current] : [];
}

export const hasRange = () => range.length > 0;

/** Add the next sentence to the range, or remove the last one. */
export function extendRange(step) {
  const row = findStep(step);
  if (row) {
    extendTo(row);
  } else {
    notify(step > 0 ? "This is the last sentence." : "This is the first sentence.");
  }
}

/** Extend the range up to a row. */
export function extendTo(row) {
  anchor ??= current;
  isExtending = true;
  select(row);
  isExtending = false;
  const [from, to] = [rows.indexOf(anchor), rows.indexOf(row)].sort((a, b) => a - b);
  showRange(rows.slice(from, to + 1).filter(isInSight));
  announce(range.length > 1 ? `${range.length} sentences, ${describeRange()}.` : `Only sentence ${numberOf(row)}.`);
}

export function endRange() {
  if (anchor) {
    anchor = null;
    showRange([]);
  }
}

/** "14 to 16", for titles. */
export const describeRange = () => `${numberOf(range[0])} to ${numberOf(range.at(-1))}`;

function showRange(wanted) {
  const fresh = wanted.length > 1 ? wanted : [];
  if (!fresh.length) {
    anchor = wanted[0] ?? null;
  }
  const before = range;
  for (const row of before) {
    row.classList.remove("in-range");
  }
  for (const row of fresh) {
    row.classList.add("in-range");
  }
  range = fresh;
  for (const listener of rangeListeners) {
    listener(range, before);
  }
}
