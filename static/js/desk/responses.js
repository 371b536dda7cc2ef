// The strip of challenges on an interviewer's turn, and of responses on a model's: codes of two families, by their names.

import { isClosed, toggleCode } from "./coding.js";
import { findChip } from "./marks.js";
import { codes, notify } from "./page.js";
import { currentRow } from "./sentences.js";
import { openStrip } from "./picker.js";

const FAMILIES = {
  challenges: "Challenge in this turn",
  responses: "Response in this turn",
};

/** Open the strip for the turn of the current sentence. */
export function openResponses() {
  const row = currentRow();
  if (!row || isClosed()) {
    return;
  }
  const family = findFamily(row);
  if (!family) {
    notify("Challenges are coded on an interviewer’s turn and responses on a model’s; this is neither.");
    return;
  }
  const offered = codes.filter((code) => code.family === family);
  if (!offered.length) {
    notify(`This codebook has no family “${family}”. Somebody who leads the study can add it to a draft.`);
    return;
  }
  openStrip({
    title: FAMILIES[family],
    act: "challenges",
    options: offered.map((code) => ({ name: code.name, code, isOn: Boolean(findChip(row, code)) })),
    onChoose: ({ code }) => toggleCode(code, "semantic"),
  });
}

function findFamily(row) {
  if (row.closest(".question")) {
    return "challenges";
  }
  return row.closest("[data-answer], [data-channel='reasoning']") ? "responses" : "";
}
