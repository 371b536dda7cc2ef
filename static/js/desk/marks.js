// The codes and memos of a sentence, its turn or its interview, as elements: shown at once when the person acts, and replaced by
// what the server says when it has answered.

import { hideLink, makeChip, readValues, refreshPrompting, showLink, showPrompting, spreadPrompting, takeLinks } from "./chips.js";
import { findCode, findCodeById, make, showKeys, site } from "./page.js";
import { allRows, findRow, numberOf, takeButtonsOut, turnOf } from "./sentences.js";

const findMarks = (row) => row.querySelector(":scope > .marks");
const listeners = [];
const ofInterview = document.querySelector(".marks[id^='im']");

/** Call back when marks changed. */
export const onMarksChange = (listener) => listeners.push(listener);
const tellListeners = () => listeners.forEach((listener) => listener());

/** Where a code shows: at the sentence's row, at its turn, or at the head of the interview. */
function findPlace(row, code) {
  if (code.unit === "interview") {
    return ofInterview;
  }
  return code.unit === "turn" ? turnOf(row).querySelector(".marks[id^='tm']") : findMarks(row);
}

/** The marks of a row; created if there are none yet. */
function marksOf(row) {
  const found = findMarks(row);
  if (found) {
    return found;
  }
  const marks = make("div", { class: "marks", id: `m${row.id.slice(1)}` });
  row.querySelector(":scope > .text").after(marks);
  return marks;
}

const chipsOn = (place) => [...(place?.querySelectorAll(".chip[data-coding]") ?? [])];

/** The person's own chips that hold at a sentence: its own, then its turn's and its interview's. */
export const chipsAt = (row) =>
  [findMarks(row), turnOf(row).querySelector(".marks[id^='tm']"), ofInterview].flatMap(chipsOn);

/** The person's own chip of a code at a sentence, or null. */
export const findChip = (row, code) =>
  chipsOn(findPlace(row, code)).find((chip) => chip.dataset.code === code.identifier) ?? null;
export const valuesAt = (row, code) => readValues(findChip(row, code), row);
export const decisionOn = (row) => findMarks(row)?.dataset.decision ?? "";

/** The decision that goes with an act: "none applies" ends with the first code applied, any other with the last code removed. */
export function decisionEndedBy(code, row, { isApplied }) {
  const applied = row.querySelectorAll(":scope > .marks .chip[data-coding]").length;
  return code.unit === "sentence" && applied === (isApplied ? 0 : 1) ? decisionOn(row) : "";
}
const memoElement = (row) => row.querySelector(":scope > .marks > .memo[data-own]");
export const memoOn = (row) => memoElement(row)?.querySelector(".words").textContent ?? "";
export const memoKindOn = (row) => memoElement(row)?.dataset.kind ?? "reading";
export const isCoded = (row) => Boolean(row.querySelector(":scope > .marks .chip[data-coding]"));
/** Whether a sentence counts as decided: by Enter, or with a code of its own. The server has the same rule. */
export const isDecided = (row) => Boolean(decisionOn(row) || isCoded(row));

/** The sentences of the model that are still open. */
export const listUndecided = () => allRows().filter((row) => row.closest("[data-answer]") && !isDecided(row));

/** Whether the person has seen others' labels at the place of a code, so that a change needs a reason. */
export const hasSeenOthers = (row, code) =>
  site.opened !== undefined || (code ? findPlace(row, code) : findMarks(row))?.dataset.seen !== undefined;

/** Show acts before the server has answered. Showing one twice changes nothing. */
export function showActs(acts) {
  acts.forEach(showAct);
  tellListeners();
}

function showAct(act) {
  const row = act.sentence ? findRow(act.sentence) : null;
  if (!row) {
    return;
  }
  const show = { add: showCoding, withdraw: hideCoding, decide: showDecision, reopen: hideDecision, memo: showMemo, link: changeLink, unlink: changeLink };
  show[act.kind]?.(row, act);
  tidy(marksOf(row), row);
}

function showCoding(row, act) {
  const code = findCodeById(act.hint.code);
  if (!code) {
    return;
  }
  const place = findPlace(row, code) ?? marksOf(row);
  const before = chipsOn(place).find((chip) => chip.dataset.code === code.identifier);
  before?.remove();
  const none = place.querySelector(".chip.none:not(:has(.by))");
  if (none) {
    none.remove();
    delete place.dataset.decision;
  }
  const chip = makeChip(row, act, code);
  if (before) {
    takeLinks(chip, before);
  }
  chipList(place).append(chip);
  showPrompting(chip);
  spreadPrompting(chip);
}

function changeLink(row, act) {
  const chip = chipsAt(row).find(({ dataset }) => dataset.coding === act.fields.coding);
  if (chip) {
    (act.kind === "link" ? showLink : hideLink)(chip, act.fields);
  }
}

function hideCoding(row, act) {
  const chip = chipsAt(row).find(({ dataset }) => dataset.coding === act.fields.coding);
  const place = chip?.closest(".marks");
  const isOnQuestion = chip?.closest(".question");
  chip?.remove();
  if (isOnQuestion) {
    refreshPrompting(chip.dataset.code);
  }
  const isLast = place && !chipsOn(place).length && !place.querySelector(".chip.none");
  if (isLast && place.id.startsWith("m")) {
    delete place.dataset.decision;
  }
  if (isLast) {
    place.querySelector(":scope > .chips")?.remove();
  }
}

function showDecision(row, act) {
  const marks = marksOf(row);
  if (marks.dataset.decision) {
    return;
  }
  marks.dataset.decision = act.id;
  if (!chipsOn(marks).length) {
    chipList(marks).append(make("li", { class: "chip none pending" }, make("b", { text: "–" }), "none applies"));
  }
}

function hideDecision(row) {
  const marks = marksOf(row);
  delete marks.dataset.decision;
  marks.querySelector(".chip.none:not(:has(.by))")?.remove();
}

function showMemo(row, act) {
  const marks = marksOf(row);
  const text = act.fields.text.trim();
  let memo = marks.querySelector(".memo[data-own]");
  if (!text) {
    memo?.remove();
    return;
  }
  if (!memo) {
    memo = make("p", { class: "memo", "data-own": "" }, make("span", { class: "visually-hidden", text: "Memo: " }), make("bdi", { class: "words" }));
    marks.append(memo);
  }
  memo.dataset.kind = act.fields.kind ?? "reading";
  memo.querySelector(".words").textContent = text;
}

/** Put the server's fragment in place, and on it `acts`, which the person has done meanwhile. */
export function replaceMarks(html, sentence, acts) {
  const fragment = new DOMParser().parseFromString(html, "text/html");
  for (const fresh of [...fragment.body.querySelectorAll(".marks")]) {
    const old = document.getElementById(fresh.id);
    const adopted = document.adoptNode(fresh);
    if (old) {
      old.replaceChildren(...adopted.childNodes);
      takeOver(adopted, old);
    } else {
      findRow(fresh.id.slice(1))?.querySelector(":scope > .text").after(adopted);
    }
    const place = document.getElementById(fresh.id);
    if (place) {
      window.htmx?.process(place);
      takeButtonsOut(place);
      showKeys(place);
      chipsOn(place).forEach(showPrompting);
      chipsOn(place).forEach(showChanged);
    }
  }
  acts.forEach(showAct);
  const row = findRow(sentence);
  if (row) {
    tidy(marksOf(row), row);
  }
  tellListeners();
}

/** What the server says about a place besides its labels. */
function takeOver(fresh, place) {
  for (const name of ["data-decision", "data-seen"]) {
    const value = fresh.getAttribute(name);
    if (value === null) {
      place.removeAttribute(name);
    } else {
      place.setAttribute(name, value);
    }
  }
}

/** Mark a chip whose code has changed its meaning since it was applied, or no longer exists. */
function showChanged(chip) {
  const code = findCode(chip.dataset.code);
  chip.classList.toggle("changed", !code || Number(chip.dataset.version) < code.meaning);
}

function tidy(marks, row) {
  const list = marks.querySelector(":scope > .chips");
  if (list && !list.children.length) {
    list.remove();
  }
  row.classList.toggle("decided", isDecided(row));
  if (!marks.dataset.decision && marks.dataset.seen === undefined) {
    marks.querySelector(".open-suggestions")?.remove();
  }
  if (row.hasAttribute("aria-label")) {
    describeRow(row);
  }
}

/** Who says it, in words: without the address, the time and the tokens. */
function readSpeaker(row) {
  const parts = [...turnOf(row).querySelector(".speaker").childNodes];
  const isName = (part) => part.nodeType === Node.TEXT_NODE || part.matches("bdi, .tag");
  return parts.filter(isName).map((part) => part.textContent).join("").replace(/\s+/g, " ").trim();
}

/** What a sentence says, without the signs of Markdown. */
function readText(row) {
  const text = row.querySelector(".text");
  if (!text.querySelector(".syntax")) {
    return text.textContent;
  }
  const plain = text.cloneNode(true);
  plain.querySelectorAll(".syntax").forEach((sign) => sign.remove());
  return plain.textContent;
}

/** Name a row for screen readers: who speaks, which sentence of how many, its text, and its labels. */
export function describeRow(row) {
  const marks = findMarks(row);
  const codes = chipsOn(marks).map((chip) => {
    const words = [...chip.querySelectorAll(":scope > .open-details > bdi, :scope > bdi, :scope > i")].map((part) => part.textContent);
    const quote = chip.querySelector(":scope > .quote")?.textContent;
    const links = chip.querySelector(":scope > .links")?.textContent ?? "";
    return [...words, quote ? `quoting “${quote}”` : "", links].filter(Boolean).join(" ");
  });
  const decided = marks?.querySelector(".chip.none") ? "None applies." : "Decided.";
  const memo = memoOn(row);
  const parts = [
    row.classList.contains("in-range") ? "Selected." : "",
    `${readSpeaker(row)}, ${numberOf(row)} of ${allRows().length}.`,
    readText(row),
    codes.length ? `Codes: ${codes.join(", ")}.` : "",
    isDecided(row) ? decided : "",
    memo ? `Memo: ${memo}` : "",
  ];
  row.setAttribute("aria-label", parts.filter(Boolean).join(" "));
}

function chipList(place) {
  let list = place.querySelector(":scope > .chips");
  if (!list) {
    list = make("ul", { class: "chips", "aria-label": "Codes" });
    place.prepend(list);
  }
  return list;
}

