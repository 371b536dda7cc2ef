// The key of the score strip: what there is to score in this thread is said by the module that offers it here.

import { notify } from "./page.js";

let opener = null;

/** Offer scores: `open()` is called by the key of the score strip, and usually opens a strip (strip.js). */
export function offerScores(open) {
  opener = open;
}

/** The key of the score strip was pressed. */
export function openScores() {
  if (opener) {
    opener();
  } else {
    notify("There is nothing to score here.");
  }
}
