// The panel beside the text: which codes stand at the current sentence, how often each was used, how far one has come.

import { codes } from "./page.js";
import { counts, findChip, memoOn } from "./marks.js";
import { allRows, currentRow, exchangeOf, numberOf, sentenceOf } from "./rows.js";

const panel = document.getElementById("panel");
const rail = document.querySelector(".rail");
const buttons = new Map([...panel.querySelectorAll("button.code")].map((button) => [button.dataset.code, button]));
let isCountDue = false;

/** Bring the panel to the current sentence. */
export function showCurrent() {
  const row = currentRow();
  if (!row) {
    return;
  }
  for (const number of document.querySelectorAll("#current-number, .current-number")) {
    number.textContent = numberOf(row);
  }
  for (const field of panel.querySelectorAll("input[name='sentence']")) {
    field.value = sentenceOf(row);
  }
  document.getElementById("memo-text").value = memoOn(row);
  const exchange = exchangeOf(row);
  for (const link of rail.querySelectorAll("ol a")) {
    link.toggleAttribute("aria-current", link.hash === `#${exchange.id}`);
    if (link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
    }
  }
  showPressed();
}

/** Which codes stand at the current sentence. */
export function showPressed() {
  const row = currentRow();
  for (const code of codes) {
    const chip = row ? findChip(row, code) : null;
    const button = buttons.get(code.identifier);
    button.setAttribute("aria-pressed", String(Boolean(chip)));
    button.classList.toggle("latent", chip?.dataset.level === "latent");
  }
}

/** Count anew, after the key's effect is painted. */
export function scheduleCount() {
  if (!isCountDue) {
    isCountDue = true;
    setTimeout(() => {
      isCountDue = false;
      countCodes();
      countDecided();
    }, 30);
  }
}

function countCodes() {
  const used = new Map();
  for (const chip of document.querySelectorAll(".chip[data-coding]")) {
    used.set(chip.dataset.code, (used.get(chip.dataset.code) ?? 0) + 1);
  }
  for (const [identifier, button] of buttons) {
    button.querySelector(".number").textContent = used.get(identifier) ?? 0;
  }
}

/** The same figures as the server's: the model's sentences with a code or a decision of this person. */
function countDecided() {
  let decided = 0;
  let total = 0;
  for (const exchange of document.querySelectorAll(".exchange")) {
    const answers = exchange.querySelectorAll("[data-answer] .sentence");
    const done = [...answers].filter(counts).length;
    const meter = rail.querySelector(`a[href="#${exchange.id}"] + progress`);
    if (meter) {
      meter.value = done;
    }
    decided += done;
    total += answers.length;
  }
  const percent = `${total ? Math.floor((decided * 100) / total) : 0} %`;
  document.getElementById("decided").value = decided;
  document.getElementById("decided-percent").textContent = percent;
  document.getElementById("decided-count").textContent = decided;
}

/** The first sentence of the model that is still open. */
export const firstUndecided = () =>
  allRows().find((row) => row.closest("[data-answer]") && !counts(row)) ?? null;
