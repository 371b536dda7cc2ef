// Correcting sentence breaks: a cut at a place that is chosen word by word, and a join with the sentence below. They are
// everybody's, so they go to the server at once and alone, and the page comes back with what it made of them.

import { announce, make, makeClientId, showProblem, site } from "./page.js";
import { textOf } from "./values.js";
import { hasDrafts } from "./memo.js";
import { pendingActs, readCookie } from "./queue.js";
import { dropQuote } from "./quote.js";
import { allRows, currentRow, findRow, numberOf, sentenceOf, turnOf } from "./rows.js";
import { moveEntry, remember, renameAll } from "./undo.js";
import { findEdges, findWords } from "./words.js";

const PATIENCE = 15_000;
const SHARED = "Sentence breaks are shared by everybody, so a lead or an owner of the study changes them. Ask one of them.";
const OPENING = /[\p{Ps}\p{Pi}"'¿¡*_`]/u;
// {row, text, places, edges, at}: where the next press of Enter would cut.
let cutting = null;
let isBusy = false;

/** Begin to choose the place of a cut; or, when that is going on, leave it. */
export function toggleCut() {
  if (cutting) {
    leave();
    return;
  }
  const row = currentRow();
  if (!row || !mayCut()) {
    return;
  }
  dropQuote();
  const text = textOf(row);
  const places = findPlaces(text);
  const edges = findEdges(text).slice(1, -1);
  if (!edges.length) {
    showProblem(`Sentence ${numberOf(row)} is one character long: there is nothing to cut.`);
    return;
  }
  const middle = places.length ? places : edges;
  cutting = { row, text, places, edges, at: middle[Math.floor((middle.length - 1) / 2)] };
  show();
  row.focus({ preventScroll: true });
}

/** Join the current sentence with the one below it. */
export async function joinBelow() {
  const row = currentRow();
  if (!row || !mayCut()) {
    return;
  }
  const inTurn = allRows().filter((other) => turnOf(other) === turnOf(row));
  const below = inTurn[inTurn.indexOf(row) + 1];
  if (!below) {
    showProblem(`Sentence ${numberOf(row)} is the last of its turn: sentences are joined inside one turn only.`);
    return;
  }
  await send("join", { sentence: sentenceOf(row), below: sentenceOf(below) }, ({ sentence, at }) =>
    remember({ kind: "join", sentence: String(sentence), number: numberOf(row), at, hint: {} }),
  );
}

/** Take a cut or a join back, or do it again: each is undone by the other. */
export async function stepCut(entry, isRedo) {
  const isCut = (entry.kind === "split") === isRedo;
  if (!mayCut() || !findRow(entry.sentence)) {
    return;
  }
  const fields = isCut ? { sentence: entry.sentence, at: entry.at } : { sentence: entry.sentence };
  await send(isCut ? "split" : "join", fields, () => moveEntry(isRedo));
}

/** What a key does while a place is being chosen, or nothing. */
export function findCutAct(event) {
  if (isBusy) {
    const isOurs = !(event.ctrlKey || event.metaKey) || "kyz".includes(event.key.toLowerCase());
    return isOurs ? () => {} : null;
  }
  if (!cutting || event.metaKey) {
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
    return () => moveTo(cutting.places.at(event.key === "End" ? -1 : 0));
  }
  if (event.key === "Enter" && !event.target.closest("button")) {
    return cutHere;
  }
  return event.key === "Escape" ? leave : null;
}

/** Another sentence became the current one. */
export function dropCut() {
  if (cutting && cutting.row !== currentRow()) {
    close();
  }
}

function mayCut() {
  if (!site.split) {
    showProblem(SHARED);
  } else if (pendingActs().length) {
    showProblem("Wait until everything is saved, and press again: breaks change what codes stand on.");
  } else if (hasDrafts()) {
    showProblem("Save the memo you have begun, or empty it, and press again: the page is made anew by this.");
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

const isRightToLeft = () => getComputedStyle(cutting.row.querySelector(".text")).direction === "rtl";

function step(isForward, byCharacter) {
  const { at, edges, places } = cutting;
  const stops = byCharacter ? edges : places;
  moveTo(isForward ? stops.find((stop) => stop > at) : stops.findLast((stop) => stop < at));
}

function moveTo(at) {
  if (at !== undefined) {
    cutting.at = at;
    show();
  }
}

function show() {
  const { row, text, at } = cutting;
  const bar = make("span", { class: "cut-mark", "aria-hidden": "true" });
  row.querySelector(".text").replaceChildren(text.slice(0, at), bar, text.slice(at));
  let line = row.querySelector(".cut-line");
  if (!line) {
    line = document.getElementById("cut-template").content.firstElementChild.cloneNode(true);
    line.addEventListener("click", press);
    row.append(line);
    line.scrollIntoView({ block: "nearest" });
  }
  const after = text.slice(at).trim();
  const short = after.length > 40 ? `${after.slice(0, 40).replace(/\s+\S*$/, "")} …` : after;
  line.querySelector(".quoted-words").replaceChildren(make("bdi", { text: short }));
  announce(`Cut before: ${short}`);
}

/** The same by pointer, one press at a time. */
function press(event) {
  const acts = { before: () => step(false, false), after: () => step(true, false), cut: cutHere, leave };
  acts[event.target.closest("button")?.value]?.();
}

function close() {
  cutting.row.querySelector(".cut-line")?.remove();
  cutting.row.querySelector(".text").replaceChildren(cutting.text);
  cutting = null;
}

function leave() {
  const { row } = cutting;
  close();
  row.focus({ preventScroll: true });
  announce("Not cut.");
}

async function cutHere() {
  const { row, at } = cutting;
  close();
  row.focus({ preventScroll: true });
  await send("split", { sentence: sentenceOf(row), at }, ({ sentence, label }) =>
    remember({ kind: "split", sentence: String(sentence), number: label, at, hint: {} }),
  );
}

/** Send a cut or a join; `note(answer)` remembers it, and the page comes back at the first of what was made. */
async function send(kind, fields, note) {
  showProblem("");
  isBusy = true;
  announce(kind === "split" ? "Cutting…" : "Joining…");
  let answer = null;
  try {
    answer = await post(kind, fields);
  } catch {
    showProblem("The server could not be reached, so nothing was changed that this page knows of. Reload it and look.");
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

async function post(kind, fields) {
  const response = await fetch(site[kind], {
    method: "POST",
    body: new URLSearchParams({ client_id: makeClientId(), ...fields }),
    headers: { "X-Desk": site.user, "X-CSRFToken": readCookie(site.csrfCookie) },
    redirect: "manual",
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (response.ok) {
    return response.json();
  }
  const isSentence = response.headers.get("Content-Type")?.startsWith("text/plain");
  showProblem(isSentence ? await response.text() : `The server refused this (answer ${response.status}). Reload the page.`);
  return null;
}
