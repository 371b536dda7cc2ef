// What is said where an interview ends: what is left of it, and which keys go on.

import { capOf } from "./key_layout.js";
import { keymap, notify, site } from "./page.js";
import { listUndecided } from "./code_panel.js";
import { currentRow } from "./sentences.js";

/** After the last sentence of the model. */
export function tellEnd() {
  if (site.closed) {
    notify("The end of the interview.");
    return;
  }
  // Without the sentence that was just decided: its act is not counted yet where it was refused.
  const left = listUndecided().filter((row) => row !== currentRow()).length;
  const ways = [
    wayOf("next_reason", left ? `to go to ${left === 1 ? "it" : "the first of them"}` : "for the next sentence that needs you"),
    document.querySelector(".steps a[rel='next']") && wayOf("next_interview", "for the next interview"),
  ].filter(Boolean);
  const signing = document.getElementById("sign-off") ? " Below you can sign it off." : "";
  const end = left
    ? `This was the last sentence. ${left} before it ${left === 1 ? "is" : "are"} not decided.`
    : `The end: every sentence of this interview is decided.${signing}`;
  notify(ways.length ? `${end} Press ${ways.join(", or ")}.` : end);
}

const wayOf = (act, words) => (keymap.acts[act] ? `${capOf(keymap.acts[act])} ${words}` : "");
