// The values of a coding: the choices below, {note, attributes, range, quote}. `quote` is [from, to] in UTF-16 units of the
// sentence, or null. The choices and their columns are declared in transcripts/coding/values.py.

import { pointsAt, unitsAt } from "./text.js";

/** The values with fixed choices, and what each is where nothing was chosen. */
export const DEFAULTS = { level: "semantic", enactment: "", grounding: "", prompting: "" };

export const CHOICES = Object.keys(DEFAULTS);

export const PLAIN = { ...DEFAULTS, note: "", attributes: {}, range: "", quote: null };

/** The choices among some values. */
const pickChoices = (values) => Object.fromEntries(CHOICES.map((name) => [name, values[name] ?? DEFAULTS[name]]));

export const textOf = (row) => row.querySelector(".text").textContent;

/** The values of a chip's coding; the defaults, where there is no chip. */
export function readValues(chip, row) {
  if (!chip) {
    return PLAIN;
  }
  const { range = "", attributes = "" } = chip.dataset;
  return {
    ...pickChoices(chip.dataset),
    range,
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

/** The fields of a request that applies a code with these values. */
export function writeFields({ quote, attributes, ...plain }) {
  const answers = Object.entries(attributes).map(([key, answer]) => [`attribute:${key}`, answer]);
  const places = quote ? [["quote_from", quote[0]], ["quote_to", quote[1]]] : [];
  return Object.fromEntries([...Object.entries(plain), ...answers, ...places].filter(([, value]) => value !== ""));
}

/** What may be kept to show it again: ids, states and places, nothing that was typed. */
export const hintOf = (code, values) => ({
  code: code.id, ...pickChoices(values), range: values.range, quote: values.quote,
});

/** The attributes of a chip that `readValues` reads again, apart from its text. */
export function chipData({ range, attributes, quote, ...values }, row) {
  const data = {};
  for (const [name, value] of [...CHOICES.map((name) => [name, values[name]]), ["range", range]]) {
    if (value) {
      data[`data-${name}`] = value;
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
