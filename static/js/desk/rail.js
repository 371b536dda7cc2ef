// The lists at the edge, each one stop of the keyboard: arrows go through it, Enter goes there, Escape back to the text.

import { currentRow } from "./sentences.js";

/** Make a list of links one stop; the current one of them is where one comes in. */
export function startList(list) {
  const links = () => [...list.querySelectorAll("a")].filter((link) => !link.closest("[hidden]"));
  const keepOne = (chosen) => links().forEach((link) => (link.tabIndex = link === chosen ? 0 : -1));
  const current = () => list.querySelector("a[aria-current]") ?? links()[0];
  list.addEventListener("keydown", (event) => {
    const at = links().indexOf(event.target.closest("a"));
    const last = links().length - 1;
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: last }[event.key];
    if (at >= 0 && to !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      const link = links()[Math.max(0, Math.min(last, to))];
      keepOne(link);
      link.focus();
    } else if (event.key === "Escape") {
      event.preventDefault();
      currentRow()?.focus();
    }
  });
  list.addEventListener("focusout", (event) => {
    if (!list.contains(event.relatedTarget)) {
      keepOne(current());
    }
  });
  new MutationObserver(() => list.contains(document.activeElement) || keepOne(current())).observe(list, {
    attributeFilter: ["aria-current"],
    subtree: true,
  });
  keepOne(current());
}

/** Go to a list by key. */
export function enterList(list) {
  (list.querySelector("a[tabindex='0']") ?? list.querySelector("a"))?.focus();
}
