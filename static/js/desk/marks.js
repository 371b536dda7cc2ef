// The codes and memos of a sentence, its turn or its interview, as elements: shown at once when the person acts, and replaced by
// what the server says when it has answered.

import { hideLink, showLink, takeLinks } from "./chip_links.js";
import { pendingActs } from "./queue.js";
import { findCode, findCodeById, make, site } from "./page.js";
import { relabel, signOf } from "./labels.js";
import { PLAIN, chipData, readValues, textOf } from "./chips.js";
import { refreshPrompting, showPrompting, spreadPrompting } from "./prompts.js";
import { allRows, findRow, numberOf, takeButtonsOut, turnOf } from "./sentences.js";

const findMarks = (row) => row.querySelector(":scope > .marks");
const ofInterview = document.querySelector(".marks[id^='im']");

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

export const chipsOn = (place) => [...(place?.querySelectorAll(".chip[data-coding]") ?? [])];

/** The person's own chips that hold at a sentence: its own, then its turn's and its interview's. */
export const chipsAt = (row) =>
  [findMarks(row), turnOf(row).querySelector(".marks[id^='tm']"), ofInterview].flatMap(chipsOn);

/** The person's own chip of a code at a sentence, or null. */
export const findChip = (row, code) =>
  chipsOn(findPlace(row, code)).find((chip) => chip.dataset.code === code.identifier) ?? null;
export const valuesAt = (row, code) => readValues(findChip(row, code), row);
export const decisionOn = (row) => findMarks(row)?.dataset.decision ?? "";

/** The decision that goes with an act: "none applies" ends with the first code applied, any other with the last code removed. */
export function decisionEndedBy(code, row, { isPut }) {
  const put = row.querySelectorAll(":scope > .marks .chip[data-coding]").length;
  return code.unit === "sentence" && put === (isPut ? 0 : 1) ? decisionOn(row) : "";
}
const memoElement = (row) => row.querySelector(":scope > .marks > .memo[data-own]");
export const memoOn = (row) => memoElement(row)?.querySelector(".words").textContent ?? "";
export const memoKindOn = (row) => memoElement(row)?.dataset.kind ?? "reading";
export const isCoded = (row) => Boolean(row.querySelector(":scope > .marks .chip[data-coding]"));
/** Whether a sentence counts as decided: by Enter, or with a code of its own. The server has the same rule. */
export const counts = (row) => Boolean(decisionOn(row) || isCoded(row));

/** Whether the person has seen others' labels at the place of a code, so that a change needs a reason. */
export const hasSeenOthers = (row, code) =>
  site.opened !== undefined || (code ? findPlace(row, code) : findMarks(row))?.dataset.seen !== undefined;

/** Show an act before the server has answered. Showing one twice changes nothing. */
export function showAct(act) {
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
    memo = make("p", { class: "memo", "data-own": "" }, make("span", { class: "vh", text: "Memo: " }), make("bdi", { class: "words" }));
    marks.append(memo);
  }
  memo.dataset.kind = act.fields.kind ?? "reading";
  memo.querySelector(".words").textContent = text;
}

/** Put the server's fragment in place, and on it what the person has done meanwhile. */
export function replaceMarks(html, sentence) {
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
      relabel(place);
      chipsOn(place).forEach(showPrompting);
      chipsOn(place).forEach(showChanged);
    }
  }
  for (const act of pendingActs()) {
    if (act.sentence === sentence) {
      showAct(act);
    }
  }
  const row = findRow(sentence);
  if (row) {
    tidy(marksOf(row), row);
  }
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
  row.classList.toggle("decided", counts(row));
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
    counts(row) ? decided : "",
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

function makeChip(row, act, code) {
  const values = { ...PLAIN, ...act.hint, note: act.fields.note ?? "", attributes: readAnswers(act.fields) };
  const isLatent = values.level === "latent";
  const chip = make("li", {
    class: `chip family-${code.family}${isLatent ? " latent" : ""}${code.color ? " tinted" : ""} own open pending`,
    "data-coding": act.id,
    "data-code": code.identifier,
    ...chipData(values, row),
  });
  const sign = signOf(code, isLatent);
  const link = make("a", { class: "open-details", href: `${site.codings}${act.id}/`, tabindex: "-1" });
  link.append(make("b", { text: sign, "data-cap": code.key }), make("bdi", { text: code.name }), make("span", { class: "vh", text: " details" }));
  chip.append(...(code.color ? ["dot", "stripe"].map((kind) => makeTint(kind, code.color)) : []), link);
  const { status = "", ...answered } = values.attributes;
  if (status) {
    chip.append(" ", make("i", { class: "status" }, make("bdi", { text: status })));
  }
  for (const word of [isLatent ? "latent" : "", values.enactment || (code.enactment ? "enactment not stated" : ""), values.grounding, values.range ? "range" : ""]) {
    if (word) {
      chip.append(" ", make("i", { text: word }));
    }
  }
  const remove = make("button", { class: "remove", name: "coding", value: act.id, tabindex: "-1", "aria-label": `Remove ${code.name}`, text: "×" });
  const quoted = values.quote ? textOf(row).slice(...values.quote) : "";
  const answers = Object.values(answered).join(" · ");
  chip.append(...makeWords("q", "quote", quoted), remove);
  chip.append(...makeWords("q", "reading", values.note), ...makeWords("span", "answers", answers));
  return chip;
}

/** The colour of a code, as the server writes it. */
function makeTint(kind, color) {
  const namespace = "http://www.w3.org/2000/svg";
  const shape = document.createElementNS(namespace, "svg");
  const path = document.createElementNS(namespace, "path");
  for (const [name, value] of [["class", kind], ["viewBox", "0 0 1 1"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) {
    shape.setAttribute(name, value);
  }
  path.setAttribute("d", "M0 0h1v1H0z");
  path.setAttribute("fill", color);
  shape.append(path);
  return shape;
}

const makeWords = (name, kind, text) => (text ? [make(name, { class: kind }, make("bdi", { text }))] : []);

const readAnswers = (fields) =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name.startsWith("attribute:"))
      .map(([name, answer]) => [name.slice("attribute:".length), answer]),
  );

export const codeOfChip = (chip) => findCode(chip.dataset.code);
