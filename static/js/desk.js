// The desk: takes over the page's plain forms, so that one can code without leaving the keyboard or the page.

import { dropSplit, mergeBelow, toggleSplit } from "./desk/boundaries.js";
import { codeOfChip } from "./desk/chips.js";
import { openMeaning, scheduleCount, showCurrent, startCodePanel } from "./desk/code_panel.js";
import { decide, openResponses, removeChip, reopen, toggleCode } from "./desk/coding.js";
import { openDetailsOf, openLastDetails } from "./desk/details.js";
import { cancelInlineForm } from "./desk/inline_form.js";
import { readLayout } from "./desk/key_layout.js";
import { startKeys } from "./desk/keys.js";
import { giveEvidence, openLinks, startLinks } from "./desk/links.js";
import { describeRow, valuesAt } from "./desk/marks.js";
import { startMemos } from "./desk/memo_form.js";
import { findCode, showKeys, showProblem } from "./desk/page.js";
import { openPalette, startPalette } from "./desk/palette.js";
import { startPicker } from "./desk/picker.js";
import { startQueue } from "./desk/queue.js";
import { markedIn, startQuotes, toggleMarking } from "./desk/quote.js";
import { startRefused } from "./desk/save_state.js";
import { openScores, startScores } from "./desk/scores.js";
import { allRows, currentRow, extendRange, extendTo, focusAtFirst, onCurrentChange, onRangeChange, select, startRows } from "./desk/sentences.js";
import { startSidebar } from "./desk/sidebar.js";
import { startSuggestions } from "./desk/suggestions.js";
import { clearUnderline, underline } from "./desk/text.js";
import { resumeUndo, showHistory } from "./desk/undo_redo.js";
import { goToTurn, startVisibility } from "./desk/visibility.js";

/** Sentences before the end of an interview. */
const PREFETCHED_FROM = 5;
const ACTS = {
  palette: openPalette,
  extend: () => extendRange(1),
  shrink: () => extendRange(-1),
  quote: toggleMarking,
  details: openLastDetails,
  meaning: openMeaning,
  links: openLinks,
  evidence: giveEvidence,
  challenges: openResponses,
  scores: openScores,
  split: toggleSplit,
  merge: mergeBelow,
};

/** Codes and chips under the pointer. Shift means latent, as with a key. */
function startPointer() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.code, button.remove, a.open-details, button.more-act");
    if (!button || event.ctrlKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    if (button.matches(".code")) {
      pressCode(button, event.shiftKey);
    } else if (button.matches(".more-act")) {
      ACTS[button.value]();
    } else if (button.matches(".open-details")) {
      openDetailsOf(button.closest(".chip"));
    } else if (button.name === "decision") {
      reopen(button.closest(".sentence"));
    } else {
      removeChip(button.closest(".chip"));
    }
  });
  document.querySelector("form.decide").addEventListener("submit", (event) => {
    event.preventDefault();
    decide();
    currentRow()?.focus();
  });
}

function pressCode(button, isShifted) {
  const code = findCode(button.dataset.code);
  const level = button.form.querySelector("input[name='level']:checked")?.value ?? "semantic";
  const note = button.form.querySelector("input[name='note']");
  const isLatent = code.level && (isShifted || level === "latent");
  toggleCode(code, isLatent ? "latent" : "semantic", isLatent && note.value.trim() ? { note: note.value.trim() } : {});
  if (note) {
    note.value = "";
  }
}

/** The quote of a chip shows in its sentence while the pointer or the focus is on the chip. */
function startQuoteHints() {
  const transcript = document.getElementById("transcript");
  const find = (event) => event.target.closest?.(".sentence .chip:has(.quote)");
  const show = (event) => {
    const chip = find(event);
    const row = chip?.closest(".sentence");
    const code = chip && codeOfChip(chip);
    if (code && !markedIn(row) && !row.querySelector(".details-line")) {
      underline(row, valuesAt(row, code).quote, chip.querySelector("b").textContent);
    }
  };
  const hide = (event) => {
    const row = find(event)?.closest(".sentence");
    if (row && !markedIn(row) && !row.querySelector(".details-line") && !find(event).contains(event.relatedTarget)) {
      clearUnderline(row);
    }
  };
  for (const [name, act] of [["pointerover", show], ["pointerout", hide], ["focusin", show], ["focusout", hide]]) {
    transcript.addEventListener(name, act);
  }
}

/** “Got it”, under the sentence on what the desk is for: sent without leaving the page, so that nobody loses her place. */
function startIntroduction() {
  const box = document.querySelector(".introduction");
  box?.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { action } = event.target;
    try {
      const answer = await fetch(action, { method: "POST", body: new FormData(event.target), headers: { "HX-Request": "true" } });
      if (!answer.ok || answer.redirected) {
        throw new Error(`${action} answered ${answer.status}`);
      }
    } catch {
      showProblem("The line at the top could not be put away. Try again later.");
      return;
    }
    box.remove();
    currentRow()?.focus({ preventScroll: true });
  });
}

/**
 * Near the end of an interview the browser fetches the next one, as prefetch.speculationrules asks it to; a browser that does not know
 * such rules fetches it when the person goes there. The fetch records nothing, and is kept for five minutes at most, for this page only.
 */
function startPrefetch() {
  const next = document.querySelector(".steps a[rel='next']");
  const update = (row) => next.classList.toggle("prefetch", Boolean(row) && allRows().slice(-PREFETCHED_FROM).includes(row));
  if (next) {
    update(currentRow());
    onCurrentChange(update);
  }
}

startRows((row, event) => (event.shiftKey ? extendTo(row) : select(row)));
startCodePanel();
startQueue();
onCurrentChange((row) => {
  describeRow(row);
  cancelInlineForm();
  dropSplit();
  showCurrent();
});
onRangeChange((rows, before) => new Set([...before, ...rows]).forEach(describeRow));
startPointer();
startSidebar();
startVisibility();
startRefused();
startIntroduction();
startQuotes();
startQuoteHints();
startKeys();
startMemos();
startPicker();
startLinks();
startScores();
startPalette();
startSuggestions();
startPrefetch();
if (currentRow()) {
  describeRow(currentRow());
}
showCurrent();
showHistory();
scheduleCount();
showKeys(document);
readLayout(() => showKeys(document));
const asked = window.location.hash && document.querySelector(`.sentence${window.location.hash}`);
if (asked) {
  select(asked);
}
goToTurn(window.location.hash);
// A link to a turn of this page, or an address that is typed where one is.
window.addEventListener("hashchange", () => goToTurn(window.location.hash));
resumeUndo();
focusAtFirst();
document.documentElement.dataset.desk = "ready";
