// A coding as a chip: its values, its links, and whether the interviewer had raised the thing before.

import { findCode, findCodeById, make, signOf, site } from "./page.js";
import { pointsAt, textOf, unitsAt } from "./text.js";

// The values are the choices below and {note, attributes, range, quote}. `quote` is [from, to] in UTF-16 units of the sentence,
// or null. The choices and their columns are declared in transcripts/coding/values.py.

/** The values with fixed choices, and what each is where nothing was chosen. */
const DEFAULTS = { level: "semantic", enactment: "", grounding: "", prompting: "" };

export const CHOICES = Object.keys(DEFAULTS);

export const PLAIN = { ...DEFAULTS, note: "", attributes: {}, range: "", quote: null };

/** The choices among some values. */
const pickChoices = (values) => Object.fromEntries(CHOICES.map((name) => [name, values[name] ?? DEFAULTS[name]]));

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
function chipData({ range, attributes, quote, ...values }, row) {
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

export const codeOfChip = (chip) => findCode(chip.dataset.code);

/** The chip of an act before the server has answered. */
export function makeChip(row, act, code) {
  const values = { ...PLAIN, ...act.hint, note: act.fields.note ?? "", attributes: answersIn(act.fields) };
  const isLatent = values.level === "latent";
  const chip = make("li", {
    class: `chip family-${code.family}${isLatent ? " latent" : ""}${code.color ? " tinted" : ""} own open pending`,
    "data-coding": act.id,
    "data-code": code.identifier,
    ...chipData(values, row),
  });
  const sign = signOf(code, isLatent);
  const link = make("a", { class: "open-details", href: `${site.codings}${act.id}/`, tabindex: "-1" });
  link.append(make("b", { text: sign, "data-cap": code.key }), make("bdi", { text: code.name }), make("span", { class: "visually-hidden", text: " details" }));
  chip.append(...(code.color ? ["dot", "stripe"].map((kind) => makeTint(kind, code.color)) : []), link);
  const { status = "", ...answered } = values.attributes;
  if (status) {
    chip.append(" ", make("i", { class: "status" }, make("bdi", { text: status })));
  }
  for (const word of [isLatent ? "latent" : "", values.enactment || (code.enactment ? "enactment not stated" : ""), values.grounding, values.range ? "range" : ""]) {
    if (word) {
      chip.append(" ", make("i", { text: word }));
    }
  }
  const remove = make("button", { class: "remove", name: "coding", value: act.id, tabindex: "-1", "aria-label": `Remove ${code.name}`, text: "×" });
  const quoted = values.quote ? textOf(row).slice(...values.quote) : "";
  const answers = Object.values(answered).join(" · ");
  chip.append(...makeWords("q", "quote", quoted), remove);
  chip.append(...makeWords("q", "reading", values.note), ...makeWords("span", "answers", answers));
  return chip;
}

/** The colour of a code, as the server writes it. */
function makeTint(kind, color) {
  const namespace = "http://www.w3.org/2000/svg";
  const shape = document.createElementNS(namespace, "svg");
  const path = document.createElementNS(namespace, "path");
  for (const [name, value] of [["class", kind], ["viewBox", "0 0 1 1"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) {
    shape.setAttribute(name, value);
  }
  path.setAttribute("d", "M0 0h1v1H0z");
  path.setAttribute("fill", color);
  shape.append(path);
  return shape;
}

const makeWords = (name, kind, text) => (text ? [make(name, { class: kind }, make("bdi", { text }))] : []);

/** The answers to a code's own questions among the fields of a request. */
const answersIn = (fields) =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([name]) => name.startsWith("attribute:"))
      .map(([name, answer]) => [name.slice("attribute:".length), answer]),
  );

// Links as the chip shows them, in the server's form: "acts on Stakeholders, Power · revises 18".
const LINK_KINDS = { acts_on: "acts on", warrant: "rests on", revises: "revises" };

const endsOn = (chip) => [...(chip?.querySelectorAll(":scope > .links [data-kind]") ?? [])];

/** The end of a chip's link that the fields of a request name, or undefined. */
export function findEnd(chip, { kind, code, target }) {
  const feature = code ? findCodeById(code)?.identifier : "";
  return endsOn(chip).find(({ dataset }) => dataset.kind === kind && (feature ? dataset.feature === feature : dataset.target === target));
}

/** The words that a link to a sentence quotes, as the fields of a request name them; none where it is of the whole. */
export function readQuote({ dataset, title }) {
  if (!dataset.quoteAt) {
    return {};
  }
  const text = document.getElementById(`s${dataset.target}`)?.querySelector(".text")?.textContent ?? "";
  const from = unitsAt(text, Number(dataset.quoteAt));
  return { quote_from: from, quote_to: from + title.length };
}

/** Show a link before the server has answered. Showing one twice changes nothing. */
export function showLink(chip, fields) {
  const end = makeEnd(fields);
  const before = findEnd(chip, fields);
  writeLinks(chip, before ? endsOn(chip).map((each) => (each === before ? end : each)) : [...endsOn(chip), end]);
}

export function hideLink(chip, fields) {
  const gone = findEnd(chip, fields);
  writeLinks(chip, endsOn(chip).filter((each) => each !== gone));
}

/** A chip that takes the place of another has its links. */
export function takeLinks(fresh, old) {
  const links = old.querySelector(":scope > .links");
  if (links) {
    placeLinks(fresh, links);
  }
}

function makeEnd({ kind, code, target, quote_from: from, quote_to: to }) {
  if (code) {
    const { identifier, name } = findCodeById(code);
    return make("bdi", { "data-kind": kind, "data-feature": identifier, text: name });
  }
  const there = document.getElementById(`s${target}`);
  const text = there?.querySelector(".text")?.textContent ?? "";
  const quote = to ? { "data-quote-at": pointsAt(text, from), title: text.slice(from, to) } : {};
  return make("a", { href: `?at=${target}#s${target}`, tabindex: "-1", "data-kind": kind, "data-target": target, ...quote, text: numberOfEnd(there) });
}

/** The number of a sentence, also of what a tool gave back and of the beginning that threads share. */
export const numberOfEnd = (there) => there?.dataset.number ?? there?.querySelector(".n")?.textContent ?? "a sentence";

function writeLinks(chip, ends) {
  chip.querySelector(":scope > .links")?.remove();
  const parts = Object.entries(LINK_KINDS).flatMap(([kind, words]) => {
    const own = ends.filter(({ dataset }) => dataset.kind === kind);
    return own.length ? [make("span", { class: "ends" }, `${words} `, ...own.flatMap((end, at) => (at ? [", ", end] : [end])))] : [];
  });
  if (parts.length) {
    placeLinks(chip, make("span", { class: "links" }, ...parts.flatMap((part, at) => (at ? [" · ", part] : [part]))));
  }
}

/** After the name and the values, before what takes whole lines. */
function placeLinks(chip, links) {
  const after = chip.querySelector(":scope > .remove") ?? [...chip.children].at(-1);
  after.after(links);
}

// Whether the interviewer had raised a thing before: from where the server found the code named in a question, and from one's
// own codes on questions. What a person said of it comes first.
const transcript = document.getElementById("transcript");
const order = new Map([...transcript.querySelectorAll("[data-turn]")].map((turn, place) => [turn.dataset.turn, place]));
const questions = [...transcript.querySelectorAll(".question")];
const PROMPTING = { prompted: "prompted", unprompted: "unprompted", unclear: "prompting unclear" };

const placeOf = (element) => order.get(element.closest("[data-turn]").dataset.turn);
const isOnQuestion = (chip) => Boolean(chip.closest(".question"));
const isOnModel = (chip) => Boolean(chip.closest(".sentence") && chip.closest("[data-answer], .folded"));

/** "prompted", "unprompted" or "unclear" by the words and one's own codes; empty where the question does not arise.
 *  The same rule as in transcripts/coding/pure.py: unprompted only what was looked for and not found. */
export function derivePrompting(chip) {
  if (!isOnModel(chip)) {
    return "";
  }
  const here = placeOf(chip);
  const { raisedIn, soughtFrom, openFrom } = findCode(chip.dataset.code) ?? {};
  const isBefore = (turn) => turn !== null && turn !== undefined && order.get(String(turn)) < here;
  if (isBefore(raisedIn) || isCodedBefore(chip.dataset.code, here)) {
    return "prompted";
  }
  return isBefore(soughtFrom) && !isBefore(openFrom) ? "unprompted" : "unclear";
}

/** Questions are few, and looking through the whole page for each chip would be felt in every key. */
function isCodedBefore(identifier, here) {
  const selector = `.chip[data-code="${CSS.escape(identifier)}"]`;
  return questions.some((question) => [...question.querySelectorAll(selector)].some((chip) => placeOf(chip) < here));
}

/** Show it on a chip. */
export function showPrompting(chip) {
  const said = chip.dataset.prompting;
  const derived = said ?? derivePrompting(chip);
  const word = said || derived === "prompted" ? PROMPTING[derived] : "";
  const shown = chip.querySelector(":scope > .raised");
  if (shown?.textContent === word || (!shown && !word)) {
    return;
  }
  shown?.remove();
  if (word) {
    const before = chip.querySelector(":scope > i:last-of-type") ?? chip.querySelector(":scope > .open-details");
    before.after(" ", make("i", { class: "raised", text: word }));
  }
}

/** A code was applied to a question or removed from it: what follows may be prompted now, or no longer. */
export function spreadPrompting(chip) {
  if (isOnQuestion(chip)) {
    refreshPrompting(chip.dataset.code);
  }
}

export function refreshPrompting(identifier) {
  for (const chip of transcript.querySelectorAll(`.sentence .chip[data-code="${CSS.escape(identifier)}"]`)) {
    showPrompting(chip);
  }
}
