// How a code is put: {level, enactment, note, grounding, prompting, attributes, range, quote}. `quote` is [from, to] in
// UTF-16 units of the sentence, or null.

import { pointsAt, unitsAt } from "./words.js";

export const PLAIN = {
  level: "semantic", enactment: "", note: "", grounding: "", prompting: "", attributes: {}, range: "", quote: null,
};

export const textOf = (row) => row.querySelector(".text").textContent;

/** How the code of a chip was put; plainly, where there is no chip. */
export function readManner(chip, row) {
  if (!chip) {
    return PLAIN;
  }
  const { level, enactment = "", grounding = "", prompting = "", range = "", attributes = "" } = chip.dataset;
  return {
    ...{ level, enactment, grounding, prompting, range },
    note: chip.querySelector(":scope > .reading")?.textContent ?? "",
    attributes: attributes ? JSON.parse(attributes) : {},
    quote: quoteOn(chip, row),
  };
}

function quoteOn(chip, row) {
  const words = chip.querySelector(":scope > .quote")?.textContent;
  if (!words) {
    return null;
  }
  const from = unitsAt(textOf(row), Number(chip.dataset.quoteAt));
  return [from, from + words.length];
}

export const isSameQuote = (one, other) => one?.[0] === other?.[0] && one?.[1] === other?.[1];

/** The fields of an act that puts a code like this. */
export function writeFields({ quote, attributes, ...plain }) {
  const answers = Object.entries(attributes).map(([key, answer]) => [`attribute:${key}`, answer]);
  const places = quote ? [["quote_from", quote[0]], ["quote_to", quote[1]]] : [];
  return Object.fromEntries([...Object.entries(plain), ...answers, ...places].filter(([, value]) => value !== ""));
}

/** What may be kept to show it again: ids, states and places, nothing that was typed. */
export const hintOf = (code, { level, enactment, grounding, prompting, range, quote }) => ({
  code: code.id, level, enactment, grounding, prompting, range, quote,
});

/** The attributes of a chip that `readManner` reads again, apart from what stands in its text. */
export function chipData({ level, enactment, grounding, prompting, range, attributes, quote }, row) {
  const data = { "data-level": level, "data-enactment": enactment };
  const optional = { "data-grounding": grounding, "data-prompting": prompting, "data-range": range };
  for (const [name, value] of Object.entries(optional)) {
    if (value) {
      data[name] = value;
    }
  }
  if (attributes && Object.keys(attributes).length) {
    data["data-attributes"] = JSON.stringify(attributes);
  }
  if (quote) {
    data["data-quote-at"] = pointsAt(textOf(row), quote[0]);
  }
  return data;
}
