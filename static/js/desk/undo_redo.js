// Undo and redo: one list of what was done in this study, for all its interviews and for every tab of this browser. It keeps
// ids, states and chosen answers, nothing that was typed.

import { hasSeenOthers } from "./marks.js";
import { findCodeById, isClosed, make, makeIdempotencyKey, notify, showProblem, site } from "./page.js";
import { onActRefused, onActSaved, performAndTell } from "./queue.js";
import { findRow, select } from "./sentences.js";
import { Stored } from "./storage.js";

const MAX_STORED = 200;
const SHOWN = 12;
const stored = new Stored(window.localStorage, `desk:history:${site.user}:${site.study}`, { done: [], undone: [] });
// Set where a page is left to undo something in another interview, and taken up there.
const SOON = 60_000;
const awaited = new Stored(window.sessionStorage, `desk:undo-there:${site.user}`, null);
// What is on its way and has to be stored before it is undone, and the step that is on its way.
let storing = Promise.resolve();
let stepping = Promise.resolve();

const makeAct = (kind, sentence, fields, more) => ({ id: makeIdempotencyKey(), kind, sentence, fields, ...more });

const remove = ({ sentence, current }) => makeAct("withdraw", sentence, { coding: current });
const reopen = ({ sentence, current }) => makeAct("reopen", sentence, { decision: current });
const decide = ({ sentence, current }) => makeAct("decide", sentence, { sentence }, { standsFor: current });
const applyAgain = ({ sentence, current, hint }) =>
  makeAct("add", sentence, { sentence, again: current }, { hint, standsFor: current });

/** Links are named by their two ends, for their ids change with their codings. */
const changeLink = (kind) => ({ sentence, coding, link, hint, current }) =>
  makeAct(kind, sentence, { coding, ...link }, { hint, standsFor: current });
const linkAgain = changeLink("link");
const unlink = changeLink("unlink");

/** With a code may go the word that nothing more is to be coded here; it comes back with what took it away. */
const withDecision = (step) => (entry) =>
  entry.decision ? [step(entry), decide({ ...entry, current: entry.decision })] : step(entry);

/**
 * How to go back and forth on each kind of entry. `current` is its id now, `before` that of what a
 * change replaced. What is applied again has a new id, in every entry that knew the old one. What was done on
 * several sentences at once is one entry of kind "several" and goes back and forth as one.
 */
const STEPS = {
  apply: { back: withDecision(remove), forth: applyAgain },
  remove: { back: withDecision(applyAgain), forth: remove },
  change: { back: (entry) => applyAgain({ ...entry, current: entry.before, hint: entry.hintBefore }), forth: applyAgain },
  decide: { back: reopen, forth: decide },
  reopen: { back: decide, forth: reopen },
  link: { back: (entry) => (entry.was ? linkAgain({ ...entry, link: entry.was }) : unlink(entry)), forth: linkAgain },
  unlink: { back: linkAgain, forth: unlink },
};

/**
 * Remember entries that were done at once: {kind, sentence, number, current, hint, before, hintBefore, decision, status, coding, link},
 * where a hint is {code, level, …}, `decision` is one that the act takes away, and `status` what a change says of a feature where it
 * changes nothing else. `link` has the fields that name a link of `coding`,
 * `was` those of the link that it replaced.
 */
export function remember(...entries) {
  const { done } = stored.read();
  const entry = { ...(entries.length > 1 ? { kind: "several", entries } : entries[0]), interview: site.interview };
  stored.write({ done: [...done, entry].slice(-MAX_STORED), undone: [] });
  showHistory();
}

/** What would be taken back, or done again. */
const lastEntry = (isRedo) => stored.read()[isRedo ? "undone" : "done"].at(-1);
const listEntries = (entry) => (entry.kind === "several" ? entry.entries : [entry]);

/** The last entry went back, or forth, in another way than by acts. */
export function moveEntry(isRedo) {
  const stacks = stored.read();
  const entry = stacks[isRedo ? "undone" : "done"].pop();
  stacks[isRedo ? "done" : "undone"].push(entry);
  stored.write(stacks);
  showHistory();
}

/** The last entry can be taken back, or done again, no more. */
function dropEntry(isRedo) {
  const stacks = stored.read();
  stacks[isRedo ? "undone" : "done"].pop();
  stored.write(stacks);
  showHistory();
}

/** An entry that was dropped went back, or forth, after all. */
export function keepEntry(entry, isRedo) {
  const stacks = stored.read();
  stacks[isRedo ? "done" : "undone"].push(entry);
  stored.write(stacks);
  showHistory();
}

/** After a boundary edit: entries refer to the new sentences and rows in place of the old. */
export function renameAll({ sentences, rows }) {
  mapEntries((entry) => ({
    ...entry,
    sentence: String(sentences[entry.sentence] ?? entry.sentence),
    current: rows[entry.current] ?? entry.current,
    before: rows[entry.before] ?? entry.before,
    ...(entry.link && {
      coding: rows[entry.coding] ?? entry.coding,
      link: renameEnd(entry.link, sentences),
      ...(entry.was && { was: renameEnd(entry.was, sentences) }),
    }),
  }));
}

const renameEnd = (link, sentences) => ({ ...link, ...(link.target && { target: String(sentences[link.target] ?? link.target) }) });

/** The acts that take the last entry back, or do it again, in the order in which they go, and what to say of it. */
function takeStep(isRedo) {
  const [from, to, way] = isRedo ? ["undone", "done", "forth"] : ["done", "undone", "back"];
  const stacks = stored.read();
  const entry = stacks[from].pop();
  const acts = listEntries(entry).flatMap((each) => STEPS[each.kind][way](each));
  stacks[to].push(entry);
  stored.write(stacks);
  for (const act of acts) {
    if (act.standsFor) {
      renameDone(act.standsFor, act.id);
    }
  }
  showHistory();
  return { acts, words: `${isRedo ? "Redone" : "Undone"}: ${describe(entry)}` };
}

/** Something has another id now: it was applied again, or the server knows it by an id of its own. */
export function renameDone(from, to) {
  const rename = (id) => (id === from ? to : id);
  mapEntries((entry) => ({
    ...entry,
    current: rename(entry.current),
    before: rename(entry.before),
    decision: rename(entry.decision),
    ...(entry.coding && { coding: rename(entry.coding) }),
  }));
}

/** The server refused an act, so there is nothing of it to undo. */
export function forgetDone(id) {
  mapEntries((entry) => (entry.current === id ? null : entry));
  showHistory();
}

/** Rewrite every entry; `change` returns null for one that is to be dropped. */
function mapEntries(change) {
  const mapOne = (entry) => {
    if (entry.kind !== "several") {
      return change(entry);
    }
    const entries = entry.entries.map(change).filter(Boolean);
    if (entries.length > 1) {
      return { ...entry, entries };
    }
    return entries.length ? { ...entries[0], interview: entry.interview } : null;
  };
  const { done, undone } = stored.read();
  stored.write({ done: done.map(mapOne).filter(Boolean), undone: undone.map(mapOne).filter(Boolean) });
}

function describe(entry) {
  const [first] = listEntries(entry);
  const last = listEntries(entry).at(-1);
  const where = first === last ? first.number : `${first.number}–${last.number}`;
  if (first.kind === "split" || first.kind === "merge") {
    return first.kind === "split" ? `sentence split at ${where}` : `sentences merged at ${where}`;
  }
  if (first.kind === "decide" || first.kind === "reopen") {
    return `${first.kind === "decide" ? "nothing more" : "reopened"}, sentence ${where}`;
  }
  if (first.kind === "answer") {
    return `suggestion ${first.verdict}, sentence ${where}`;
  }
  if (first.link) {
    return describeLink(first, where);
  }
  if (first.kind === "score") {
    return `score: ${first.words}`;
  }
  const { code, level, enactment } = first.hint;
  const how = [level === "latent" ? "latent" : "", enactment].filter(Boolean).join(", ");
  const name = findCodeById(code)?.name ?? "a code";
  if (first.status !== undefined) {
    return first.status ? `status “${first.status}” of ${name} at ${where}` : `status of ${name} removed at ${where}`;
  }
  const did = { apply: "applied to", remove: "removed from", change: "changed at" }[first.kind];
  return `${name}${how ? ` (${how})` : ""} ${did} ${where}`;
}

/** What was done, in words, of entries that were done at once. */
export const tellEntry = (...entries) => describe(entries.length > 1 ? { kind: "several", entries } : entries[0]);

const LINKED = { acts_on: "acts on", warrant: "rests on", revises: "revises" };

function describeLink({ kind, link, hint }, where) {
  const end = link.code ? (findCodeById(link.code)?.name ?? "a feature") : "a sentence";
  const words = `${findCodeById(hint.code)?.name ?? "a code"} at ${where} ${LINKED[link.kind]} ${end}`;
  return kind === "unlink" ? `removed: ${words}` : words;
}

export function showHistory() {
  const { done, undone } = stored.read();
  const lines = [
    ...undone.slice(0, SHOWN).map((entry) => showEntry(entry, "undone")),
    ...done.slice(-SHOWN).reverse().map((entry) => showEntry(entry, "done")),
  ];
  document.getElementById("history").replaceChildren(...lines.slice(0, SHOWN));
}

function showEntry(entry, state) {
  const [{ sentence }] = listEntries(entry);
  const link = make("a", { href: `${deskOf(entry.interview)}?at=${sentence}#s${sentence}`, text: describe(entry) });
  return make("li", { class: state }, link, entry.interview === site.interview ? "" : ", in another interview");
}

/** Where the desk of an interview is. */
const deskOf = (interview) => site.desk.replace("/0/", `/${interview}/`);

// Another tab of this browser did something, or took something back.
window.addEventListener("storage", (event) => {
  if (event.key === stored.name) {
    showHistory();
  }
});

onActSaved(({ id }, storedId) => storedId !== id && renameDone(id, storedId));
onActRefused(({ id }) => forgetDone(id));

// Kinds of entries that go back and forth in a way of their own.
const ownSteps = new Map();

/** Say how entries of a kind go back and forth: `step(entry, isRedo)` puts the entry where it belongs (`keepEntry`, `moveEntry`). */
export const onUndo = (kind, step) => ownSteps.set(kind, step);

/** Something is on its way: an undo waits for `promise`, which never fails. */
export function holdUndo(promise) {
  storing = promise;
}

/** Undo or redo the last entry, and go where it happened: what was done in another interview is undone there. */
export async function undoOrRedo(isRedo) {
  await stepping;
  if (ownSteps.has(lastEntry(isRedo)?.kind)) {
    await storing;
  }
  const entry = lastEntry(isRedo);
  if (!entry) {
    notify(isRedo ? "Nothing to redo." : "Nothing to undo.");
    return;
  }
  const [{ kind, hint, sentence }] = listEntries(entry);
  if (entry.interview !== site.interview) {
    awaited.write({ isRedo, interview: entry.interview, at: Date.now() });
    window.location.assign(`${deskOf(entry.interview)}?at=${sentence}#s${sentence}`);
    return;
  }
  const rows = listEntries(entry).map((each) => findRow(each.sentence));
  if (rows.includes(null)) {
    dropEntry(isRedo);
    showProblem("This cannot be undone, because the sentence has since been split or merged.");
    return;
  }
  select(rows[0]);
  const step = ownSteps.get(kind);
  if (kind === "split" || kind === "merge") {
    await step(entry, isRedo);
    return;
  }
  if (isClosed()) {
    dropEntry(isRedo);
    return;
  }
  if (step) {
    dropEntry(isRedo);
    stepping = Promise.resolve(step(entry, isRedo)).catch(() => {});
    return;
  }
  const isDeciding = (kind === "decide") === isRedo && ["decide", "reopen"].includes(kind);
  const isLink = kind === "link" || kind === "unlink";
  const code = findCodeById(hint.code) ?? null;
  // Where others' labels were seen a change needs a reason. That it was undone is one, and nobody is asked for another.
  const hasSeen = !isDeciding && !isLink && rows.some((row) => hasSeenOthers(row, code));
  const reason = hasSeen ? (isRedo ? "redone" : "undone") : "";
  const { acts, words } = takeStep(isRedo);
  performAndTell(words, ...acts.map((act) => (reason ? { ...act, fields: { ...act.fields, reason } } : act)));
}

/** Go on with an undo that was begun in another interview. */
export async function resumeUndo() {
  const step = awaited.read();
  awaited.clear();
  if (step?.interview === site.interview && Date.now() - step.at < SOON) {
    await undoOrRedo(step.isRedo);
  }
}
