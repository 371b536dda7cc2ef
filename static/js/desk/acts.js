// What a coder does with a key or a click: each act shows at once, joins the queue, and can be undone.

import { announce, makeClientId, showProblem, site } from "./page.js";
import { ask } from "./ask.js";
import { codeOfChip, decisionOn, findChip, readingOf, replaceMarks, showAct } from "./marks.js";
import { scheduleCount, showPressed } from "./panel.js";
import { enqueue, renamePending } from "./queue.js";
import { currentRow, findRow, moveToNextAnswer, numberOf, select, sentenceOf } from "./rows.js";
import { refreshMarks } from "./refresh.js";
import { Stored } from "./stored.js";
import { forgetDone, redo, remember, renameDone, undo } from "./undo.js";

const recent = new Stored(window.localStorage, `desk:recent:${site.user}`, []);
let last = null;
let savedListener = () => {};
let refusedListener = () => {};

/** Be told of each act the server has stored, after the page shows it. */
export function onActSaved(listener) {
  savedListener = listener;
}

/** Be told of each act the server has refused. */
export function onActRefused(listener) {
  refusedListener = listener;
}

export const recentCodes = () => recent.read();

/** Show an act and send it. */
export function perform(act) {
  showProblem("");
  showAct(act);
  enqueue(act);
  if (document.activeElement === document.body) {
    currentRow()?.focus({ preventScroll: true });
  }
  showPressed();
  scheduleCount();
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
  savedListener(act);
}

/** The server refused an act: say its sentence, and show what stands. */
export function rollBack(act, words) {
  forgetDone(act.id);
  showProblem(act.sentence ? `Sentence ${numberOf(findRow(act.sentence))}: ${words}` : words);
  if (act.sentence) {
    refreshMarks(act.sentence);
  }
  refusedListener(act);
}

/**
 * The key of a code: put it on, take it off where it stands like that, or change its level. Asks in the row for what a
 * key cannot say. `given` holds what was said elsewhere ({note, enactment}).
 */
export async function toggleCode(code, level, given = {}) {
  const row = currentRow();
  if (!row) {
    return;
  }
  if (level === "latent" && !code.level) {
    announce(`${code.familyName} carry no level.`);
    return;
  }
  const chip = findChip(row, code);
  if (chip?.dataset.level === level) {
    takeOff(row, chip);
    return;
  }
  await putCode(row, code, { level, enactment: chip?.dataset.enactment ?? "", note: "", ...given });
}

/** The last code again, as it was put; a latent one asks for its line anew. */
export async function repeatCode() {
  const row = currentRow();
  if (!row || !last) {
    announce("No code was put yet.");
  } else if (findChip(row, last.code)?.dataset.level === last.level) {
    announce(`${last.code.name} stands already.`);
  } else {
    await putCode(row, last.code, { level: last.level, enactment: last.enactment, note: "" });
  }
}

/** Say anew how the last move on this sentence is made. */
export async function changeEnactment() {
  const row = currentRow();
  const chips = [...(row?.querySelectorAll(".chip[data-coding]") ?? [])];
  const chip = chips.findLast((candidate) => codeOfChip(candidate)?.enactment);
  if (!chip) {
    announce("No move stands on this sentence.");
    return;
  }
  const code = codeOfChip(chip);
  const answer = await ask(row, code.name, { enactment: true, note: false }, { enactment: chip.dataset.enactment });
  if (answer && answer.enactment !== chip.dataset.enactment) {
    sendCoding(row, code, { level: chip.dataset.level, enactment: answer.enactment, note: readingOf(chip) });
  }
}

async function putCode(row, code, how) {
  const needs = { enactment: code.enactment && !how.enactment, note: how.level === "latent" && !how.note };
  if (needs.enactment || needs.note) {
    const words = how.level === "latent" ? `${code.name}, latent` : code.name;
    const answer = await ask(row, words, needs);
    if (!answer) {
      return;
    }
    how.enactment ||= answer.enactment;
    how.note ||= answer.note;
  }
  sendCoding(row, code, how);
}

function sendCoding(row, code, { level, enactment, note }) {
  const sentence = sentenceOf(row);
  const replaced = findChip(row, code);
  const id = makeClientId();
  const hint = { code: code.id, level, enactment };
  const entry = { sentence, number: numberOf(row), current: id, hint };
  if (replaced) {
    const { coding, level: levelBefore, enactment: enactmentBefore } = replaced.dataset;
    const hintBefore = { code: code.id, level: levelBefore, enactment: enactmentBefore };
    remember({ kind: "change", before: coding, hintBefore, ...entry });
  } else {
    remember({ kind: "put", ...entry });
  }
  perform({ id, kind: "add", sentence, hint, fields: { sentence, code: code.id, level, enactment, note } });
  last = { code, level, enactment };
  recent.write([code.identifier, ...recent.read().filter((identifier) => identifier !== code.identifier)].slice(0, 8));
  announce(`${code.name} on ${numberOf(row)}`);
}

/** Take a coding off. */
export function takeOff(row, chip) {
  const code = codeOfChip(chip);
  const { coding, level, enactment } = chip.dataset;
  const sentence = sentenceOf(row);
  const hint = { code: code?.id, level, enactment };
  remember({ kind: "off", sentence, number: numberOf(row), current: coding, hint });
  perform({ id: makeClientId(), kind: "withdraw", sentence, fields: { coding } });
  announce(`${code?.name ?? "Code"} off ${numberOf(row)}`);
}

/** Read; nothing more here. Goes on to the model's next sentence unless `stay`. */
export function decide({ stay = false } = {}) {
  const row = currentRow();
  if (!row) {
    return;
  }
  if (!decisionOn(row)) {
    const id = makeClientId();
    const sentence = sentenceOf(row);
    remember({ kind: "decide", sentence, number: numberOf(row), current: id, hint: {} });
    perform({ id, kind: "decide", sentence, fields: { sentence } });
  }
  if (!stay && !moveToNextAnswer()) {
    announce("This was the last sentence.");
  }
}

/** Take "nothing more here" back. */
export function reopen(row) {
  const decision = decisionOn(row);
  const sentence = sentenceOf(row);
  remember({ kind: "reopen", sentence, number: numberOf(row), current: decision, hint: {} });
  perform({ id: makeClientId(), kind: "reopen", sentence, fields: { decision } });
}

/** Undo or redo, and go where it happened. */
export function goBack(isRedo) {
  const taken = isRedo ? redo() : undo();
  const row = taken && findRow(taken.act.sentence);
  if (row) {
    select(row);
    perform(taken.act);
    announce(taken.words);
  }
}
