// Near the end of an interview the browser fetches the next one, as ahead.speculationrules tells it. Nothing is recorded by
// that. A browser that does not know such rules fetches it when one goes there.

import { allRows, currentRow, onCurrentChange } from "./sentences.js";

const SENTENCES = 5;
const next = document.querySelector(".steps a[rel='next']");

export function startAhead() {
  if (next) {
    lookAhead(currentRow());
    onCurrentChange(lookAhead);
  }
}

/** What was fetched is kept for five minutes at most, and for this page only. */
function lookAhead(row) {
  next.classList.toggle("ahead", Boolean(row) && allRows().slice(-SENTENCES).includes(row));
}
