// The keyboard: which key does what, and when it is left alone.

import { findSplitAct, mergeBelow, toggleSplit } from "./boundaries.js";
import { openMeaning } from "./code_panel.js";
import { decide, openResponses, repeatCode, toggleCode } from "./coding.js";
import { openLastDetails } from "./details.js";
import { namesOf, prints } from "./key_layout.js";
import { giveEvidence, openLinks } from "./links.js";
import { openMemo } from "./memo_form.js";
import { codes, keymap, notify, site } from "./page.js";
import { openPalette } from "./palette.js";
import { dropQuote, findQuoteAct, markedIn, toggleMarking } from "./quote.js";
import { openScores } from "./scores.js";
import { currentRow, endRange, extendRange, hasRange, move, moveToEnd, moveTurn, numberOf, sentenceOf } from "./sentences.js";
import { enterList, goToNext } from "./sidebar.js";
import { Stored } from "./storage.js";
import { awaitSuggestions, openSuggestions, pressInSuggestions } from "./suggestions.js";
import { undoOrRedo } from "./undo_redo.js";
import { openReasoning } from "./visibility.js";

const TYPED_INTO = "input:not([type='radio'], [type='checkbox'], [type='hidden']), textarea, select, [contenteditable]";
const ACTS_ITSELF = "button, a, summary, input, [role='option']";

const codeAt = new Map(codes.filter((code) => code.key).map((code) => [code.key, code]));
const actAt = new Map(Object.entries(keymap.acts).filter(([, key]) => key).map(([name, key]) => [key, name]));
const singleKeys = new Stored(window.localStorage, `desk:single-keys:${site.user}`, true);

/** What can be done by key; where each lies is in the keymap. */
const acts = {
  down: (event) => (event.shiftKey ? extendRange(1) : move(1)),
  up: (event) => (event.shiftKey ? extendRange(-1) : move(-1)),
  next_turn: () => moveTurn(1),
  previous_turn: () => moveTurn(-1),
  first: () => moveToEnd(-1),
  last: () => moveToEnd(1),
  previous_interview: () => follow("prev"),
  next_interview: () => follow("next"),
  next_reason: () => goToNext(),
  turns: () => enterList(document.getElementById("turns")),
  reasoning: () => openReasoning(),
  filters: () => enterList(document.getElementById("filters")),
  decide: (event) => enter(event),
  repeat: () => repeatCode(),
  palette: () => openPalette(),
  quote: () => toggleMarking(),
  details: () => openLastDetails(),
  meaning: () => openMeaning(),
  propose: () => propose(),
  memo: (event) => openMemo(event.shiftKey),
  suggestions: () => openSuggestions(),
  accept: () => pressInSuggestions("k"),
  reject: () => pressInSuggestions("l"),
  split: () => toggleSplit(),
  merge: () => mergeBelow(),
  links: () => openLinks(),
  evidence: () => giveEvidence(),
  challenges: () => openResponses(),
  scores: () => openScores(),
  help: () => showKeycard(),
};
/** Moves go on while their key is held. */
const MOVES = new Set(["down", "up", "next_turn", "previous_turn", "first", "last"]);
const WITH_SHIFT = new Set(["down", "up"]);

export function startKeys() {
  const box = document.getElementById("single-keys");
  box.checked = singleKeys.read();
  box.addEventListener("change", () => singleKeys.write(box.checked));
  startKeycard();
  document.addEventListener("keydown", (event) => {
    const act = findAct(event);
    if (act) {
      event.preventDefault();
      act(event);
    }
  });
}

/** What a key does here, or nothing. */
function findAct(event) {
  const { target } = event;
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) {
    return null;
  }
  const markingAct = target.matches(TYPED_INTO) ? null : (findSplitAct(event) ?? findQuoteAct(event));
  if (markingAct) {
    return markingAct;
  }
  if (event.ctrlKey || event.metaKey) {
    return event.altKey ? null : findCombination(event);
  }
  if (event.altKey || target.matches(TYPED_INTO)) {
    return null;
  }
  if (event.key === "Escape") {
    return findEscape(target);
  }
  const [name, key] = findName(event);
  const code = name ? null : codeAt.get(event.code);
  if (!name && !code) {
    return null;
  }
  if ((code || prints(key)) && !singleKeys.read()) {
    return null;
  }
  if (code) {
    return event.repeat ? null : () => toggleCode(code, event.shiftKey ? "latent" : "semantic");
  }
  return mayAct(name, key, event) ? acts[name] : null;
}

/** The act of a key, by what it prints or by where it lies, with the name under which the keymap has it. */
function findName(event) {
  const key = namesOf(event).find((each) => actAt.has(each));
  return key ? [actAt.get(key), key] : [null, ""];
}

/** Keys that print nothing have work of their own elsewhere: in lists, on buttons, in what scrolls. */
function mayAct(name, key, event) {
  const { target } = event;
  if (MOVES.has(name)) {
    const isElsewhere = target.closest("#panel, .sidebar, .deskbar, .site-header, .keycard") || target.matches(".words");
    return prints(key) || (!isElsewhere && (!event.shiftKey || WITH_SHIFT.has(name)));
  }
  return !event.repeat && (prints(key) || !target.closest(ACTS_ITSELF));
}

/** Escape leaves the panel, then what is marked, then the range. */
function findEscape(target) {
  if (target.closest("#panel")) {
    return () => currentRow()?.focus();
  }
  if (markedIn(currentRow())) {
    return dropQuote;
  }
  return hasRange() ? endRange : null;
}

/**
 * Enter decides the sentence that has the focus. A screen reader that goes through the page by itself does not move the focus, and
 * passes Enter on: elsewhere it only brings the focus to the current sentence.
 */
function enter(event) {
  const row = currentRow();
  if (row && !row.contains(event.target) && !prints(keymap.acts.decide)) {
    row.focus();
    notify(`The focus was not on a sentence, so nothing was decided. It is on sentence ${numberOf(row)} now: Enter decides it.`);
    return;
  }
  decide({ stay: event.shiftKey });
  if (event.shiftKey && !hasRange()) {
    awaitSuggestions();
  }
}

function findCombination(event) {
  const key = event.key.toLowerCase();
  if (key === "k") {
    return openPalette;
  }
  if (event.target.matches(TYPED_INTO)) {
    return null;
  }
  if (key === "z") {
    return () => undoOrRedo(event.shiftKey);
  }
  return key === "y" ? () => undoOrRedo(true) : null;
}

/** To the form for a code that is missing, with the marked words as its name. */
function propose() {
  const row = currentRow();
  if (row) {
    const [from, to] = markedIn(row) ?? ["", ""];
    window.location.assign(`${site.propose}?${new URLSearchParams({ sentence: sentenceOf(row), from, to })}`);
  }
}

const keycard = document.getElementById("keycard");

/** While the card is open it takes all keys, so that none reaches the text under it. */
function showKeycard() {
  if (!keycard.open) {
    keycard.hidePopover();
    keycard.showModal();
    keycard.focus({ preventScroll: true });
    // It may have been left at its end.
    keycard.scrollTop = 0;
  }
}

/** Its buttons open and close it without a script, too; with one they do what the keys do. */
function startKeycard() {
  for (const button of document.querySelectorAll("[popovertarget='keycard']")) {
    button.addEventListener("click", (event) => {
      event.preventDefault();
      if (button.popoverTargetAction === "hide") {
        keycard.close();
      } else {
        showKeycard();
      }
    });
  }
  keycard.addEventListener("close", () => {
    // Opened before anything had the focus, it would leave it nowhere.
    if (keycard.contains(document.activeElement) || document.activeElement === document.body) {
      currentRow()?.focus();
    }
  });
  keycard.addEventListener("keydown", (event) => {
    const [name] = findName(event);
    if (name === "help" && !event.target.matches(TYPED_INTO)) {
      event.preventDefault();
      keycard.close();
    }
  });
}

function follow(direction) {
  document.querySelector(`.steps a[rel="${direction}"]`)?.click();
}
