// Links of codings: what a move acts on, what an entry of a feature rests on, what a Revise changes.

import { isClosed, perform } from "./coding.js";
import { FEATURES, MOVES, REVISE, aimedAt } from "./aim.js";
import { findEnd, numberOfEnd, readQuote } from "./chip_links.js";
import { holdEvidence } from "./evidence.js";
import { reveal } from "./sidebar.js";
import { chipsAt, codeOfChip, findChip } from "./marks.js";
import { announce, codes, findCode, makeIdempotencyKey, notify } from "./page.js";
import { currentRow, findRow, numberOf, select, sentenceOf } from "./sentences.js";
import { openStrip } from "./picker.js";
import { remember } from "./undo_redo.js";

/** Evidence goes to the last entry or Revise, unless something else asks for it; numbers on chips lead to their sentences. */
export function startLinks() {
  holdEvidence({ name: "the last entry or Revise", take: addEvidence });
  document.getElementById("sheet").addEventListener("click", (event) => {
    const end = event.target.closest(".links a[data-target]");
    if (end && !event.ctrlKey && !event.metaKey && goToEvidence(end.dataset.target)) {
      event.preventDefault();
    }
  });
}

/** The strip of the features that the last move at the current sentence acts on. */
export function openLinks() {
  const row = currentRow();
  const chip = row && chipsAt(row).filter(({ dataset }) => dataset.code.startsWith(MOVES)).at(-1);
  const move = chip && codeOfChip(chip);
  const features = codes.filter(({ identifier }) => identifier.startsWith(FEATURES));
  if (isClosed()) {
    return;
  }
  if (!move) {
    notify("No move is coded at this sentence. Code one, then say what it acts on.");
  } else if (!features.length) {
    notify("This codebook has no case features that a move could act on.");
  } else {
    openStrip({
      title: `${move.name} acts on`,
      act: "links",
      isMany: true,
      options: features.map((code) => ({
        name: code.name,
        code,
        isOn: Boolean(findEnd(chip, { kind: "acts_on", code: code.id })),
      })),
      onChoose: ({ code }, isOn) => toggleLink(row, move, { kind: "acts_on", code: String(code.id) }, isOn),
    });
  }
}

/** What was pointed at is evidence for the last entry or Revise; pointed at again, it no longer is. */
async function addEvidence({ sentence, quote, number }) {
  const aim = aimedAt();
  const row = aim && findRow(aim.sentence);
  const code = aim && findCode(aim.code);
  const chip = row && code && findChip(row, code);
  if (isClosed()) {
    return;
  }
  if (!chip) {
    notify("Apply a case feature or Revise first. What you then point at is evidence for the last one.");
    return;
  }
  const fields = { kind: code.identifier === REVISE ? "revises" : "warrant", target: sentence };
  const before = findEnd(chip, fields);
  const isOn = !before || Boolean(quote);
  const was = before ? { ...fields, ...readQuote(before) } : null;
  const link = quote ? { ...fields, quote_from: quote[0], quote_to: quote[1] } : (was ?? fields);
  const words = code.identifier === REVISE ? ["revises", "no longer revises"] : ["rests on", "no longer rests on"];
  if (await toggleLink(row, code, link, isOn, isOn ? was : null)) {
    notify(`${code.name} at ${numberOf(row)} ${words[isOn ? 0 : 1]} ${number}.`);
  }
}

/** False, or a promise of whether it was stored. `was` is the link to other words of the same sentence that this one replaces. */
function toggleLink(row, code, link, isOn, was = null) {
  const chip = findChip(row, code);
  if (!chip) {
    return false;
  }
  const sentence = sentenceOf(row);
  const { coding } = chip.dataset;
  const id = makeIdempotencyKey();
  const kind = isOn ? "link" : "unlink";
  const more = was ? { was } : {};
  remember({ kind, sentence, number: numberOf(row), current: id, coding, link, hint: { code: code.id }, ...more });
  return perform({ id, kind, sentence, hint: { code: code.id }, fields: { coding, ...link } });
}

/** Go to a sentence that is evidence; false where this page does not have it. */
function goToEvidence(sentence) {
  const there = document.getElementById(`s${sentence}`);
  if (!there) {
    return false;
  }
  if (there.matches(".sentence")) {
    reveal(there);
    select(there);
    return true;
  }
  for (let fold = there.closest("details"); fold; fold = fold.parentElement.closest("details")) {
    fold.open = true;
  }
  there.focus();
  there.scrollIntoView({ block: "center" });
  announce(`Sentence ${numberOfEnd(there)}`);
  return true;
}
