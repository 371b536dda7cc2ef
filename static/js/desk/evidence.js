// The evidence key: what the current sentence, or the words marked in it, is evidence for.
//
// Whatever asks for evidence holds the key while it does:
//
//   const release = holdEvidence({ name: "the score", take: (place) => … });
//
// `place` is { sentence, quote, number }: the id of the sentence, [from, to] in UTF-16 units of its text or null, and its number
// as the desk shows it. The one that held it last gets the evidence; `release()` gives the key back.

import { notify } from "./page.js";
import { dropQuote, markedIn } from "./quote.js";
import { currentRow, numberOf, sentenceOf } from "./rows.js";

const holders = [];

/** Take what the evidence key points at, until the function that this gives is called. */
export function holdEvidence(holder) {
  holders.push(holder);
  return () => {
    const at = holders.indexOf(holder);
    if (at >= 0) {
      holders.splice(at, 1);
    }
  };
}

/** The evidence key was pressed. */
export function giveEvidence() {
  const row = currentRow();
  if (!row) {
    return;
  }
  const holder = holders.at(-1);
  if (!holder) {
    notify("Nothing here asks for evidence yet.");
    return;
  }
  const place = { sentence: sentenceOf(row), quote: markedIn(row), number: numberOf(row) };
  dropQuote();
  holder.take(place);
}
