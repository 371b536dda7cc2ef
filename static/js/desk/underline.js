// A quote shown inside its sentence, underlined, with the key of its code. The text itself stays as it is.

import { make } from "./page.js";

/**
 * Underline from-to in the text of a row, in UTF-16 units; where Markdown is shown, in as many pieces as it has elements
 * there. `key` is printed behind the last (not as data-key, which is labelled anew). Returns the first that is in sight.
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

/** Take the line away. */
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
