// Where words and characters begin and end in a text of any script. Places count UTF-16 units, as the browser does.

const language = document.getElementById("sheet").lang || "en";
const byWord = window.Intl?.Segmenter ? new Intl.Segmenter(language, { granularity: "word" }) : null;
const byCharacter = window.Intl?.Segmenter ? new Intl.Segmenter(language, { granularity: "grapheme" }) : null;
const HAS_SUBSTANCE = /[^\s\p{P}]/u;

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
