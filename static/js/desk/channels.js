// Which channels stand open: results of tools, opened reasoning, long instructions. Kept for this person in this browser.

import { Stored } from "./storage.js";
import { currentRow, exchangeOf, select } from "./sentences.js";
import { notify, site } from "./page.js";

const open = new Stored(window.localStorage, `desk:open-channels:${site.user}`, []);

const foldsOf = (channel) => document.querySelectorAll(`details.folded[data-channel="${channel}"]`);

/** The choices at the edge, one for each channel that this page has. */
export function startChannels() {
  const chosen = new Set(open.read());
  for (const box of document.querySelectorAll("#channels input")) {
    box.closest("label").hidden = foldsOf(box.value).length === 0;
    box.checked = chosen.has(box.value);
    if (box.checked) {
      show(box.value, true);
    }
    box.addEventListener("change", () => {
      chosen[box.checked ? "add" : "delete"](box.value);
      open.write([...chosen]);
      show(box.value, box.checked);
    });
  }
  // Pressed by mouse, a fold does not keep the keys: Enter is for the current sentence.
  document.addEventListener("click", (event) => {
    if (event.detail > 0) {
      event.target.closest("summary")?.blur();
    }
  });
  document.getElementById("channels").hidden = ![...document.querySelectorAll("#channels label")].some((label) => !label.hidden);
}

function show(channel, isOpen) {
  const row = currentRow();
  for (const fold of foldsOf(channel)) {
    // The sentence one is at stays in sight.
    fold.open = isOpen || fold.contains(row);
  }
}

/** The reasoning before the current sentence, or the first one of its exchange: open it, or fold and unfold what is open. */
export function openReasoning() {
  const row = currentRow();
  const exchange = (row && exchangeOf(row)) ?? document.getElementById("sheet");
  const found = [...exchange.querySelectorAll(".closed-stage, details.folded[data-channel='reasoning']")];
  const isBefore = (part) => part.contains(row) || part.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING;
  const part = found.filter((each) => row && isBefore(each)).at(-1) ?? found[0];
  if (!part) {
    notify("No reasoning is known here.");
  } else if (part.matches(".closed-stage")) {
    part.querySelector("button").click();
  } else if (part.open) {
    part.open = false;
    if (part.contains(row)) {
      select(exchange.querySelector("[data-answer] .sentence") ?? row);
    }
  } else {
    select(part.querySelector(".sentence"));
  }
}

/** An address of a turn leads to its first sentence; of closed reasoning, to what opens it; of what a tool gave back, to its call,
 * which keys then code. */
export function goToTurn(hash) {
  const turn = /^#turn-\d+$/.test(hash) ? document.querySelector(hash) : null;
  const row = turn?.querySelector(".sentence");
  if (row) {
    select(row);
  } else if (turn?.matches(".closed-stage")) {
    turn.querySelector("button").focus();
  } else if (turn) {
    const rows = [...document.querySelectorAll(".sentence:not([data-context])")];
    const before = rows.filter((each) => each.compareDocumentPosition(turn) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
    if (before) {
      select(before);
    }
    turn.closest("details:not([open])")?.setAttribute("open", "");
    turn.scrollIntoView({ block: "center" });
  }
  return Boolean(turn);
}
