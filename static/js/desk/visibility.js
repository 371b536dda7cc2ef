// The current sentence in sight: below the question that stays at the top, above the panel that stays at the bottom.

import { currentRow, exchangeOf, onCurrentChange } from "./sentences.js";

const MARGIN = 4;
const sheet = document.getElementById("sheet");
const panel = document.getElementById("panel");
// What makes the row move or grow without a key: chips, a line that asks, a question that is unfolded, another size of the window.
// Who has scrolled away meanwhile is left where she is.
const observer = new ResizeObserver(() => keepInSight({ onlyIfSeen: true }));
const strip = document.getElementById("strip");
let loose = null;

export function startSight() {
  onCurrentChange((row, before) => {
    observer.unobserve(before ?? row);
    watch(row);
  });
  observer.observe(sheet);
  if (currentRow()) {
    watch(currentRow());
  }
}

function watch(row) {
  observer.observe(row);
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
export function stick(question) {
  question.classList.remove("loose");
  loose = loose === question ? null : loose;
}

/** What scrolls, and between which heights of the window the text is seen. */
function findFrame() {
  const isOwn = getComputedStyle(sheet).overflowY === "auto";
  const { top, bottom } = isOwn ? sheet.getBoundingClientRect() : { top: 0, bottom: window.innerHeight };
  // At the side, as in a low window, it covers nothing.
  const isOver = getComputedStyle(panel).position === "sticky" && panel.offsetLeft < sheet.offsetLeft + sheet.offsetWidth;
  const over = [...(isOver ? [panel] : []), ...(strip.hidden ? [] : [strip])].map((part) => part.getBoundingClientRect().top);
  return { scroller: isOwn ? sheet : document.scrollingElement, top, bottom: Math.min(bottom, ...over) };
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
