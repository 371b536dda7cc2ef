// What a coder does with a key or a click: each act shows at once, joins the queue, and can be undone.

import { aimAt } from "./aim.js";
import { tellEnd } from "./ending.js";
import { announce, makeIdempotencyKey, notify, showProblem, site } from "./page.js";
import { ask } from "./inline_form.js";
import { PLAIN, hintOf, isSameQuote, readValues, writeFields } from "./chips.js";
import { codeOfChip, decisionEndedBy, decisionOn, findChip, hasSeenOthers, isCoded, valuesAt, replaceMarks, showAct } from "./marks.js";
import { keepMeaning } from "./meaning.js";
import { openMemo } from "./memobox.js";
import { scheduleCount, showCode, showPressed } from "./code_panel.js";
import { enqueue, renamePending } from "./queue.js";
import { dropQuote, markedIn } from "./quote.js";
import { selectedRows } from "./range.js";
import { currentRow, findRow, moveToNextAnswer, numberOf, select, sentenceOf, turnOf } from "./sentences.js";
import { refreshMarks } from "./refresh.js";
import { openStrip } from "./picker.js";
import { Stored } from "./storage.js";
import { clearRefused, keepRefused } from "./refused.js";
import { forgetDone, remember, renameDone, tellEntry } from "./undo_redo.js";

const STATUS = "status";
const recent = new Stored(window.localStorage, `desk:recent:${site.user}`, []);
let last = null;
let savedListener = () => {};
let refusedListener = () => {};
// What waits for the server's answer, and what was done since it last refused something.
const outcomes = new Map();
const doneSince = new Set();

/** Call back for each change that the server has stored, after the page shows it. */
export function onActSaved(listener) {
  savedListener = listener;
}

/** Call back for each change that the server has refused. */
export function onActRefused(listener) {
  refusedListener = listener;
}

export const recentCodes = () => recent.read();

/** Whether this interview takes no codes from this person; says why. */
export function isClosed() {
  if (site.closed) {
    showProblem(site.closed);
  }
  return Boolean(site.closed);
}

/** Show acts and send them. Gives a promise of whether the server stored them all; it waits as long as the acts do. */
export function perform(...acts) {
  showProblem("");
  acts.forEach(showAct);
  const stored = acts.map(({ id }) => new Promise((resolve) => outcomes.set(id, resolve)));
  for (const { id } of acts) {
    doneSince.add(id);
  }
  enqueue(...acts);
  if (document.activeElement === document.body) {
    currentRow()?.focus({ preventScroll: true });
  }
  showPressed();
  scheduleCount();
  return Promise.all(stored).then((each) => each.every(Boolean));
}

/** Show acts, send them, and say what was done once it is stored: a refusal is said in its place. */
export async function performAndTell(words, ...acts) {
  if (await perform(...acts)) {
    announce(words);
  }
}

function tellOutcome({ id }, isStored) {
  outcomes.get(id)?.(isStored);
  outcomes.delete(id);
}

/** The server has stored an act: what it says takes the place of what the page showed. */
export function settle(act, html, storedId) {
  if (storedId !== act.id) {
    renamePending(act.id, storedId);
    renameDone(act.id, storedId);
  }
  if (html) {
    replaceMarks(html, act.sentence);
    showPressed();
    scheduleCount();
  }
  // Acts that were on their way when another was refused leave its message in sight.
  if (doneSince.delete(act.id)) {
    clearRefused();
  }
  savedListener(act);
  tellOutcome(act, true);
}

/** The server refused an act, and with it those that depend on it: show its message, and what is stored. */
export function rollBack(act, words, dependent = []) {
  takeBack(act, words);
  for (const other of dependent) {
    takeBack(other, "It belongs to what was not stored.");
  }
  showProblem(tellWhere(act, words));
  doneSince.clear();
}

const placeOf = (act) => {
  const row = act.sentence ? findRow(act.sentence) : null;
  return row ? `Sentence ${numberOf(row)}` : "";
};

function tellWhere(act, words) {
  const where = placeOf(act);
  return where && !words.startsWith(where) ? `${where}: ${words}` : words;
}

function takeBack(act, words) {
  forgetDone(act.id);
  keepRefused(act, placeOf(act), words);
  if (act.sentence) {
    refreshMarks(act.sentence);
  }
  refusedListener(act);
  tellOutcome(act, false);
}

/** One row for each place where a code can be applied: codes of a turn or an interview are applied once. */
function placesOf(code, rows) {
  const place = { sentence: (row) => row, turn: turnOf, interview: () => site }[code.unit];
  return rows.filter((row, at) => rows.findIndex((other) => place(other) === place(row)) === at);
}

/**
 * The key of a code, on every sentence that is selected: apply it, remove it if it is applied like that everywhere, or
 * change its level. Words that are marked become its quote. Asks in the row for what a key cannot say. `given` holds what
 * was said elsewhere ({note}).
 */
export async function toggleCode(code, level, given = {}) {
  keepMeaning(code);
  showCode(code);
  const rows = placesOf(code, selectedRows());
  if (!rows.length || isClosed()) {
    return;
  }
  if (level === "latent" && !code.level) {
    notify(`Codes of ${code.familyName} have no level.`);
    return;
  }
  const quote = code.unit === "sentence" && rows.length === 1 ? markedIn(rows[0]) : null;
  const standsSo = (row) => {
    const chip = findChip(row, code);
    return chip?.dataset.level === level && (!quote || isSameQuote(readValues(chip, row).quote, quote));
  };
  if (rows.every(standsSo)) {
    await takeOff(code, rows);
    return;
  }
  const range = rows.length > 1 ? makeIdempotencyKey() : "";
  await putCode(code, rows.map((row) => [row, adapt(valuesAt(row, code), { level, quote, range, ...given })]));
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
  if (!last) {
    notify("No code has been applied yet.");
    return;
  }
  const { code, level, enactment } = last;
  const rows = placesOf(code, selectedRows()).filter((row) => findChip(row, code)?.dataset.level !== level);
  if (!rows.length) {
    notify(`${code.name} is already applied.`);
    return;
  }
  const range = rows.length > 1 ? makeIdempotencyKey() : "";
  const quote = code.unit === "sentence" && rows.length === 1 ? markedIn(rows[0]) : null;
  await putCode(code, rows.map((row) => [row, { ...PLAIN, level, enactment, range, quote }]));
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
function listNeeds(code, spots, isLatent) {
  const needs = {
    enactment: code.enactment && spots.some(([, values]) => !values.enactment),
    questions: code.questions.filter(({ key, required }) => required && spots.some(([, values]) => !values.attributes[key])),
    note: isLatent && spots.some(([, values]) => !values.note),
    reason: spots.some(([row]) => hasSeenOthers(row, code)),
  };
  return needs.enactment || needs.questions.length || needs.note || needs.reason ? needs : null;
}

/** Apply a code. The status of a feature is asked first, for it is the entry; a code that needs no more stands at once. */
async function putCode(code, spots) {
  const isLatent = spots[0][1].level === "latent";
  const question = findStatus(code, spots);
  if (!listNeeds(code, spots, isLatent)) {
    send(code, spots);
    if (question) {
      sayStatus(code, spots.map(([row]) => row), await askStatus(code, question));
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
  const asked = isPart ? spots.map(([row, values]) => [row, withStatus(values, status)]) : spots;
  const needs = listNeeds(code, asked, isLatent);
  const answer = needs ? await ask(currentRow(), `${code.name}${isLatent ? ", latent" : ""}${onHowMany(spots)}`, needs) : {};
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
    sayStatus(code, spots.map(([row]) => row), status, reason);
  }
  if (answer.opensMemo) {
    openMemo(false, "interpretive");
  }
}

/** The question for the status with which a turn leaves a feature, where it is not answered yet. */
function findStatus(code, spots) {
  const question = code.questions.find(({ key, kind }) => key === STATUS && kind === "choice");
  return spots.some(([, { attributes }]) => attributes[STATUS]) ? undefined : question;
}

/** A status by digit; an empty word where it is left unsaid, null where the person went elsewhere meanwhile. */
const askStatus = (code, question) =>
  new Promise((resolve) => {
    openStrip({
      title: `${code.name}: ${question.label}`,
      options: question.choices.map((choice) => ({ name: choice })),
      onChoose: ({ name }) => resolve(name),
      onClose: (isLeft) => resolve(isLeft ? "" : null),
    });
  });

const withStatus = (values, status) => ({ ...values, attributes: { ...values.attributes, [STATUS]: status } });

function sayStatus(code, rows, status, reason) {
  const standing = rows.filter((row) => findChip(row, code));
  if (status && standing.length) {
    send(code, standing.map((row) => [row, withStatus(valuesAt(row, code), status)]), reason);
  }
}

const onHowMany = (spots) => (spots.length > 1 ? `, on ${spots.length} sentences` : "");

function send(code, spots, reason) {
  const acts = [];
  const entries = [];
  for (const [row, values] of spots) {
    const sentence = sentenceOf(row);
    const replaced = findChip(row, code);
    const id = makeIdempotencyKey();
    const hint = hintOf(code, values);
    const decision = decisionEndedBy(code, row, { isPut: true });
    const entry = { kind: "put", sentence, number: numberOf(row), current: id, hint, decision };
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
  const [row, { level, enactment }] = spots[0];
  aimAt(sentenceOf(row), code);
  last = { code, level, enactment };
  recent.write([code.identifier, ...recent.read().filter((identifier) => identifier !== code.identifier)].slice(0, 8));
}

/** Whether only the status, or nothing, differs between two ways in which a code is applied. */
function isSameButStatus(one, other) {
  const serialize = (values) => JSON.stringify(Object.entries(writeFields(withStatus(values, ""))).sort());
  return serialize(one) === serialize(other);
}

/** Take a code off every row; asks why where others' labels were seen. */
async function takeOff(code, rows) {
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
      const decision = decisionEndedBy(code, row, { isPut: false });
      entries.push({ kind: "off", sentence, number: numberOf(row), current: coding, hint, decision });
      acts.push({ id: makeIdempotencyKey(), kind: "withdraw", sentence, fields: { coding, ...(reason && { reason }) } });
    }
  }
  if (acts.length) {
    remember(...entries);
    performAndTell(tellEntry(...entries), ...acts);
  }
}

/** Remove the coding whose chip was pressed. */
export async function takeOffChip(chip) {
  const row = chip.closest(".sentence") ?? chip.closest("[data-turn]")?.querySelector(".sentence") ?? currentRow();
  const code = codeOfChip(chip);
  if (isClosed() || !row) {
    return;
  }
  if (code) {
    await takeOff(code, [row]);
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
  const answer = await ask(currentRow(), what, { reason: true });
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
      tellEnd();
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
