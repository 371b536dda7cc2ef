// The desk: takes over the page's plain forms, so that one can code without leaving the keyboard or the page.

import { onCurrentChange, currentRow, firstOf, focusAtFirst, select, startRows } from "./desk/sentences.js";
import { giveEvidence } from "./desk/evidence.js";
import { openResponses } from "./desk/responses.js";
import { openScores } from "./desk/scores.js";
import { findCode, notify, showProblem } from "./desk/page.js";
import { goToTurn, startChannels } from "./desk/channels.js";
import { startAhead } from "./desk/ahead.js";
import { decide, reopen, rollBack, settle, takeOffChip, toggleCode } from "./desk/coding.js";
import { resumeGoingBack } from "./desk/back.js";
import { readLayout } from "./desk/key_layout.js";
import { dropSplit, mergeBelow, toggleSplit } from "./desk/boundaries.js";
import { openDetailsOf, openLastDetails } from "./desk/details.js";
import { reveal, startFilters } from "./desk/sidebar.js";
import { startFolds } from "./desk/folds.js";
import { startIntroduction } from "./desk/introduction.js";
import { startKeys } from "./desk/keys.js";
import { labelButtons, relabel } from "./desk/labels.js";
import { cancelLine } from "./desk/line.js";
import { codeOfChip, describeRow, valuesAt, showAct } from "./desk/marks.js";
import { openMeaning, startMeaning } from "./desk/meaning.js";
import { startLedger } from "./desk/ledger.js";
import { openLinks, startLinks as startCodingLinks } from "./desk/links.js";
import { startMemos } from "./desk/memo_form.js";
import { openPalette, startPalette } from "./desk/palette.js";
import { firstUndecided, scheduleCount, showCurrent, startPanel } from "./desk/code_panel.js";
import { pendingActs, startQueue } from "./desk/queue.js";
import { markedIn, startQuotes, toggleMarking } from "./desk/quote.js";
import { startList } from "./desk/rail.js";
import { extendRange, extendTo, onRangeChange, startRange } from "./desk/range.js";
import { startRefused } from "./desk/refused.js";
import { showState } from "./desk/save_state.js";
import { startScoring } from "./desk/scoring.js";
import { startSuggestions } from "./desk/suggestions.js";
import { startStrip } from "./desk/picker.js";
import { startSight } from "./desk/visibility.js";
import { startSyntax } from "./desk/syntax.js";
import { showHistory } from "./desk/undo_redo.js";
import { clearUnderline, underline } from "./desk/underline.js";
import { goToNext } from "./desk/next_sentence.js";

const WAYS = {
  palette: openPalette,
  "take-in": () => extendRange(1),
  "give-back": () => extendRange(-1),
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
    const button = event.target.closest("button.code, button.remove, a.open-details, button.way");
    if (!button || event.ctrlKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    if (button.matches(".code")) {
      pressCode(button, event.shiftKey);
    } else if (button.matches(".way")) {
      WAYS[button.value]();
    } else if (button.matches(".open-details")) {
      openDetailsOf(button.closest(".chip"));
    } else if (button.name === "decision") {
      reopen(button.closest(".sentence"));
    } else {
      takeOffChip(button.closest(".chip"));
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
  const sheet = document.getElementById("sheet");
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
    sheet.addEventListener(name, act);
  }
}

/** Links to turns and to what is left lead to a sentence as well. */
function startLinks() {
  document.querySelector(".rail").addEventListener("click", (event) => {
    const link = event.target.closest("#turns a, #ledger a, #first-undecided, #next-reason");
    if (!link || event.ctrlKey || event.metaKey) {
      return;
    }
    event.preventDefault();
    if (link.id === "next-reason") {
      goToNext();
      return;
    }
    if (goToTurn(link.hash)) {
      return;
    }
    const row = link.id === "first-undecided" ? firstUndecided() : firstOfTurn(document.querySelector(link.hash));
    if (row) {
      reveal(row);
      select(row);
    } else {
      notify("Every sentence of the model is decided.");
    }
  });
}

/** The first sentence of a turn that is shown, or the first of all where the filter leaves it out. */
const firstOfTurn = (exchange) => firstOf(exchange) ?? exchange.querySelector(".sentence");

startRows((row, event) => (event.shiftKey ? extendTo(row) : select(row)));
startRange();
startPanel();
for (const act of pendingActs()) {
  showAct(act);
}
startQueue({ onState: showState, onSaved: settle, onRefused: rollBack, onHeld: showProblem });
onCurrentChange((row) => {
  describeRow(row);
  cancelLine();
  dropSplit();
  showCurrent();
});
onRangeChange((rows, before) => new Set([...before, ...rows]).forEach(describeRow));
startPointer();
startLinks();
startFilters();
startFolds();
startSight();
startChannels();
startSyntax();
startList(document.getElementById("turns"));
startList(document.getElementById("filters"));
startRefused();
startIntroduction();
startQuotes();
startQuoteHints();
startKeys();
startMeaning();
startMemos();
startStrip();
startCodingLinks();
startLedger();
startScoring();
startPalette();
startSuggestions();
startAhead();
if (currentRow()) {
  describeRow(currentRow());
}
showCurrent();
showHistory();
scheduleCount();
function label() {
  labelButtons();
  relabel(document);
}
label();
readLayout(label);
const asked = window.location.hash && document.querySelector(`.sentence${window.location.hash}`);
if (asked) {
  select(asked);
}
goToTurn(window.location.hash);
// A link to a turn of this page, or an address that is typed where one is.
window.addEventListener("hashchange", () => goToTurn(window.location.hash));
resumeGoingBack();
focusAtFirst();
document.documentElement.dataset.desk = "ready";
