// Links of codings: what a move acts on, what an entry of a feature rests on, what a Revise changes; and the evidence key.

import { codeOfChip, findEnd, numberOfEnd, readQuote } from "./chips.js";
import { chipsAt, findChip } from "./marks.js";
import { announce, codes, FEATURES, findCode, isClosed, makeIdempotencyKey, MOVES, notify, REVISE, storageName } from "./page.js";
import { openPicker } from "./picker.js";
import { perform } from "./queue.js";
import { dropQuote, markedIn } from "./quote.js";
import { currentRow, findRow, numberOf, select, sentenceOf, turnOf } from "./sentences.js";
import { reveal } from "./sidebar.js";
import { Stored } from "./storage.js";
import { remember } from "./undo_redo.js";

// The entry of a feature, or the Revise, that was applied last in this thread: the next evidence is for it, unless something else
// has the evidence key. Kept by its place and code, for its id changes whenever it is changed.
const pending = new Stored(window.localStorage, storageName("evidence-for"), null);
const listeners = [];
const holders = [];

/**
 * Take what the evidence key points at, until the function that this gives is called; the last to ask gets it. `take(place)`
 * is called with { sentence, quote, number }: the id of the sentence, [from, to]
 * in UTF-16 units of its text or null, and its number as the desk shows it.
 */
export function holdEvidence(take) {
  holders.push(take);
  return () => {
    const at = holders.indexOf(take);
    if (at >= 0) {
      holders.splice(at, 1);
    }
  };
}

/** The evidence key was pressed. At a call one is asked whether the call is meant or what the tool gave back. */
export function giveEvidence() {
  const places = findPlaces();
  const take = holders.at(-1);
  if (!places.length) {
    return;
  }
  if (!take) {
    notify("Nothing here asks for evidence yet.");
  } else if (places.length === 1) {
    dropQuote();
    take(places[0]);
  } else {
    dropQuote();
    openPicker({
      title: "Evidence is",
      act: "evidence",
      options: places.map((place, at) => ({ name: `${at ? "its result" : "the call"}, ${place.number}`, place })),
      onChoose: ({ place }) => take(place),
    });
  }
}

/** The current sentence, with what the tool gave back where it is a call; or what has the focus and is no sentence of its own
 *  here: a result, or a sentence of the beginning that threads share. */
function findPlaces() {
  const focused = document.activeElement?.closest("[data-evidence]");
  if (focused) {
    return [readOther(focused)];
  }
  const row = currentRow();
  if (!row) {
    return [];
  }
  const quote = markedIn(row);
  const place = { sentence: sentenceOf(row), quote, number: numberOf(row) };
  return quote ? [place] : [place, ...[...turnOf(row).querySelectorAll(".result [data-evidence]")].map(readOther)];
}

const readOther = ({ dataset }) => ({ sentence: dataset.evidence, quote: null, number: dataset.number });

/** Call back when the next evidence is for another coding. */
export const onPendingCode = (listener) => listeners.push(listener);

/** A code was applied at a sentence. */
export function setPendingCode(sentence, { identifier }) {
  if (identifier.startsWith(FEATURES) || identifier === REVISE) {
    pending.write({ sentence, code: identifier });
    listeners.forEach((listener) => listener());
  }
}

/** Evidence goes to the last entry or Revise, unless something else asks for it; numbers on chips lead to their sentences. */
export function startLinks() {
  holdEvidence(addEvidence);
  document.getElementById("transcript").addEventListener("click", (event) => {
    const end = event.target.closest(".links a[data-target]");
    if (end && !event.ctrlKey && !event.metaKey && goToEvidence(end.dataset.target)) {
      event.preventDefault();
    }
  });
}

/** Pick the features that the last move at the current sentence acts on. */
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
    openPicker({
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
  const place = pending.read();
  const row = place && findRow(place.sentence);
  const code = place && findCode(place.code);
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
