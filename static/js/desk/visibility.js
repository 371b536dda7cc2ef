// What of the text is in sight: the current sentence, long questions, results of tools, reasoning, the signs of Markdown.

import { notify, site } from "./page.js";
import { currentRow, exchangeOf, onCurrentChange, select } from "./sentences.js";
import { Stored } from "./storage.js";

const MARGIN = 4;
const transcript = document.getElementById("transcript");
const panel = document.getElementById("panel");
// What makes the row move or grow without a key: chips, a form in it, a question that is unfolded, another size of the window.
// Who has scrolled away meanwhile is left where she is.
const rowObserver = new ResizeObserver(() => keepInSight({ onlyIfSeen: true }));
const picker = document.getElementById("picker");
let loose = null;
// Which channels are open, and whether the signs of Markdown (** and the like) are shown: kept for this person in this browser.
const openChannels = new Stored(window.localStorage, `desk:open-channels:${site.user}`, []);
const isSyntaxShown = new Stored(window.localStorage, `desk:syntax:${site.user}`, false);

export function startVisibility() {
  startQuestions();
  onCurrentChange((row, before) => {
    rowObserver.unobserve(before ?? row);
    watch(row);
  });
  rowObserver.observe(transcript);
  if (currentRow()) {
    watch(currentRow());
  }
  startChannels();
  const box = document.getElementById("show-syntax");
  box.checked = isSyntaxShown.read();
  box.addEventListener("change", () => isSyntaxShown.write(box.checked));
}

function watch(row) {
  rowObserver.observe(row);
  // After the row has the focus, for the browser scrolls to what gets it, and once more when what came into sight is laid out.
  queueMicrotask(keepInSight);
  requestAnimationFrame(() => keepInSight());
}

/** Scroll as far as the current row needs it. A question that would leave it too little room goes along with the text. */
function keepInSight({ onlyIfSeen = false } = {}) {
  const row = currentRow();
  if (!row?.checkVisibility()) {
    return;
  }
  const question = exchangeOf(row)?.querySelector(".question");
  if (loose !== question) {
    loose?.classList.remove("loose");
    loose = null;
  }
  const frame = findFrame();
  if (onlyIfSeen && isAway(row, frame)) {
    return;
  }
  // Somebody who unfolds a question reads it: it gives way at the next step only.
  const isRead = onlyIfSeen && question?.classList.contains("whole");
  if (question && !isRead && isInTheWay(question, row, frame)) {
    question.classList.add("loose");
    loose = question;
  }
  // A question moves along while its exchange ends, so that what is below it is known only after the step.
  for (let step = 0; step < 4; step += 1) {
    const by = findDistance(row, question, frame);
    if (Math.abs(by) < 1) {
      return;
    }
    frame.scroller.scrollBy(0, by);
  }
}

/** A question was folded or unfolded: it stays at the top again until it is in the way. */
function stick(question) {
  question.classList.remove("loose");
  loose = loose === question ? null : loose;
}

/** What scrolls, and between which heights of the window the text is seen. */
function findFrame() {
  const isOwn = getComputedStyle(transcript).overflowY === "auto";
  const { top, bottom } = isOwn ? transcript.getBoundingClientRect() : { top: 0, bottom: window.innerHeight };
  // At the side, as in a low window, it covers nothing.
  const isOver = getComputedStyle(panel).position === "sticky" && panel.offsetLeft < transcript.offsetLeft + transcript.offsetWidth;
  const over = [...(isOver ? [panel] : []), ...(picker.hidden ? [] : [picker])].map((part) => part.getBoundingClientRect().top);
  return { scroller: isOwn ? transcript : document.scrollingElement, top, bottom: Math.min(bottom, ...over) };
}

function isAway(row, { top, bottom }) {
  const box = row.getBoundingClientRect();
  return box.bottom < top || box.top > bottom;
}

/** Whether the row finds no room below the question, or within it. */
function isInTheWay(question, row, { top, bottom }) {
  if (question.classList.contains("loose")) {
    return true;
  }
  const words = row.closest(".words");
  if (words) {
    return row.offsetHeight > words.clientHeight;
  }
  return isStuck(question) && question.offsetHeight + row.offsetHeight + 2 * MARGIN > bottom - top;
}

const isStuck = (question) => getComputedStyle(question).position === "sticky";

/** How far to scroll: to the whole row, or to its beginning where it is taller than the room. */
function findDistance(row, question, frame) {
  const box = row.getBoundingClientRect();
  const isBelow = question && !question.contains(row) && isStuck(question);
  const top = (isBelow ? Math.max(frame.top, question.getBoundingClientRect().bottom) : frame.top) + MARGIN;
  const bottom = frame.bottom - MARGIN;
  if (box.top < top || box.height > bottom - top) {
    return box.top - top;
  }
  return box.bottom > bottom ? box.bottom - bottom : 0;
}

// Long questions keep to a few lines, so that the answer has room; where words are out of sight, a button shows more.
const questionObserver = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const question = target.closest(".question");
    question.classList.toggle("cut", question.classList.contains("whole") || target.scrollHeight > target.clientHeight + 2);
  }
});

/** Watch the questions that may be cut; the button of each is in sight only where its question is. */
function startQuestions() {
  for (const words of document.querySelectorAll(".question .words[tabindex]")) {
    questionObserver.observe(words);
  }
  transcript.addEventListener("click", (event) => {
    const button = event.target.closest("button.unfold");
    if (button) {
      const question = button.closest(".question");
      const isWhole = question.classList.toggle("whole");
      button.setAttribute("aria-expanded", String(isWhole));
      stick(question);
      button.firstChild.data = isWhole ? "less" : "more";
    }
  });
}

const foldsOf = (channel) => document.querySelectorAll(`details.folded[data-channel="${channel}"]`);

/** The choices in the sidebar, one for each channel that this page has. */
function startChannels() {
  const chosen = new Set(openChannels.read());
  for (const box of document.querySelectorAll("#channels input")) {
    box.closest("label").hidden = foldsOf(box.value).length === 0;
    box.checked = chosen.has(box.value);
    if (box.checked) {
      showChannel(box.value, true);
    }
    box.addEventListener("change", () => {
      chosen[box.checked ? "add" : "delete"](box.value);
      openChannels.write([...chosen]);
      showChannel(box.value, box.checked);
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

function showChannel(channel, isOpen) {
  const row = currentRow();
  for (const fold of foldsOf(channel)) {
    // The sentence one is at stays in sight.
    fold.open = isOpen || fold.contains(row);
  }
}

/** The reasoning before the current sentence, or the first one of its exchange: open it, or fold and unfold what is open. */
export function openReasoning() {
  const row = currentRow();
  const exchange = (row && exchangeOf(row)) ?? transcript;
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

