// The desk: takes over the page's plain forms, so that one can code without leaving the keyboard or the page.

import { onCurrentChange, currentRow, firstOf, select, startRows } from "./desk/rows.js";
import { announce, findCode, showProblem } from "./desk/page.js";
import { decide, reopen, rollBack, settle, takeOff, toggleCode } from "./desk/acts.js";
import { cancelAsk } from "./desk/ask.js";
import { readLayout } from "./desk/caps.js";
import { startKeys } from "./desk/keys.js";
import { describeRow, relabel, showAct } from "./desk/marks.js";
import { startMemos } from "./desk/memo.js";
import { startPalette } from "./desk/palette.js";
import { firstUndecided, scheduleCount, showCurrent } from "./desk/panel.js";
import { pendingActs, startQueue } from "./desk/queue.js";
import { showState } from "./desk/savestate.js";
import { startSuggestions } from "./desk/suggestions.js";
import { showHistory } from "./desk/undo.js";

/** Codes and chips under the pointer. Shift means latent, as with a key. */
function startPointer() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button.code, button.remove");
    if (!button) {
      return;
    }
    event.preventDefault();
    if (button.matches(".code")) {
      pressCode(button, event.shiftKey);
    } else if (button.name === "decision") {
      reopen(button.closest(".sentence"));
    } else {
      const place = button.closest("[data-turn]");
      takeOff(button.closest(".sentence") ?? place.querySelector(".sentence"), button.closest(".chip"));
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

/** Links to turns and to what is left lead to a sentence as well. */
function startLinks() {
  document.querySelector(".rail").addEventListener("click", (event) => {
    const link = event.target.closest("a");
    const row = link?.id === "first-undecided" ? firstUndecided() : firstOf(document.querySelector(link?.hash || "none"));
    if (link) {
      event.preventDefault();
    }
    if (row) {
      select(row);
    } else if (link) {
      announce("Every sentence of the model is decided.");
    }
  });
}

startRows();
for (const act of pendingActs()) {
  showAct(act);
}
startQueue({ onState: showState, onSaved: settle, onRefused: rollBack, onHeld: showProblem });
onCurrentChange((row) => {
  describeRow(row);
  cancelAsk();
  showCurrent();
});
startPointer();
startLinks();
startKeys();
startMemos();
startPalette();
startSuggestions();
if (currentRow()) {
  describeRow(currentRow());
}
showCurrent();
showHistory();
scheduleCount();
readLayout(() => relabel(document));
document.documentElement.dataset.desk = "ready";
