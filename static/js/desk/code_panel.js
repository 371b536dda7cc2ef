// The panel beside the text: which codes the current sentence has, how often each was used, how far one has come.

import { codes, site, write } from "./page.js";
import { showLedger } from "./ledger.js";
import { chipsAt, counts, memoKindOn, memoOn } from "./marks.js";
import { onRangeChange, selectedRows, tellRange } from "./range.js";
import { allRows, currentRow, exchangeOf, numberOf, sentenceOf } from "./sentences.js";
import { Stored } from "./storage.js";

const panel = document.getElementById("panel");
const rail = document.querySelector(".rail");
const buttons = new Map([...panel.querySelectorAll("button.code")].map((button) => [button.dataset.code, button]));
const title = panel.querySelector("h2");
const decide = panel.querySelector("form.decide");
let isCountDue = false;

/** Follow the range: which sentences are selected, and which codes all of them have. The list of further acts is as this person left it. */
export function startPanel() {
  const single = [...title.childNodes];
  onRangeChange((rows) => {
    if (rows.length) {
      title.replaceChildren(`Sentences ${tellRange()}`);
    } else {
      title.replaceChildren(...single);
    }
    showPressed();
  });
  const ways = document.getElementById("ways");
  const isOpen = new Stored(window.localStorage, `desk:ways:${site.user}`, false);
  ways.open = isOpen.read();
  ways.addEventListener("toggle", () => isOpen.write(ways.open));
}

/** Bring the panel to the current sentence. */
export function showCurrent() {
  const row = currentRow();
  if (!row) {
    return;
  }
  for (const number of document.querySelectorAll("#current-number, .current-number")) {
    write(number, numberOf(row));
  }
  for (const field of panel.querySelectorAll("input[name='sentence']")) {
    field.value = sentenceOf(row);
  }
  document.getElementById("memo-text").value = memoOn(row);
  document.getElementById("memo-kind").value = memoKindOn(row);
  const exchange = exchangeOf(row);
  for (const link of rail.querySelectorAll("ol a")) {
    link.toggleAttribute("aria-current", link.hash === `#${exchange.id}`);
    if (link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
    }
  }
  showPressed();
}

/** Which codes the current sentence has, or all that are selected. */
export function showPressed() {
  const codesByRow = selectedRows().map((row) => new Map(chipsAt(row).map(({ dataset }) => [dataset.code, dataset.level])));
  for (const code of codes) {
    const levels = codesByRow.map((codesThere) => codesThere.get(code.identifier)).filter(Boolean);
    const button = buttons.get(code.identifier);
    const isOnAll = levels.length > 0 && levels.length === codesByRow.length;
    button.setAttribute("aria-pressed", isOnAll || !levels.length ? String(isOnAll) : "mixed");
    button.classList.toggle("latent", levels[0] === "latent");
  }
}

/** Bring the button of a code into sight that was pressed by key, where the codes scroll by themselves. */
export function showCode(code) {
  requestAnimationFrame(() => {
    const button = buttons.get(code.identifier);
    const list = [button?.closest(".codes"), panel].find((part) => part && getComputedStyle(part).overflowY === "auto");
    if (!list || !button?.checkVisibility()) {
      return;
    }
    const [seen, box] = [list.getBoundingClientRect(), button.getBoundingClientRect()];
    // What stays at the top of the panel may lie over it.
    const top = list === panel ? Math.max(seen.top, decide.getBoundingClientRect().bottom) : seen.top;
    list.scrollTop += Math.min(0, box.top - top) || Math.max(0, box.bottom - seen.bottom);
  });
}

/** Count anew when no key waits: a long interview takes some milliseconds. */
export function scheduleCount() {
  if (!isCountDue) {
    isCountDue = true;
    const count = () => {
      isCountDue = false;
      countCodes();
      countDecided();
      showLedger();
    };
    if (window.requestIdleCallback) {
      requestIdleCallback(count, { timeout: 500 });
    } else {
      setTimeout(count, 30);
    }
  }
}

function countCodes() {
  const used = new Map();
  for (const chip of document.querySelectorAll(".chip[data-coding]")) {
    used.set(chip.dataset.code, (used.get(chip.dataset.code) ?? 0) + 1);
  }
  for (const [identifier, button] of buttons) {
    write(button.querySelector(".number"), String(used.get(identifier) ?? 0));
  }
}

/** The same figures as the server's: the model's sentences with a code or a decision of this person. */
function countDecided() {
  let decided = 0;
  let total = 0;
  for (const exchange of document.querySelectorAll(".exchange")) {
    const answers = exchange.querySelectorAll("[data-answer] .sentence");
    const done = [...answers].filter(counts).length;
    const meter = rail.querySelector(`a[href="#${exchange.id}"] ~ progress`);
    if (meter && meter.value !== done) {
      meter.value = done;
    }
    decided += done;
    total += answers.length;
  }
  // As transcripts/formats/numbers.py round_percent.
  const whole = total ? Math.min(Math.round((decided * 100) / total), decided < total ? 99 : 100) : 0;
  const percent = `${whole} %`;
  document.getElementById("decided").value = decided;
  write(document.getElementById("decided-percent"), percent);
  write(document.getElementById("decided-count"), String(decided));
}

/** The sentences of the model that are still open. */
export const listUndecided = () => allRows().filter((row) => row.closest("[data-answer]") && !counts(row));

export const firstUndecided = () => listUndecided()[0] ?? null;
