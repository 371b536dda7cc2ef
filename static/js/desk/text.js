// The text of a sentence in any script: where words and characters begin and end, and how a part of it is underlined.
// Places count UTF-16 units, as the browser does.

import { make } from "./page.js";

const language = document.getElementById("transcript").lang || "en";
const byWord = window.Intl?.Segmenter ? new Intl.Segmenter(language, { granularity: "word" }) : null;
const byCharacter = window.Intl?.Segmenter ? new Intl.Segmenter(language, { granularity: "grapheme" }) : null;
const HAS_SUBSTANCE = /[^\s\p{P}]/u;

export const textOf = (row) => row.querySelector(".text").textContent;

/** The words of a text as [from, to]; an emoji is one too, punctuation is none. */
export function findWords(text) {
  const parts = byWord ? [...byWord.segment(text)] : [...text.matchAll(/\S+/gu)].map((hit) => ({ segment: hit[0], index: hit.index }));
  return parts.filter(({ segment }) => HAS_SUBSTANCE.test(segment)).map(({ segment, index }) => [index, index + segment.length]);
}

/** Where a character ends or begins, from 0 to the length of the text. A letter with its marks is one character. */
export function findEdges(text) {
  const parts = byCharacter ? [...byCharacter.segment(text)].map(({ segment }) => segment) : [...text];
  const edges = [0];
  for (const part of parts) {
    edges.push(edges.at(-1) + part.length);
  }
  return edges;
}

/** The place in UTF-16 units of a place in code points, as the server counts; and back. */
export const unitsAt = (text, points) => [...text].slice(0, points).join("").length;
export const pointsAt = (text, units) => [...text.slice(0, units)].length;

/** A stretch without the white space at its ends; null when nothing is left. */
export function trim(text, [from, to]) {
  const words = text.slice(from, to);
  const start = from + words.length - words.trimStart().length;
  const end = start + words.trim().length;
  return end > start ? [start, end] : null;
}

/**
 * Underline from-to in the text of a row, in UTF-16 units; where Markdown is shown, in as many pieces as it has elements
 * there. `key` is printed after the last one (not as data-key, which would be labelled again). Returns the first that is in sight.
 */
export function underline(row, [from, to], key = "") {
  clearUnderline(row);
  const pieces = piecesOf(row.querySelector(".text"), from, to).map((piece) => {
    const mark = make("mark", { class: "quoted" });
    piece.replaceWith(mark);
    mark.append(piece);
    return mark;
  });
  const inSight = pieces.filter((piece) => piece.checkVisibility?.() ?? true);
  if (key && pieces.length) {
    (inSight.at(-1) ?? pieces.at(-1)).dataset.sign = key;
  }
  return inSight[0] ?? pieces[0];
}

/** The text nodes of a place from-to, cut where the stretch begins and ends. */
function piecesOf(place, from, to) {
  const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) {
    nodes.push(walker.currentNode);
  }
  const pieces = [];
  let at = 0;
  for (const node of nodes) {
    const [start, end] = [Math.max(from - at, 0), Math.min(to - at, node.length)];
    at += node.length;
    if (start < end) {
      node.splitText(end);
      pieces.push(node.splitText(start));
    }
  }
  return pieces;
}

/** Remove the underline. */
export function clearUnderline(row) {
  const place = row?.querySelector(".text");
  const marks = place?.querySelectorAll("mark.quoted") ?? [];
  for (const mark of marks) {
    mark.replaceWith(...mark.childNodes);
  }
  if (marks.length) {
    place.normalize();
  }
}
