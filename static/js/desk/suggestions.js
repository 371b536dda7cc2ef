// The machine half's panel: opened on request, after one's own decision. Its HTML comes from the server through htmx;
// what it may hold of keys is buttons with data-key.

import { announce } from "./page.js";
import { onActSaved } from "./acts.js";
import { refreshMarks } from "./refresh.js";
import { currentRow, findRow, onCurrentChange, sentenceOf } from "./rows.js";

const region = document.getElementById("suggestions");
let awaited = null;
let shown = null;

export function startSuggestions() {
  if (!region) {
    return;
  }
  const body = document.getElementById("suggestions-body");
  const closed = [...body.childNodes].map((node) => node.cloneNode(true));
  onActSaved((act) => {
    if (act.kind === "decide" && act.sentence === awaited) {
      awaited = null;
      openSuggestions();
    }
  });
  onCurrentChange((row) => {
    if (shown && shown !== sentenceOf(row)) {
      shown = null;
      body.replaceChildren(...closed.map((node) => node.cloneNode(true)));
    }
  });
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.target === body && detail.shouldSwap && !detail.isError) {
      // From the moment they are seen a change asks for its reason.
      const row = findRow(detail.requestConfig.elt.dataset.sentence ?? "");
      row?.querySelector(":scope > .marks")?.setAttribute("data-seen", "");
    }
  });
  document.body.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.elt.matches(".open-suggestions")) {
      shown = detail.elt.dataset.sentence;
      region.scrollIntoView({ block: "nearest" });
      if (detail.successful) {
        refreshMarks(shown);
      }
    }
  });
  document.body.addEventListener("sentence-changed", ({ detail }) => refreshMarks(String(detail.sentence)));
}

/** Open the suggestions for the current sentence. */
export function openSuggestions() {
  const button = currentRow()?.querySelector(".open-suggestions");
  if (button) {
    button.click();
  } else if (region) {
    announce("Decide about this sentence first: Enter.");
  }
}

/** Open them as soon as the server has the decision that was just made. */
export function awaitSuggestions() {
  if (currentRow()?.querySelector(".open-suggestions")) {
    openSuggestions();
  } else {
    awaited = sentenceOf(currentRow());
  }
}

/** Press the panel's button for a key, if it shows one; whether it did. */
export function pressInSuggestions(key) {
  const button = region?.querySelector(`button[data-key="${key}"]:not([disabled])`);
  button?.click();
  return Boolean(button);
}
