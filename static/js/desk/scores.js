// Scores of the thread under one normative stance: a criterion, its value by digit, then the sentences it rests on.
//
// The score that was given last stays open: what the evidence key points at is its evidence, until the key of the picker is
// pressed again or a feature is coded. The server answers each act with all that the person has scored in this thread; nothing of anybody else.

import { holdEvidence, onPendingCode } from "./links.js";
import { isClosed, isSentence, make, makeIdempotencyKey, notify, post, showProblem, site } from "./page.js";
import { openPicker } from "./picker.js";
import { currentRow, numberOf, sentenceOf } from "./sentences.js";
import { Stored } from "./storage.js";
import { forgetDone, holdUndo, keepEntry, onUndo, remember, renameDone } from "./undo_redo.js";

const WITHOUT = "none";
const PATIENCE = 30_000;
const part = document.getElementById("own-scores");
const last = new Stored(window.localStorage, `desk:stance:${site.user}:${site.study}`, null);
let state = null;
let draft = null;
let release = null;
// One after the other: each names what the one before has stored.
let sending = Promise.resolve();
const inTurn = (act) => {
  sending = sending.then(act, act);
  holdUndo(sending.catch(() => {}));
  return sending;
};
// By score, the key of what was given last and is not stored yet: what is given next replaces it.
const underWay = new Map();
// Notes that the server did not take: they are offered again.
const unsavedNotes = new Map();
const nameScore = (stance, criterion) => `${stance.id} ${criterion.id}`;

/** Show what the person has scored. */
export function startScores() {
  if (!site.scores) {
    return;
  }
  onUndo("score", undoOrRedoScore);
  // Evidence is for what was done last: a score that stood open gets none of a feature that is coded afterwards.
  onPendingCode(close);
  load().then(show, () => {});
}

async function load() {
  const response = await fetch(site.scores, { headers: { "X-Desk": site.user }, signal: AbortSignal.timeout(PATIENCE) });
  if (response.ok && response.headers.get("Content-Type")?.startsWith("application/json")) {
    state = await response.json();
  }
}

/** Pick what to score. */
export async function openScores() {
  if (!site.scores) {
    notify("There is nothing to score here.");
    return;
  }
  if (isClosed()) {
    return;
  }
  if (!state) {
    await load().catch(() => {});
  }
  if (!state) {
    showProblem("Your scores could not be loaded. Check the connection, then press the key again.");
    return;
  }
  close();
  const stance = findStance();
  if (!stance) {
    notify("Scores need a normative stance, and none is written yet. A lead of the study writes them under Analysis, Negotiation.");
    return;
  }
  const others = state.stances.length > 1 ? [{ name: "under another stance", digit: "9" }] : [];
  openPicker({
    title: `Score this thread under ${stance.label}`,
    act: "scores",
    about: describe(stance),
    options: [...state.criteria.map((criterion) => ({ ...criterion, note: tell(findScore(stance, criterion)) })), ...others],
    onChoose: (option) => (option.id ? openValues(stance, option) : openStances()),
  });
}

function openStances() {
  openPicker({
    title: "Score under which stance?",
    act: "scores",
    options: state.stances.map((stance) => ({ name: stance.label, note: stance.author, stance, isOn: stance === findStance() })),
    onChoose: ({ stance }) => {
      last.write(stance.id);
      openScores();
    },
  });
}

function openValues(stance, criterion) {
  const before = findScore(stance, criterion);
  const isGiven = (value) => before?.value === value;
  openPicker({
    title: `${criterion.name} (${stance.label})`,
    act: "scores",
    about: describe(stance),
    options: state.values.map(({ id, name }) => ({
      // The digit itself is the key, so it is not said twice.
      name: id === WITHOUT ? name : name.replace(/^\d /, ""),
      digit: id === WITHOUT ? "9" : id,
      value: id,
      isOn: isGiven(id),
    })),
    onChoose: ({ value }) => give(stance, criterion, value, before),
  });
}

function give(stance, criterion, value, before) {
  draft = { stance, criterion, value, note: unsavedNotes.get(nameScore(stance, criterion)) ?? before?.note ?? "", evidence: keepEvidence(before) };
  if (value === WITHOUT) {
    askNote();
    return;
  }
  release = holdEvidence(addEvidence);
  if (draft.evidence.length) {
    send();
  } else {
    notify(`${value} for “${criterion.name}”. Now go to a sentence it rests on and press the evidence key; it is saved then.`);
  }
}

const keepEvidence = (score) => (score?.evidence ?? []).map((each) => ({ ...each, quote: "kept" }));

/** What was pointed at is evidence for the open score; pointed at again, it no longer is. */
function addEvidence({ sentence, quote, number }) {
  const score = draft;
  const others = draft.evidence.filter((each) => each.sentence !== String(sentence));
  if (others.length < draft.evidence.length && !quote) {
    if (!others.length) {
      notify("A score rests on one sentence at least. Point at another first.");
      return;
    }
    draft.evidence = others;
  } else {
    draft.evidence = [...others, { sentence: String(sentence), number, quote: quote ? `${quote[0]}:${quote[1]}` : "" }];
  }
  const { evidence: given } = draft;
  send().then((isStored) => {
    // What was refused is not sent again with the next sentence.
    if (!isStored && score.evidence === given) {
      score.evidence = keepEvidence(findScore(score.stance, score.criterion));
    }
  });
}

/** Without a score it says why: in a form of its own, for the picker takes digits. */
function askNote() {
  const field = make("textarea", { rows: "3", maxlength: "1000", required: "", dir: "auto", id: "score-note" });
  field.value = draft.note;
  const save = make("button", { class: "button small primary", text: "Save" });
  const leave = make("button", { class: "button small", type: "button", text: "Cancel" });
  const form = make("form", { class: "form", method: "dialog" });
  form.append(make("label", { for: "score-note", text: `“${draft.criterion.name}” does not apply, because` }), field);
  form.append(make("p", { class: "actions" }, save, " ", leave));
  const dialog = make("dialog", { class: "keycard", "aria-label": "Why it does not apply" }, form);
  leave.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", () => {
    draft.note = field.value;
    draft.evidence = [];
    const name = nameScore(draft.stance, draft.criterion);
    unsavedNotes.set(name, field.value);
    send().then((isStored) => isStored && unsavedNotes.delete(name));
  });
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      form.requestSubmit(save);
    }
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    currentRow()?.focus({ preventScroll: true });
  });
  document.body.append(dialog);
  dialog.showModal();
  field.focus();
}

/** Gives a promise of whether it was stored. */
function send() {
  const { stance, criterion, value, note, evidence } = draft;
  const fields = [["stance", stance.id], ["criterion", criterion.id], ["value", value], ["note", note]];
  for (const each of evidence) {
    fields.push(["evidence", each.quote ? `${each.sentence}:${each.quote}` : each.sentence]);
  }
  const row = currentRow();
  const place = row ? { sentence: sentenceOf(row), number: numberOf(row) } : null;
  const find = () => findScore(stance, criterion)?.id ?? null;
  const key = makeIdempotencyKey();
  const name = nameScore(stance, criterion);
  if (place) {
    const words = `${value === WITHOUT ? "not applicable" : value} for “${criterion.name}”`;
    remember({ kind: "score", ...place, current: key, before: underWay.get(name) ?? find(), stance: stance.id, criterion: criterion.id, words, hint: {} });
    underWay.set(name, key);
  }
  return inTurn(async () => {
    const was = find();
    const isStored = await sendFields(state.put, fields);
    if (underWay.get(name) === key) {
      underWay.delete(name);
    }
    const now = find();
    if (isStored) {
      notify(`${criterion.name}: ${tell(findScore(stance, criterion))} Saved.`);
    }
    if (!isStored || now === was) {
      // Nothing of it can be undone, and what was given after it replaced what there was before.
      forgetDone(key);
    }
    renameDone(key, now);
    return isStored;
  });
}

/** Undo gives the score that was there before again, or withdraws the one that is; redo the other way round. */
function undoOrRedoScore(entry, isRedo) {
  close();
  const wanted = isRedo ? entry.current : entry.before;
  const expected = isRedo ? entry.before : entry.current;
  const find = () => findScore({ id: entry.stance }, { id: entry.criterion })?.id ?? null;
  return inTurn(async () => {
    // It may have been changed on its page or in another window.
    await load().catch(() => {});
    if (state && find() !== expected) {
      show();
      showProblem(`This cannot be ${isRedo ? "redone" : "undone"}: the score was changed elsewhere since. It stays as it is.`);
      return;
    }
    if (!state) {
      showProblem("Your scores could not be loaded. Check the connection, then try again.");
    }
    if (!state || !(await sendFields(...(wanted ? [state.put, [["again", wanted]]] : [state.withdraw, [["score", expected]]])))) {
      // It can be tried again.
      keepEntry(entry, !isRedo);
      return;
    }
    // What is given again has another id, in every entry that knew the old one.
    const now = find();
    keepEntry(entry, isRedo);
    if (wanted && now) {
      renameDone(wanted, now);
    }
    notify(`${isRedo ? "Redone" : "Undone"}: score ${entry.words}`);
  });
}

/** Whether it was stored; if not, a message says why. */
async function sendFields(address, fields) {
  let response;
  try {
    response = await post(address, [["idempotency_key", makeIdempotencyKey()], ...fields], { signal: AbortSignal.timeout(PATIENCE) });
  } catch {
    showProblem("The score is not saved: the server could not be reached. Give it again.");
    return false;
  }
  if (response.ok && response.headers.get("Content-Type")?.startsWith("application/json")) {
    state = await response.json();
    showProblem("");
    show();
    return true;
  }
  showProblem(`The score is not saved. ${isSentence(response) ? await response.text() : "Reload the page, and sign in again if you are asked to."}`);
  return false;
}

/** The open score gets no more evidence. */
function close() {
  release?.();
  release = draft = null;
}

const findStance = () => state.stances.find(({ id }) => id === (last.read() ?? state.chosen)) ?? state.stances.find(({ id }) => id === state.chosen);
const findScore = (stance, criterion) => state.scores.find((score) => score.stance === stance.id && score.criterion === criterion.id);

function tell(score) {
  if (!score) {
    return "";
  }
  const on = score.evidence.map(({ number }) => number).join(", ");
  return `${score.value === WITHOUT ? "not applicable" : score.value}${on ? `, rests on ${on}.` : "."}`;
}

const describe = (stance) =>
  make("p", { class: "small" }, make("strong", { text: stance.author, dir: "auto" }), ": ", make("bdi", { text: stance.statement }));

/** The person's own scores of the thread, in the sidebar. */
function show() {
  if (!state?.stances.length) {
    return;
  }
  part.hidden = false;
  part.querySelector("a").href = state.page;
  const lines = state.stances.flatMap((stance) => {
    const given = state.criteria.map((criterion) => [criterion, findScore(stance, criterion)]).filter(([, score]) => score);
    return given.map(([criterion, score]) =>
      make("li", { class: "small" }, make("span", {}, make("bdi", { text: stance.label }), ` ${criterion.name}: `, make("strong", { text: score.value === WITHOUT ? "n/a" : score.value }))),
    );
  });
  part.querySelector("ul").replaceChildren(...lines);
}
