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
import { currentRow, numberOf, sentenceOf, turnOf } from "./sentences.js";
import { openStrip } from "./picker.js";

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

/** The evidence key was pressed. At a call one is asked whether the call is meant or what the tool gave back. */
export function giveEvidence() {
  const places = findPlaces();
  const holder = holders.at(-1);
  if (!places.length) {
    return;
  }
  if (!holder) {
    notify("Nothing here asks for evidence yet.");
  } else if (places.length === 1) {
    dropQuote();
    holder.take(places[0]);
  } else {
    dropQuote();
    openStrip({
      title: "Evidence is",
      act: "evidence",
      options: places.map((place, at) => ({ name: `${at ? "its result" : "the call"}, ${place.number}`, place })),
      onChoose: ({ place }) => holder.take(place),
    });
  }
}

/** The current sentence, with what the tool gave back where it is a call; or what has the focus and is no sentence of its own
 *  here: a result, or a sentence of the beginning that threads share. */
function findPlaces() {
  const focused = document.activeElement?.closest("[data-evidence]");
  if (focused) {
    return [readOther(focused)];
  }
  const row = currentRow();
  if (!row) {
    return [];
  }
  const quote = markedIn(row);
  const place = { sentence: sentenceOf(row), quote, number: numberOf(row) };
  return quote ? [place] : [place, ...[...turnOf(row).querySelectorAll(".result [data-evidence]")].map(readOther)];
}

const readOther = ({ dataset }) => ({ sentence: dataset.evidence, quote: null, number: dataset.number });
