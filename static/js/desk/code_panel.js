// The panel of codes: which ones the current sentence has, how often each was used, what each means, and how far one has come.

import { chipsAt, isDecided, memoKindOn, memoOn, onMarksChange } from "./marks.js";
import { codes, findCode, make, notify, site, write } from "./page.js";
import { currentRow, describeRange, exchangeOf, numberOf, onRangeChange, selectedRows, sentenceOf } from "./sentences.js";
import { showLedger } from "./sidebar.js";
import { Stored } from "./storage.js";

const panel = document.getElementById("panel");
const sidebar = document.querySelector(".sidebar");
const buttons = new Map([...panel.querySelectorAll("button.code")].map((button) => [button.dataset.code, button]));
const title = panel.querySelector("h2");
const decide = panel.querySelector("form.decide");
const meaning = document.getElementById("meaning");
const meaningCard = document.getElementById("meaning-card");
const MEANING_PARTS = ["name", "definition", "include", "exclude"];
let isCountDue = false;
// The code that was pressed last, and the one whose meaning is shown.
let pressed = null;
let explained = null;

/** Follow the range, and what marks say. The list of further acts is open or closed as this person left it. */
export function startCodePanel() {
  const single = [...title.childNodes];
  onRangeChange((rows) => {
    if (rows.length) {
      title.replaceChildren(`Sentences ${describeRange()}`);
    } else {
      title.replaceChildren(...single);
    }
    showPressed();
  });
  onMarksChange(() => {
    showPressed();
    scheduleCount();
  });
  const more = document.getElementById("more-acts");
  const isOpen = new Stored(window.localStorage, `desk:more-acts:${site.user}`, false);
  more.open = isOpen.read();
  more.addEventListener("toggle", () => isOpen.write(more.open));
  startMeaning();
  openWhatFits();
}

/** Folded families open as far as the list still needs no scrolling. */
function openWhatFits() {
  const list = panel.querySelector(".codes");
  const fits = () => list.scrollHeight <= list.clientHeight;
  if (getComputedStyle(list).overflowY !== "auto" || !fits()) {
    return;
  }
  for (const family of list.querySelectorAll("details.code-family:not([open])")) {
    family.open = true;
    family.open = fits();
  }
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
  for (const link of sidebar.querySelectorAll("ol a")) {
    link.toggleAttribute("aria-current", link.hash === `#${exchange.id}`);
    if (link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
    }
  }
  showPressed();
}

/** Which codes the current sentence has, or all that are selected. */
function showPressed() {
  const codesByRow = selectedRows().map((row) => new Map(chipsAt(row).map(({ dataset }) => [dataset.code, dataset.level])));
  for (const code of codes) {
    const levels = codesByRow.map((codesThere) => codesThere.get(code.identifier)).filter(Boolean);
    const button = buttons.get(code.identifier);
    const isOnAll = levels.length > 0 && levels.length === codesByRow.length;
    button.setAttribute("aria-pressed", isOnAll || !levels.length ? String(isOnAll) : "mixed");
    button.classList.toggle("latent", levels[0] === "latent");
  }
}

/** A code was pressed: what it means shows, and its button comes into sight where the codes scroll by themselves. */
export function showCode(code) {
  pressed = code;
  explain(code);
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

/** Count again when no key waits: a long interview takes some milliseconds. */
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
    const done = [...answers].filter(isDecided).length;
    const meter = sidebar.querySelector(`a[href="#${exchange.id}"] ~ progress`);
    if (meter && meter.value !== done) {
      meter.value = done;
    }
    decided += done;
    total += answers.length;
  }
  // As transcripts/statistics/figures.py round_percent.
  const whole = total ? Math.min(Math.round((decided * 100) / total), decided < total ? 99 : 100) : 0;
  const percent = `${whole} %`;
  document.getElementById("decided").value = decided;
  write(document.getElementById("decided-percent"), percent);
  write(document.getElementById("decided-count"), String(decided));
}

/** The meaning follows the pointer and the focus over codes and chips; elsewhere it is that of the code that was pressed last. */
function startMeaning() {
  const find = (event) => findCode(event.target.closest?.("button.code, .chip[data-code]")?.dataset.code);
  for (const name of ["pointerover", "focusin"]) {
    document.querySelector("main").addEventListener(name, (event) => explain(find(event) ?? pressed));
  }
  meaningCard.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" && !event.target.matches("a, button")) {
      event.preventDefault();
      meaningCard.close();
    }
  });
  meaningCard.querySelector("button").addEventListener("click", () => meaningCard.close());
}

function explain(code) {
  if (code && code !== explained) {
    explained = code;
    fill(meaning, code);
    const used = buttons.get(code.identifier)?.querySelector(".number").textContent ?? "0";
    write(meaning.querySelector('[data-part="used"]'), used === "0" ? "" : `Used ${used === "1" ? "once" : `${used} times`} here.`);
  }
}

function fill(part, code) {
  for (const name of MEANING_PARTS) {
    const words = part.querySelector(`[data-part="${name}"]`);
    words.textContent = code[name] ?? "";
    const frame = words.closest(".limit, div:not(.meaning)");
    if (frame) {
      frame.hidden = !code[name];
    }
  }
}

/** The whole meaning, as a card over the page. */
export function openMeaning() {
  const code = explained ?? codes[0];
  if (!code) {
    notify("This codebook has no codes.");
    return;
  }
  fill(meaningCard, code);
  const version = document.querySelector(".blinding a");
  meaningCard.querySelector(".more").replaceChildren(
    ...(version ? [make("a", { href: `${version.href}#code-${code.id}`, text: "In the codebook, with examples" })] : []),
  );
  meaningCard.showModal();
  meaningCard.focus({ preventScroll: true });
  meaningCard.scrollTop = 0;
}
