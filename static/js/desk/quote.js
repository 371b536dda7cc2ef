// Words marked inside the current sentence, for the next code: by keyboard with a cursor that goes from word to word, or
// by selecting them with the pointer.

import { announce, make, notify } from "./page.js";
import { currentRow, onCurrentChange, select } from "./sentences.js";
import { clearUnderline, findEdges, findWords, textOf, trim, underline } from "./text.js";

const transcript = document.getElementById("transcript");
// {row, from, to, edge, isOpen, isDrawn}: `edge` is the end that Shift moves; `isOpen` while keys move the cursor.
let marked = null;

/** What is marked in a row, as [from, to], or null. */
export const markedIn = (row) => (marked?.row === row ? [marked.from, marked.to] : null);

const isMarking = () => Boolean(marked?.isOpen);

export function startQuotes() {
  onCurrentChange((row) => {
    if (marked && marked.row !== row) {
      dropQuote();
    }
  });
  transcript.addEventListener("pointerdown", (event) => {
    if (marked && !marked.isDrawn && !event.target.closest(".quote-line")) {
      dropQuote();
    }
  });
  document.addEventListener("pointerup", (event) => {
    if (!event.shiftKey) {
      setTimeout(takeSelection);
    }
  });
}

/** Begin to mark words with the first one; or, when that is going on, end it. */
export function toggleMarking() {
  if (isMarking()) {
    dropQuote();
    return;
  }
  const row = currentRow();
  const [word] = row ? findWords(textOf(row)) : [];
  if (!word) {
    notify("There is no word in this sentence to quote.");
    return;
  }
  const [from, to] = markedIn(row) ?? word;
  marked = { row, from, to, edge: "to", isOpen: true, isDrawn: true };
  window.getSelection()?.removeAllRanges();
  show();
}

/** Keep what is marked for the next code. */
function keepQuote() {
  marked.isOpen = false;
  show();
  announce(`Quoted: ${wordsMarked()}. The next code takes it as its quote.`);
}

/** Forget what is marked. */
export function dropQuote() {
  if (marked) {
    if (!marked.isDrawn) {
      window.getSelection()?.removeAllRanges();
    }
    clearUnderline(marked.row);
    marked.row.querySelector(".quote-line")?.remove();
    marked = null;
  }
}

/** What a key does while words are being marked, or nothing. */
export function findQuoteAct(event) {
  if (!isMarking() || event.metaKey) {
    return null;
  }
  const steps = { ArrowRight: 1, ArrowLeft: -1 };
  if (event.key in steps) {
    const isForward = (steps[event.key] > 0) === !isRightToLeft();
    return () => step(isForward, { extends: event.shiftKey, byCharacter: event.ctrlKey || event.altKey });
  }
  if (event.ctrlKey || event.altKey) {
    return null;
  }
  if (event.key === "Home" || event.key === "End") {
    return () => jump(event.key === "End", event.shiftKey);
  }
  if (event.key === "Enter" && !event.target.closest("button")) {
    return keepQuote;
  }
  return event.key === "Escape" ? () => dropQuote() : null;
}

const isRightToLeft = () => getComputedStyle(marked.row.querySelector(".text")).direction === "rtl";

/** One word or character on; `extends` keeps the other end where it is. */
function step(isForward, { extends: isExtending, byCharacter }) {
  const text = textOf(marked.row);
  const parts = byCharacter ? pairUp(findEdges(text)) : findWords(text);
  if (isExtending) {
    extend(parts, isForward);
  } else {
    const next = isForward
      ? parts.find(([from]) => from >= marked.to)
      : parts.findLast(([, to]) => to <= marked.from);
    if (next) {
      Object.assign(marked, { from: next[0], to: next[1], edge: "to" });
    }
  }
  show();
  announce(wordsMarked());
}

const pairUp = (edges) => edges.slice(1).map((edge, place) => [edges[place], edge]);

function extend(parts, isForward) {
  if (marked.edge === "to") {
    const to = isForward
      ? parts.find((part) => part[1] > marked.to)?.[1]
      : parts.findLast((part) => part[1] < marked.to && part[1] > marked.from)?.[1];
    if (to !== undefined) {
      marked.to = to;
    } else if (!isForward) {
      marked.edge = "from";
      extend(parts, isForward);
    }
    return;
  }
  const from = isForward
    ? parts.find((part) => part[0] > marked.from && part[0] < marked.to)?.[0]
    : parts.findLast((part) => part[0] < marked.from)?.[0];
  if (from !== undefined) {
    marked.from = from;
  } else if (isForward) {
    marked.edge = "to";
    extend(parts, isForward);
  }
}

/** To the first or last word; with `isExtending` as far as there. */
function jump(isEnd, isExtending) {
  const words = findWords(textOf(marked.row));
  const [from, to] = isEnd ? words.at(-1) : words[0];
  if (!isExtending) {
    Object.assign(marked, { from, to, edge: "to" });
  } else if (isEnd) {
    Object.assign(marked, { to, edge: "to" });
  } else {
    Object.assign(marked, { from, edge: "from" });
  }
  show();
  announce(wordsMarked());
}

const wordsMarked = () => textOf(marked.row).slice(marked.from, marked.to);

function show() {
  const { row, from, to, isDrawn, isOpen } = marked;
  if (isDrawn) {
    underline(row, [from, to]).scrollIntoView({ block: "nearest" });
  }
  let line = row.querySelector(".quote-line");
  if (!line) {
    line = document.getElementById("quote-template").content.firstElementChild.cloneNode(true);
    line.addEventListener("click", press);
    row.append(line);
    line.scrollIntoView({ block: "nearest" });
  }
  line.classList.toggle("open", isOpen);
  line.querySelector(".quoted-words").replaceChildren(make("bdi", { text: wordsMarked() }));
}

/** The same by pointer, one press at a time. */
function press(event) {
  const act = event.target.closest("button")?.value;
  if (!act) {
    return;
  }
  if (!marked.isDrawn || !marked.isOpen) {
    Object.assign(marked, { isOpen: true, isDrawn: true });
    window.getSelection()?.removeAllRanges();
  }
  const acts = {
    before: () => step(false, { extends: false }),
    after: () => step(true, { extends: false }),
    longer: () => step(true, { extends: true }),
    shorter: () => step(false, { extends: true }),
    keep: keepQuote,
    leave: dropQuote,
  };
  acts[act]();
  if (act === "keep" || act === "leave") {
    currentRow()?.focus({ preventScroll: true });
  }
}

/** What was selected with the pointer inside one sentence. The selection stays, so that it can be copied. */
function takeSelection() {
  const selection = window.getSelection();
  if (!selection || selection.isCollapsed || isMarking()) {
    return;
  }
  const range = selection.getRangeAt(0);
  const place = elementOf(range.startContainer).closest(".sentence > .text");
  if (!place || !transcript.contains(place)) {
    return;
  }
  if (!place.contains(range.endContainer) && range.endOffset > 0) {
    notify("A quote must lie within one sentence. Shift and arrow down select several sentences.");
    return;
  }
  const row = place.closest(".sentence");
  const before = document.createRange();
  before.selectNodeContents(place);
  before.setEnd(range.startContainer, range.startOffset);
  const from = before.toString().length;
  const text = textOf(row);
  const span = trim(text, [from, place.contains(range.endContainer) ? from + range.toString().length : text.length]);
  if (span) {
    select(row);
    marked = { row, from: span[0], to: span[1], edge: "to", isOpen: false, isDrawn: false };
    show();
    announce(`Marked: ${wordsMarked()}. The next code takes it as its quote.`);
  }
}

const elementOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node : node.parentElement);
