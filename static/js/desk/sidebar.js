// Showing some sentences only: the same rules as the server's, which made the page, so that no page has to be loaded.
// What fits is found when a filter is chosen; a sentence that is coded meanwhile stays until one chooses again.

import { announce, findCode } from "./page.js";
import { counts, memoOn } from "./marks.js";
import { allRows, currentRow, select, sentenceOf, turnOf } from "./sentences.js";

const sheet = document.getElementById("sheet");
const list = document.getElementById("filters");
const words = document.getElementById("shown");
const byCode = document.querySelector("form.by-code");
const CODE = "code:";

const isAnswer = (row) => Boolean(row.closest("[data-answer]"));
const RULES = {
  uncoded: (row) => isAnswer(row) && !counts(row),
  changed: (row) => Boolean(row.querySelector(":scope > .marks .chip.changed")),
  memo: (row) => Boolean(memoOn(row)),
};

/** Whether a code is applied to a sentence or, for its first sentence, to its turn. */
function bears(row, identifier) {
  const chip = `.chip[data-code="${CSS.escape(identifier)}"]`;
  const turn = turnOf(row);
  const isFirst = turn.querySelector(".sentence") === row;
  return Boolean(row.querySelector(`:scope > .marks ${chip}`) || (isFirst && turn.querySelector(`.marks[id^="tm"] ${chip}`)));
}

export function startFilters() {
  list.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-show]");
    // Where coders differ is for the server to say.
    if (link && link.dataset.show !== "disagreed" && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      showOnly(link.dataset.show, link.textContent);
    }
  });
  byCode.addEventListener("submit", (event) => {
    event.preventDefault();
    const { value, selectedOptions } = byCode.elements.show;
    const code = findCode(value.slice(CODE.length));
    showOnly(value, code ? code.name : selectedOptions[0].textContent);
  });
}

/** Show what fits a filter, and go to the first of it from here on; an empty value shows everything. */
export function showOnly(value, label) {
  const rule = value.startsWith(CODE) ? (row) => bears(row, value.slice(CODE.length)) : RULES[value];
  const all = value === "uncoded" ? allRows().filter(isAnswer) : allRows();
  const fitting = new Set(rule ? all.filter(rule) : []);
  hideOthers(fitting);
  for (const link of list.querySelectorAll("a[data-show]")) {
    link.toggleAttribute("aria-current", link.dataset.show === value);
    if (link.hasAttribute("aria-current")) {
      link.setAttribute("aria-current", "true");
    }
  }
  words.textContent = describe(value, label, fitting.size, all.length);
  announce(words.textContent || "All sentences are shown.");
  remember(value);
  goOn(fitting);
}

function describe(value, label, found, total) {
  if (!value) {
    return "";
  }
  return found
    ? `${label}: ${found} of ${total} sentence${total === 1 ? "" : "s"}`
    : `${label}: none of ${total} sentences, so all are shown`;
}

function hideOthers(fitting) {
  const isFiltered = fitting.size > 0;
  for (const row of allRows()) {
    const isOut = isFiltered && !fitting.has(row);
    const isQuestion = Boolean(row.closest(".question"));
    row.hidden = isOut && !isQuestion;
    row.toggleAttribute("data-context", isOut && isQuestion);
  }
  const holds = (part) => !isFiltered || [...part.querySelectorAll(".sentence")].some((row) => fitting.has(row));
  for (const turn of sheet.querySelectorAll(".answer, .folded")) {
    turn.hidden = !holds(turn);
    if (isFiltered && !turn.hidden && turn.matches("details")) {
      turn.open = true;
    }
  }
  for (const exchange of sheet.querySelectorAll(".exchange")) {
    exchange.hidden = !holds(exchange);
    document.querySelector(`#turns a[href="#${exchange.id}"]`)?.parentElement.classList.toggle("out", exchange.hidden);
  }
}

function goOn(fitting) {
  const rows = allRows();
  const from = Math.max(0, rows.indexOf(currentRow()));
  const next = [...rows.slice(from), ...rows.slice(0, from)].find((row) => fitting.has(row));
  const row = next ?? currentRow();
  if (row) {
    select(row);
    row.scrollIntoView({ block: "nearest" });
  }
}

/** A reload shows the same. */
function remember(value) {
  const search = new URLSearchParams(window.location.search);
  search.delete("why");
  if (value) {
    search.set("show", value);
  } else {
    search.delete("show");
  }
  if (currentRow()) {
    search.set("at", sentenceOf(currentRow()));
  }
  window.history.replaceState(null, "", `?${search}`);
}

/** Before one goes to a sentence that is out of sight, everything is shown again. */
export function reveal(row) {
  if (row.hidden || row.closest("[hidden]") || row.hasAttribute("data-context")) {
    showOnly("", "");
  }
}
