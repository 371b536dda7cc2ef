// The line under a sentence that asks for something: one at a time, Enter sends it, Escape leaves it.

import { announce } from "./page.js";

let open = null;

/**
 * Show `form` in `row` and wait for its end: what `read()` gives, or null when the person turns away. `onKey(event)` says
 * whether it took a key. The first field gets the focus.
 */
export function openLine(row, form, { read, onKey = () => false, first }) {
  cancelLine();
  row.append(form);
  form.scrollIntoView({ block: "nearest" });
  (first ?? form.querySelector("input, select, button")).focus();
  return new Promise((resolve) => {
    open = { form, row, resolve };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (form.reportValidity()) {
        closeLine(read());
      }
    });
    form.querySelector("[value='cancel']").addEventListener("click", () => cancelLine());
    form.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") {
        event.preventDefault();
        cancelLine();
      } else if (!event.isComposing && onKey(event)) {
        event.preventDefault();
      } else if (event.key === "Enter" && event.target.matches("input")) {
        // A form with several fields and a disabled button would swallow it.
        event.preventDefault();
        form.requestSubmit();
      }
    });
  });
}

/** End the open line with an answer. */
export function closeLine(answer) {
  if (!open) {
    return;
  }
  const { form, row, resolve } = open;
  const hadFocus = form.contains(document.activeElement);
  open = null;
  form.remove();
  if (hadFocus) {
    row.focus({ preventScroll: true });
  }
  if (!answer) {
    announce("Cancelled.");
  }
  resolve(answer);
}

/** Turn away from an open question, as when another sentence becomes the current one. */
export const cancelLine = () => closeLine(null);

