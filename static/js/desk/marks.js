// What stands at a sentence or turn, as elements: shown at once when the person acts, and replaced by what the server
// says when it has answered.

import { pendingActs } from "./queue.js";
import { findCode, findCodeById, make } from "./page.js";
import { capOf } from "./caps.js";
import { allRows, findRow, numberOf, takeButtonsOut, turnOf } from "./rows.js";

const findMarks = (row) => row.querySelector(":scope > .marks");

/** Where a code shows: at the sentence's row, or at its turn. */
const findPlace = (row, code) => (code.ofTurn ? turnOf(row).querySelector(".marks[id^='tm']") : findMarks(row));

/** The marks of a row; made when nothing stood there yet. */
function marksOf(row) {
  const found = findMarks(row);
  if (found) {
    return found;
  }
  const marks = make("div", { class: "marks", id: `m${row.id.slice(1)}` });
  row.append(marks);
  return marks;
}

const chipsOn = (place) => [...(place?.querySelectorAll(".chip[data-coding]") ?? [])];

/** The person's own chip of a code at a sentence (at its turn, for a code of turns), or null. */
export const findChip = (row, code) =>
  chipsOn(findPlace(row, code)).find((chip) => chip.dataset.code === code.identifier) ?? null;
export const decisionOn = (row) => row.querySelector(":scope > .marks")?.dataset.decision ?? "";
export const memoOn = (row) => row.querySelector(":scope > .marks > .memo[data-own] > .words")?.textContent ?? "";
export const counts = (row) => Boolean(decisionOn(row) || row.querySelector(":scope > .marks .chip[data-coding]"));

/** Show an act before the server has answered. Showing one twice changes nothing. */
export function showAct(act) {
  const row = act.sentence ? findRow(act.sentence) : null;
  if (!row) {
    return;
  }
  const show = { add: showCoding, withdraw: hideCoding, decide: showDecision, reopen: hideDecision, memo: showMemo };
  show[act.kind](row, act);
  tidy(marksOf(row), row);
}

function showCoding(row, act) {
  const code = findCodeById(act.fields.code ?? act.hint.code);
  if (!code) {
    return;
  }
  const place = findPlace(row, code) ?? marksOf(row);
  for (const chip of chipsOn(place)) {
    if (chip.dataset.code === code.identifier) {
      chip.remove();
    }
  }
  const none = place.querySelector(".chip.none:not(:has(.by))");
  if (none) {
    none.remove();
    delete place.dataset.decision;
  }
  chipList(place).append(makeChip(act, code));
}

function hideCoding(row, act) {
  const chip = document.querySelector(`.chip[data-coding="${act.fields.coding}"]`);
  const place = chip?.closest(".marks");
  chip?.remove();
  const isLast = place && !chipsOn(place).length && !place.querySelector(".chip.none");
  if (isLast && place.id.startsWith("m")) {
    delete place.dataset.decision;
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
  memo.querySelector(".words").textContent = text;
}

/** Put the server's fragment in place, and on it what the person has done meanwhile. */
export function replaceMarks(html, sentence) {
  const fragment = new DOMParser().parseFromString(html, "text/html");
  for (const fresh of [...fragment.body.querySelectorAll(".marks")]) {
    const old = document.getElementById(fresh.id);
    const adopted = document.adoptNode(fresh);
    if (old) {
      old.replaceWith(adopted);
    } else {
      findRow(fresh.id.slice(1))?.append(adopted);
    }
    window.htmx?.process(adopted);
    takeButtonsOut(adopted.parentElement);
    relabel(adopted);
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

function tidy(marks, row) {
  const list = marks.querySelector(":scope > .chips");
  if (list && !list.children.length) {
    list.remove();
  }
  row.classList.toggle("decided", Boolean(marks.dataset.decision));
  if (!marks.dataset.decision) {
    marks.querySelector(".open-suggestions")?.remove();
  }
  if (row.hasAttribute("aria-label")) {
    describeRow(row);
  }
}

/** Name a row for screen readers: who speaks, which sentence of how many, its text, and what stands on it. */
export function describeRow(row) {
  const marks = findMarks(row);
  const codes = chipsOn(marks).map((chip) => {
    const words = [...chip.querySelectorAll(":scope > bdi, :scope > i")].map((part) => part.textContent);
    return words.join(" ");
  });
  const decided = marks?.querySelector(".chip.none") ? "None applies." : "Decided.";
  const memo = memoOn(row);
  const parts = [
    `${turnOf(row).querySelector(".speaker").textContent.trim()}, ${numberOf(row)} of ${allRows().length}.`,
    row.querySelector(".text").textContent,
    codes.length ? `Codes: ${codes.join(", ")}.` : "",
    decisionOn(row) ? decided : "",
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

function makeChip(act, code) {
  const { level, enactment } = act.fields.code ? act.fields : act.hint;
  const chip = make("li", {
    class: `chip family-${code.family}${level === "latent" ? " latent" : ""} pending`,
    "data-coding": act.id,
    "data-code": code.identifier,
    "data-level": level,
    "data-enactment": enactment,
  });
  const sign = code.key ? capOf(code.key, level === "latent") : code.familyName.slice(0, 1).toUpperCase();
  chip.append(make("b", { text: sign, "data-cap": code.key }), make("bdi", { text: code.name }));
  for (const word of [level === "latent" ? "latent" : "", enactment]) {
    if (word) {
      chip.append(" ", make("i", { text: word }));
    }
  }
  const remove = make("button", { class: "remove", form: "withdraw", name: "coding", value: act.id, tabindex: "-1" });
  remove.append(make("span", { "aria-hidden": "true", text: "×" }), make("span", { class: "vh", text: `Take off ${code.name}` }));
  chip.append(remove);
  if (act.fields.note) {
    chip.append(make("q", { class: "reading" }, make("bdi", { text: act.fields.note })));
  }
  return chip;
}

/** Letters as this person's keyboard prints them. */
export function relabel(part) {
  for (const cap of part.querySelectorAll("[data-cap]")) {
    if (cap.dataset.cap) {
      cap.textContent = capOf(cap.dataset.cap, Boolean(cap.closest(".chip.latent")));
    }
  }
}

/** The code of a chip, and the line that tells how a latent one was read. */
export const codeOfChip = (chip) => findCode(chip.dataset.code);
export const readingOf = (chip) => chip.querySelector(".reading")?.textContent ?? "";
