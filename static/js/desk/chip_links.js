// The links of a coding as its chip shows them, in the server's form: "acts on Stakeholders, Power · revises 18".

import { findCodeById, make } from "./page.js";
import { pointsAt, unitsAt } from "./text.js";

const KINDS = { acts_on: "acts on", warrant: "rests on", revises: "revises" };

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
  write(chip, before ? endsOn(chip).map((each) => (each === before ? end : each)) : [...endsOn(chip), end]);
}

export function hideLink(chip, fields) {
  const gone = findEnd(chip, fields);
  write(chip, endsOn(chip).filter((each) => each !== gone));
}

/** A chip that takes the place of another has its links. */
export function takeLinks(fresh, old) {
  const links = old.querySelector(":scope > .links");
  if (links) {
    place(fresh, links);
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

function write(chip, ends) {
  chip.querySelector(":scope > .links")?.remove();
  const parts = Object.entries(KINDS).flatMap(([kind, words]) => {
    const own = ends.filter(({ dataset }) => dataset.kind === kind);
    return own.length ? [make("span", { class: "ends" }, `${words} `, ...own.flatMap((end, at) => (at ? [", ", end] : [end])))] : [];
  });
  if (parts.length) {
    place(chip, make("span", { class: "links" }, ...parts.flatMap((part, at) => (at ? [" · ", part] : [part]))));
  }
}

/** Behind the name and the values, before what is said in whole lines. */
function place(chip, links) {
  const after = chip.querySelector(":scope > .remove") ?? [...chip.children].at(-1);
  after.after(links);
}
