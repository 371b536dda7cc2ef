// The next sentence of the study for this person, and why: the server knows.

import { announce, make, notify, showProblem, site } from "./page.js";
import { pendingActs } from "./queue.js";
import { currentRow, findRow, onCurrentChange, select, sentenceOf } from "./sentences.js";
import { reveal } from "./sidebar.js";

const PATIENCE = 4_000;
let isAsking = false;

// Why she was led to a sentence is said at it, by the server where another page was left for it, until she goes on.
onCurrentChange(() => document.getElementById("why")?.remove());

/** Go there, in whatever interview it is. What is not saved yet goes first, or the server would not know of it. */
export async function goToNext() {
  if (isAsking) {
    return;
  }
  isAsking = true;
  try {
    await emptyQueue();
    await go();
  } catch {
    showProblem("The server could not be reached, so the next sentence is not known. Try again in a moment.");
  } finally {
    isAsking = false;
  }
}

async function go() {
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
