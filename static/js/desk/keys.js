// The keyboard: which key does what, and when it is left alone.

import { codes, site } from "./page.js";
import { changeEnactment, decide, goBack, repeatCode, toggleCode } from "./acts.js";
import { positionOf } from "./caps.js";
import { openMemo } from "./memo.js";
import { openPalette } from "./palette.js";
import { currentRow, move, moveToEnd, moveTurn } from "./rows.js";
import { Stored } from "./stored.js";
import { awaitSuggestions, openSuggestions, pressInSuggestions } from "./suggestions.js";

const TYPED_INTO = "input:not([type='radio'], [type='checkbox'], [type='hidden']), textarea, select, [contenteditable]";
const ACTS_ITSELF = "button, a:not(.n), summary, input, [role='option']";

const codeAt = new Map(codes.filter((code) => code.key).map((code) => [positionOf(code.key), code]));
const singleKeys = new Stored(window.localStorage, `desk:single-keys:${site.user}`, true);

const moves = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  PageDown: () => moveTurn(1),
  PageUp: () => moveTurn(-1),
  Home: () => moveToEnd(-1),
  End: () => moveToEnd(1),
};

/** Single keys by where they lie; codes come before these. */
const commands = {
  BracketLeft: () => follow("prev"),
  BracketRight: () => follow("next"),
  Period: () => repeatCode(),
  KeyV: () => changeEnactment(),
  KeyM: (event) => openMemo(event.shiftKey),
  KeyO: () => openSuggestions(),
  KeyK: () => pressInSuggestions("k"),
  KeyL: () => pressInSuggestions("l"),
};

/** Single keys by what they print. */
const signs = {
  "/": () => openPalette(),
  "?": () => document.getElementById("keycard").togglePopover(),
};

export function startKeys() {
  const box = document.getElementById("single-keys");
  box.checked = singleKeys.read();
  box.addEventListener("change", () => singleKeys.write(box.checked));
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
  if (event.ctrlKey || event.metaKey) {
    return event.altKey ? null : findCombination(event);
  }
  if (event.altKey || target.matches(TYPED_INTO)) {
    return null;
  }
  if (event.key === "Escape" && target.closest("#panel")) {
    return () => currentRow()?.focus();
  }
  const isElsewhere = target.closest("#panel, .rail, .deskbar, .site-header, .keycard");
  if (event.key in moves && !event.shiftKey) {
    return isElsewhere || target.matches(".words") ? null : moves[event.key];
  }
  if (event.repeat) {
    return null;
  }
  if (event.key === "Enter") {
    return target.closest(ACTS_ITSELF) ? null : enter;
  }
  return singleKeys.read() ? findSingle(event) : null;
}

function enter(event) {
  decide({ stay: event.shiftKey });
  if (event.shiftKey) {
    awaitSuggestions();
  }
}

function findSingle(event) {
  const code = codeAt.get(event.code);
  if (code) {
    return () => toggleCode(code, event.shiftKey ? "latent" : "semantic");
  }
  return signs[event.key] ?? commands[event.code] ?? null;
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
    return () => goBack(event.shiftKey);
  }
  return key === "y" ? () => goBack(true) : null;
}

function follow(direction) {
  document.querySelector(`.steps a[rel="${direction}"]`)?.click();
}
