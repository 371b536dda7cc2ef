// Boundary edits: a split at a place that is chosen word by word, and a merge with the sentence below. Everybody shares
// the sentences, so an edit goes to the server at once and alone, and the page is loaded again.

import { hasDrafts } from "./memo_form.js";
import { announce, isSentence, make, makeIdempotencyKey, post, showProblem, site } from "./page.js";
import { pendingActs } from "./queue.js";
import { dropQuote } from "./quote.js";
import { allRows, currentRow, findRow, numberOf, sentenceOf, turnOf } from "./sentences.js";
import { clearUnderline, findEdges, findWords, textOf } from "./text.js";
import { moveEntry, onUndo, remember, renameAll } from "./undo_redo.js";

const PATIENCE = 15_000;
const SHARED = "Everybody shares the sentences, so only a lead or an owner of the study can split and merge them. Ask one of them.";
const OPENING = /[\p{Ps}\p{Pi}"'¿¡*_`]/u;
// {row, text, shown, places, edges, at}: where Enter would split the sentence. `shown` is what its text was shown as; while a
// place is chosen the text is shown as it was written, with the signs of Markdown.
let splitting = null;
let isBusy = false;

onUndo("split", redoBoundaryEdit);
onUndo("merge", redoBoundaryEdit);

/** Begin to choose where to split the sentence, or cancel that. */
export function toggleSplit() {
  if (splitting) {
    leave();
    return;
  }
  const row = currentRow();
  if (!row || !mayEditBoundaries()) {
    return;
  }
  dropQuote();
  const text = textOf(row);
  const places = findPlaces(text);
  const edges = findEdges(text).slice(1, -1);
  if (!edges.length) {
    showProblem(`Sentence ${numberOf(row)} is one character long, so it cannot be split.`);
    return;
  }
  const middle = places.length ? places : edges;
  clearUnderline(row);
  const shown = [...row.querySelector(".text").childNodes];
  splitting = { row, text, shown, places, edges, at: middle[Math.floor((middle.length - 1) / 2)] };
  show();
  row.focus({ preventScroll: true });
}

/** Merge the current sentence with the one below it. */
export async function mergeBelow() {
  const row = currentRow();
  if (!row || !mayEditBoundaries()) {
    return;
  }
  const inTurn = allRows().filter((other) => turnOf(other) === turnOf(row));
  const below = inTurn[inTurn.indexOf(row) + 1];
  if (!below) {
    showProblem(`Sentence ${numberOf(row)} is the last of its turn: only sentences of one turn can be merged.`);
    return;
  }
  await send("merge", { sentence: sentenceOf(row), below: sentenceOf(below) }, ({ sentence, at }) =>
    remember({ kind: "merge", sentence: String(sentence), number: numberOf(row), at, hint: {} }),
  );
}

/** Undo a split or a merge, or do it again: each undoes the other. */
async function redoBoundaryEdit(entry, isRedo) {
  const isSplit = (entry.kind === "split") === isRedo;
  if (!mayEditBoundaries() || !findRow(entry.sentence)) {
    return;
  }
  const fields = isSplit ? { sentence: entry.sentence, at: entry.at } : { sentence: entry.sentence };
  await send(isSplit ? "split" : "merge", fields, () => moveEntry(isRedo));
}

/** What a key does while a place is being chosen, or nothing. */
export function findSplitAct(event) {
  if (isBusy) {
    const isOurs = !(event.ctrlKey || event.metaKey) || "kyz".includes(event.key.toLowerCase());
    return isOurs ? () => {} : null;
  }
  if (!splitting || event.metaKey) {
    return null;
  }
  if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    const isForward = (event.key === "ArrowRight") !== isRightToLeft();
    return () => step(isForward, event.ctrlKey || event.altKey);
  }
  if (event.ctrlKey || event.altKey) {
    return null;
  }
  if (event.key === "Home" || event.key === "End") {
    return () => moveTo(splitting.places.at(event.key === "End" ? -1 : 0));
  }
  if (event.key === "Enter" && !event.target.closest("button")) {
    return splitHere;
  }
  return event.key === "Escape" ? leave : null;
}

/** Another sentence became the current one. */
export function dropSplit() {
  if (splitting && splitting.row !== currentRow()) {
    close();
  }
}

function mayEditBoundaries() {
  if (!site.split) {
    showProblem(SHARED);
  } else if (pendingActs().length) {
    showProblem("Wait until everything is saved, then press the key again. Codes are applied to sentences, and this changes them.");
  } else if (hasDrafts()) {
    showProblem("Save or clear the memo you have started, then press the key again: the page will be reloaded.");
  } else {
    return true;
  }
  return false;
}

/** Where words begin, with what opens them; not the first one, for nothing is before it. */
function findPlaces(text) {
  const places = findWords(text).map(([from]) => {
    let at = from;
    while (at > 0 && OPENING.test(text[at - 1])) {
      at -= 1;
    }
    // An opening sign belongs to its word only where white space is before it.
    return at > 0 && /\s/.test(text[at - 1]) ? at : from;
  });
  return places.filter((at) => text.slice(0, at).trim());
}

const isRightToLeft = () => getComputedStyle(splitting.row.querySelector(".text")).direction === "rtl";

function step(isForward, byCharacter) {
  const { at, edges, places } = splitting;
  const stops = byCharacter ? edges : places;
  moveTo(isForward ? stops.find((stop) => stop > at) : stops.findLast((stop) => stop < at));
}

function moveTo(at) {
  if (at !== undefined) {
    splitting.at = at;
    show();
  }
}

function show() {
  const { row, text, at } = splitting;
  const bar = make("span", { class: "split-mark", "aria-hidden": "true" });
  row.querySelector(".text").replaceChildren(text.slice(0, at), bar, text.slice(at));
  let line = row.querySelector(".split-line");
  if (!line) {
    line = document.getElementById("split-template").content.firstElementChild.cloneNode(true);
    line.addEventListener("click", press);
    row.append(line);
    line.scrollIntoView({ block: "nearest" });
  }
  const after = text.slice(at).trim();
  const short = after.length > 40 ? `${after.slice(0, 40).replace(/\s+\S*$/, "")} …` : after;
  line.querySelector(".quoted-words").replaceChildren(make("bdi", { text: short }));
  announce(`Split before: ${short}`);
}

/** The same by pointer, one press at a time. */
function press(event) {
  const acts = { before: () => step(false, false), after: () => step(true, false), split: splitHere, leave };
  acts[event.target.closest("button")?.value]?.();
}

function close() {
  splitting.row.querySelector(".split-line")?.remove();
  splitting.row.querySelector(".text").replaceChildren(...splitting.shown);
  splitting = null;
}

function leave() {
  const { row } = splitting;
  close();
  row.focus({ preventScroll: true });
  announce("Not split.");
}

async function splitHere() {
  const { row, at } = splitting;
  close();
  row.focus({ preventScroll: true });
  await send("split", { sentence: sentenceOf(row), at }, ({ sentence, label }) =>
    remember({ kind: "split", sentence: String(sentence), number: label, at, hint: {} }),
  );
}

/** Send a split or a merge; `note(answer)` remembers it, and the page is loaded again at the first new sentence. */
async function send(kind, fields, note) {
  showProblem("");
  isBusy = true;
  announce(kind === "split" ? "Splitting…" : "Merging…");
  let answer = null;
  try {
    answer = await sendFields(kind, fields);
  } catch {
    showProblem("The server could not be reached, so it is not known whether anything was changed. Reload the page to find out.");
  }
  if (!answer) {
    isBusy = false;
    return;
  }
  renameAll(answer);
  note(answer);
  const search = new URLSearchParams(window.location.search);
  search.set("at", answer.sentence);
  search.delete("why");
  window.location.assign(`?${search}#s${answer.sentence}`);
}

async function sendFields(kind, fields) {
  const response = await post(site[kind], { idempotency_key: makeIdempotencyKey(), ...fields }, { signal: AbortSignal.timeout(PATIENCE) });
  if (response.ok) {
    return response.json();
  }
  showProblem(isSentence(response) ? await response.text() : `The server refused this (status ${response.status}). Reload the page.`);
  return null;
}
