// Undo and redo. What was done in another interview is undone there.

import { isClosed, performAndTell } from "./coding.js";
import { redoBoundaryEdit } from "./boundaries.js";
import { hasSeenOthers } from "./marks.js";
import { findCodeById, showProblem, site } from "./page.js";
import { findRow, select } from "./sentences.js";
import { Stored } from "./storage.js";
import { deskOf, dropEntry, lookBack, redo, undo } from "./undo_redo.js";

// Set where a page is left to undo something in another interview, and taken up there.
const SOON = 60_000;
const awaited = new Stored(window.sessionStorage, `desk:go-back:${site.user}`, null);
let answerListener = () => {};
let scoreListener = () => {};
// The scores that are on their way, and the undo of one: its entry goes from list to list once that is stored.
let storing = Promise.resolve();
let goingBack = Promise.resolve();

/** Call back when an answer to a machine's suggestion is to be undone or redone. */
export function onAnswerBack(listener) {
  answerListener = listener;
}

/** Call back when a score is to be undone or redone. */
export function onScoreBack(listener) {
  scoreListener = listener;
}

/** A score is on its way: its undo waits for `promise`, which never fails. */
export function holdScores(promise) {
  storing = promise;
}

/** Undo or redo the last entry, and go where it happened. */
export async function goBack(isRedo) {
  await goingBack;
  let entry = lookBack(isRedo);
  if (entry?.kind === "score") {
    await storing;
    entry = lookBack(isRedo);
  }
  if (!entry) {
    return;
  }
  if (entry.interview !== site.interview) {
    awaited.write({ isRedo, interview: entry.interview, at: Date.now() });
    window.location.assign(`${deskOf(entry.interview)}?at=${entry.sentences[0]}#s${entry.sentences[0]}`);
    return;
  }
  const rows = entry.sentences.map(findRow);
  if (rows.includes(null)) {
    dropEntry(isRedo);
    showProblem("This cannot be undone, because the sentence has since been split or merged.");
    return;
  }
  select(rows[0]);
  if (entry.kind === "split" || entry.kind === "merge") {
    await redoBoundaryEdit(entry.entry, isRedo);
    return;
  }
  if (isClosed()) {
    dropEntry(isRedo);
    return;
  }
  if (entry.kind === "answer") {
    dropEntry(isRedo);
    answerListener(entry.entry, isRedo);
    return;
  }
  if (entry.kind === "score") {
    dropEntry(isRedo);
    goingBack = Promise.resolve(scoreListener(entry.entry, isRedo)).catch(() => {});
    return;
  }
  const isDeciding = (entry.kind === "decide") === isRedo && ["decide", "reopen"].includes(entry.kind);
  const isLink = entry.kind === "link" || entry.kind === "unlink";
  const code = findCodeById(entry.hint.code) ?? null;
  // Where others' labels were seen a change needs a reason. That it was undone is one, and nobody is asked for another.
  const hasSeen = !isDeciding && !isLink && rows.some((row) => hasSeenOthers(row, code));
  const reason = hasSeen ? (isRedo ? "redone" : "undone") : "";
  const taken = (isRedo ? redo : undo)();
  if (taken) {
    performAndTell(taken.words, ...taken.acts.map((act) => (reason ? { ...act, fields: { ...act.fields, reason } } : act)));
  }
}

/** Go on with an undo that was begun in another interview. */
export async function resumeGoingBack() {
  const step = awaited.read();
  awaited.clear();
  if (step?.interview === site.interview && Date.now() - step.at < SOON) {
    await goBack(step.isRedo);
  }
}
