// Several sentences at once: taken in one after another from the current one, until one moves on without Shift.

import { announce, notify } from "./page.js";
import { allRows, currentRow, findStep, isInSight, numberOf, onCurrentChange, select } from "./sentences.js";

let anchor = null;
let shown = [];
let isExtending = false;
const listeners = [];

/** Call back when the range changes, with its rows now, if any, and those before. */
export const onRangeChange = (listener) => listeners.push(listener);

/** The rows of the range; without one, the current row alone. */
export function selectedRows() {
  const row = currentRow();
  return shown.length ? shown : row ? [row] : [];
}

export const hasRange = () => shown.length > 0;

export function startRange() {
  // Shift and a click take sentences in; the browser would select text.
  document.getElementById("sheet").addEventListener("mousedown", (event) => {
    if (event.shiftKey && event.target.closest(".sentence") && !event.target.closest("input")) {
      event.preventDefault();
    }
  });
  onCurrentChange(() => {
    if (!isExtending) {
      endRange();
    }
  });
}

/** Take in the next sentence, or give the last one back. */
export function extendRange(step) {
  const row = findStep(step);
  if (row) {
    extendTo(row);
  } else {
    notify(step > 0 ? "This is the last sentence." : "This is the first sentence.");
  }
}

/** Take in everything up to a row. */
export function extendTo(row) {
  anchor ??= currentRow();
  isExtending = true;
  select(row);
  isExtending = false;
  const rows = allRows();
  const [from, to] = [rows.indexOf(anchor), rows.indexOf(row)].sort((a, b) => a - b);
  show(rows.slice(from, to + 1).filter(isInSight));
  announce(shown.length > 1 ? `${shown.length} sentences, ${tellRange()}.` : `Only sentence ${numberOf(row)}.`);
}

export function endRange() {
  if (anchor) {
    anchor = null;
    show([]);
  }
}

/** "14 to 16", for titles. */
export const tellRange = () => `${numberOf(shown[0])} to ${numberOf(shown.at(-1))}`;

function show(rows) {
  const fresh = rows.length > 1 ? rows : [];
  if (!fresh.length) {
    anchor = rows[0] ?? null;
  }
  const before = shown;
  for (const row of before) {
    row.classList.remove("in-range");
  }
  for (const row of fresh) {
    row.classList.add("in-range");
  }
  shown = fresh;
  for (const listener of listeners) {
    listener(shown, before);
  }
}
