// A quote shown inside its sentence, underlined, with the key of its code. The text itself stays as it is.

import { make } from "./page.js";

/** Underline from-to in the text of a row; `key` is printed behind it (not as data-key, which is labelled anew). */
export function underline(row, [from, to], key = "") {
  const place = row.querySelector(".text");
  const text = place.textContent;
  const mark = make("mark", { class: "quoted", text: text.slice(from, to) });
  if (key) {
    mark.dataset.sign = key;
  }
  place.replaceChildren(text.slice(0, from), mark, text.slice(to));
  return mark;
}

/** Take the line away. */
export function clearUnderline(row) {
  const place = row?.querySelector(".text");
  if (place?.firstElementChild) {
    place.replaceChildren(place.textContent);
  }
}
