// What a coder does at a sentence: apply, change and remove codes, and decide. Each act shows at once and can be undone.

import { codeOfChip, hintOf, isSameQuote, PLAIN, readValues, writeFields } from "./chips.js";
import { showCode } from "./code_panel.js";
import { askInline } from "./inline_form.js";
import { keycapOf } from "./key_layout.js";
import { setPendingCode } from "./links.js";
import { decisionEndedBy, decisionOn, findChip, hasSeenOthers, isCoded, listUndecided, valuesAt } from "./marks.js";
import { openMemo } from "./memo_form.js";
import { announce, codes, isClosed, keymap, makeIdempotencyKey, notify, site } from "./page.js";
import { openPicker } from "./picker.js";
import { perform, performAndTell } from "./queue.js";
import { dropQuote, markedIn } from "./quote.js";
import { currentRow, moveToNextAnswer, numberOf, select, selectedRows, sentenceOf, turnOf } from "./sentences.js";
import { Stored } from "./storage.js";
import { remember, tellEntry } from "./undo_redo.js";

const STATUS = "status";
const PICKED_FAMILIES = { challenges: "Challenge in this turn", responses: "Response in this turn" };
const recent = new Stored(window.localStorage, `desk:recent:${site.user}`, []);
let lastApplied = null;

export const recentCodes = () => recent.read();

/** One row for each sentence, turn or interview, by what the code is applied to. */
function rowsFor(code, rows) {
  const place = { sentence: (row) => row, turn: turnOf, interview: () => site }[code.unit];
  return rows.filter((row, at) => rows.findIndex((other) => place(other) === place(row)) === at);
}

/**
 * The key of a code, on every sentence that is selected: apply it, remove it if it is applied like that everywhere, or
 * change its level. Words that are marked become its quote. Asks in the row for what a key cannot say. `given` has what
 * was said elsewhere ({note}).
 */
export async function toggleCode(code, level, given = {}) {
  showCode(code);
  const rows = rowsFor(code, selectedRows());
  if (!rows.length || isClosed()) {
    return;
  }
  if (level === "latent" && !code.level) {
    notify(`Codes of ${code.familyName} have no level.`);
    return;
  }
  const quote = code.unit === "sentence" && rows.length === 1 ? markedIn(rows[0]) : null;
  const isAppliedSo = (row) => {
    const chip = findChip(row, code);
    return chip?.dataset.level === level && (!quote || isSameQuote(readValues(chip, row).quote, quote));
  };
  if (rows.every(isAppliedSo)) {
    await removeCode(code, rows);
    return;
  }
  const range = rows.length > 1 ? makeIdempotencyKey() : "";
  await applyCode(code, rows.map((row) => [row, adapt(valuesAt(row, code), { level, quote, range, ...given })]));
}

/** A code that is applied keeps its values; one that becomes latent needs an interpretation. */
function adapt(values, { level, quote, range, note }) {
  return {
    ...values,
    level,
    note: note ?? (level === "semantic" || values.level === level ? values.note : ""),
    quote: quote ?? values.quote,
    range: range || values.range,
  };
}

/** Apply the last code again with the same values; a latent one asks for its line again. */
export async function repeatCode() {
  if (isClosed()) {
    return;
  }
  if (!lastApplied) {
    notify("No code has been applied yet.");
    return;
  }
  const { code, level, enactment } = lastApplied;
  const rows = rowsFor(code, selectedRows()).filter((row) => findChip(row, code)?.dataset.level !== level);
  if (!rows.length) {
    notify(`${code.name} is already applied.`);
    return;
  }
  const range = rows.length > 1 ? makeIdempotencyKey() : "";
  const quote = code.unit === "sentence" && rows.length === 1 ? markedIn(rows[0]) : null;
  await applyCode(code, rows.map((row) => [row, { ...PLAIN, level, enactment, range, quote }]));
}

/** Change the values of a code that is applied; nothing is sent where nothing changed. */
export function changeCoding(row, code, values, reason) {
  const before = valuesAt(row, code);
  const serialize = (how) => JSON.stringify(Object.entries(writeFields(how)).sort());
  if (serialize(before) !== serialize(values)) {
    send(code, [[row, values]], reason);
  }
}

/** What a code still has to be told, none of which a key can say. */
function listNeeds(code, codings, isLatent) {
  const needs = {
    enactment: code.enactment && codings.some(([, values]) => !values.enactment),
    questions: code.questions.filter(({ key, required }) => required && codings.some(([, values]) => !values.attributes[key])),
    note: isLatent && codings.some(([, values]) => !values.note),
    reason: codings.some(([row]) => hasSeenOthers(row, code)),
  };
  return needs.enactment || needs.questions.length || needs.note || needs.reason ? needs : null;
}

/**
 * Apply a code: `codings` are pairs of a row and the values there. The status of a feature is asked first, for it is the entry; a code
 * that needs no more is applied at once.
 */
async function applyCode(code, codings) {
  const isLatent = codings[0][1].level === "latent";
  const question = findStatus(code, codings);
  if (!listNeeds(code, codings, isLatent)) {
    send(code, codings);
    if (question) {
      applyStatus(code, codings.map(([row]) => row), await askStatus(code, question));
    }
    return;
  }
  const status = question ? await askStatus(code, question) : "";
  if (status === null) {
    announce("Cancelled.");
    return;
  }
  // A status that the codebook requires goes with the code; any other is an act of its own, as where it is asked alone.
  const isPart = Boolean(status) && question.required;
  const asked = isPart ? codings.map(([row, values]) => [row, withStatus(values, status)]) : codings;
  const needs = listNeeds(code, asked, isLatent);
  const answer = needs ? await askInline(currentRow(), `${code.name}${isLatent ? ", latent" : ""}${onHowMany(codings)}`, needs) : {};
  if (!answer) {
    return;
  }
  const fill = (values) => ({
    ...values,
    enactment: values.enactment || (answer.enactment ?? ""),
    attributes: { ...answer.attributes, ...values.attributes },
    note: values.note || (answer.note ?? ""),
  });
  const reason = answer.reason ?? "";
  send(code, asked.map(([row, values]) => [row, fill(values)]), reason);
  if (status && !isPart) {
    applyStatus(code, codings.map(([row]) => row), status, reason);
  }
  if (answer.opensMemo) {
    openMemo(false, "interpretive");
  }
}

/** The question for the status with which a turn leaves a feature, where it is not answered yet. */
function findStatus(code, codings) {
  const question = code.questions.find(({ key, kind }) => key === STATUS && kind === "choice");
  return codings.some(([, { attributes }]) => attributes[STATUS]) ? undefined : question;
}

/** A status by digit; an empty word where it is left unsaid, null where the person went elsewhere meanwhile. */
const askStatus = (code, question) =>
  new Promise((resolve) => {
    openPicker({
      title: `${code.name}: ${question.label}`,
      options: question.choices.map((choice) => ({ name: choice })),
      onChoose: ({ name }) => resolve(name),
      onClose: (isLeft) => resolve(isLeft ? "" : null),
    });
  });

const withStatus = (values, status) => ({ ...values, attributes: { ...values.attributes, [STATUS]: status } });

function applyStatus(code, rows, status, reason) {
  const coded = rows.filter((row) => findChip(row, code));
  if (status && coded.length) {
    send(code, coded.map((row) => [row, withStatus(valuesAt(row, code), status)]), reason);
  }
}

const onHowMany = (codings) => (codings.length > 1 ? `, on ${codings.length} sentences` : "");

function send(code, codings, reason) {
  const acts = [];
  const entries = [];
  for (const [row, values] of codings) {
    const sentence = sentenceOf(row);
    const replaced = findChip(row, code);
    const id = makeIdempotencyKey();
    const hint = hintOf(code, values);
    const decision = decisionEndedBy(code, row, { isApplied: true });
    const entry = { kind: "apply", sentence, number: numberOf(row), current: id, hint, decision };
    if (replaced) {
      const before = readValues(replaced, row);
      Object.assign(entry, { kind: "change", before: replaced.dataset.coding, hintBefore: hintOf(code, before) });
      if (isSameButStatus(before, values)) {
        entry.status = values.attributes[STATUS] ?? "";
      }
    }
    entries.push(entry);
    const fields = { sentence, code: code.id, ...writeFields(values), ...(reason && { reason }) };
    acts.push({ id, kind: "add", sentence, hint, fields });
  }
  remember(...entries);
  dropQuote();
  performAndTell(tellEntry(...entries), ...acts);
  const [row, { level, enactment }] = codings[0];
  setPendingCode(sentenceOf(row), code);
  lastApplied = { code, level, enactment };
  recent.write([code.identifier, ...recent.read().filter((identifier) => identifier !== code.identifier)].slice(0, 8));
}

/** Whether only the status, or nothing, differs between two ways in which a code is applied. */
function isSameButStatus(one, other) {
  const serialize = (values) => JSON.stringify(Object.entries(writeFields(withStatus(values, ""))).sort());
  return serialize(one) === serialize(other);
}

/** Remove a code from every row; asks why where others' labels were seen. */
async function removeCode(code, rows) {
  const reason = await askReason(rows, code, `Remove ${code.name}${onHowMany(rows)}`);
  if (reason === null) {
    return;
  }
  const acts = [];
  const entries = [];
  for (const row of rows) {
    const chip = findChip(row, code);
    if (chip) {
      const { coding } = chip.dataset;
      const sentence = sentenceOf(row);
      const hint = hintOf(code, readValues(chip, row));
      const decision = decisionEndedBy(code, row, { isApplied: false });
      entries.push({ kind: "remove", sentence, number: numberOf(row), current: coding, hint, decision });
      acts.push({ id: makeIdempotencyKey(), kind: "withdraw", sentence, fields: { coding, ...(reason && { reason }) } });
    }
  }
  if (acts.length) {
    remember(...entries);
    performAndTell(tellEntry(...entries), ...acts);
  }
}

/** Remove the coding whose chip was pressed. */
export async function removeChip(chip) {
  const row = chip.closest(".sentence") ?? chip.closest("[data-turn]")?.querySelector(".sentence") ?? currentRow();
  const code = codeOfChip(chip);
  if (isClosed() || !row) {
    return;
  }
  if (code) {
    await removeCode(code, [row]);
    return;
  }
  // A code that the current codebook no longer has: it cannot be shown again, so the removal cannot be undone.
  const sentence = sentenceOf(row);
  const reason = await askReason([row], null, "Off");
  if (reason !== null) {
    perform({ id: makeIdempotencyKey(), kind: "withdraw", sentence, fields: { coding: chip.dataset.coding, ...(reason && { reason }) } });
  }
}

/** Why, where others' labels were seen; an empty word elsewhere, null when the person turns away. */
async function askReason(rows, code, what) {
  if (!rows.some((row) => hasSeenOthers(row, code))) {
    return "";
  }
  const answer = await askInline(currentRow(), what, { reason: true });
  return answer ? answer.reason : null;
}

/** Read; nothing more here. Goes on to the model's next sentence unless `stay`. */
export function decide({ stay = false } = {}) {
  const rows = selectedRows();
  if (!rows.length) {
    return;
  }
  const open = site.closed ? [] : rows.filter((row) => !decisionOn(row));
  const acts = open.map((row) => {
    const sentence = sentenceOf(row);
    return { id: makeIdempotencyKey(), kind: "decide", sentence, fields: { sentence } };
  });
  if (acts.length) {
    remember(...acts.map(({ id, sentence }, at) => ({ kind: "decide", sentence, number: numberOf(open[at]), current: id, hint: {} })));
    performAndTell(tellDecided(open), ...acts);
  }
  if (!stay) {
    select(rows.at(-1));
    if (!moveToNextAnswer()) {
      announceEnd();
    }
  }
}

function tellDecided(rows) {
  if (rows.length > 1) {
    return `${rows.length} sentences decided, ${numberOf(rows[0])} to ${numberOf(rows.at(-1))}.`;
  }
  return isCoded(rows[0]) ? `Sentence ${numberOf(rows[0])} decided.` : `None applies to sentence ${numberOf(rows[0])}.`;
}

/** Take "nothing more here" back. */
export async function reopen(row) {
  const decision = decisionOn(row);
  const sentence = sentenceOf(row);
  const reason = isClosed() ? null : await askReason([row], null, "Take the decision back");
  if (reason !== null) {
    remember({ kind: "reopen", sentence, number: numberOf(row), current: decision, hint: {} });
    performAndTell(`Decision on sentence ${numberOf(row)} taken back.`, {
      id: makeIdempotencyKey(), kind: "reopen", sentence, fields: { decision, ...(reason && { reason }) },
    });
  }
}

/** Pick a challenge on an interviewer's turn, or a response on a model's: codes of two families, by their names. */
export function openResponses() {
  const row = currentRow();
  if (!row || isClosed()) {
    return;
  }
  const family = findFamily(row);
  if (!family) {
    notify("Challenges are coded on an interviewer’s turn and responses on a model’s; this is neither.");
    return;
  }
  const offered = codes.filter((code) => code.family === family);
  if (!offered.length) {
    notify(`This codebook has no family “${family}”. Somebody who leads the study can add it to a draft.`);
    return;
  }
  openPicker({
    title: PICKED_FAMILIES[family],
    act: "challenges",
    options: offered.map((code) => ({ name: code.name, code, isOn: Boolean(findChip(row, code)) })),
    onChoose: ({ code }) => toggleCode(code, "semantic"),
  });
}

function findFamily(row) {
  if (row.closest(".question")) {
    return "challenges";
  }
  return row.closest("[data-answer], [data-channel='reasoning']") ? "responses" : "";
}

/** After the last sentence of the model: what is left of the interview, and which keys go on. */
function announceEnd() {
  if (site.closed) {
    notify("The end of the interview.");
    return;
  }
  // Without the sentence that was just decided: its act is not counted yet where it was refused.
  const left = listUndecided().filter((row) => row !== currentRow()).length;
  const hints = [
    hintFor("next_reason", left ? `to go to ${left === 1 ? "it" : "the first of them"}` : "for the next sentence that needs you"),
    document.querySelector(".steps a[rel='next']") && hintFor("next_interview", "for the next interview"),
  ].filter(Boolean);
  const signing = document.getElementById("complete") ? " Below you can complete it." : "";
  const end = left
    ? `This was the last sentence. ${left} before it ${left === 1 ? "is" : "are"} not decided.`
    : `The end: every sentence of this interview is decided.${signing}`;
  notify(hints.length ? `${end} Press ${hints.join(", or ")}.` : end);
}

const hintFor = (act, words) => (keymap.acts[act] ? `${keycapOf(keymap.acts[act])} ${words}` : "");
