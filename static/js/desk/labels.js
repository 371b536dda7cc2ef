// Every key on the page as this person has set it, and as her keyboard prints it.

import { codes, findCode, keymap, make } from "./page.js";
import { capOf } from "./caps.js";

/** Label the keys of acts and codes in a part of the page. */
export function relabel(part) {
  for (const cap of part.querySelectorAll("[data-act]")) {
    const key = keymap.acts[cap.dataset.act];
    cap.hidden = !key;
    cap.textContent = key ? capOf(key) : "";
  }
  for (const cap of part.querySelectorAll("kbd[data-key]")) {
    cap.textContent = capOf(cap.dataset.key);
  }
  for (const cap of part.querySelectorAll(".chip [data-cap]")) {
    const code = findCode(cap.closest(".chip").dataset.code);
    if (code) {
      cap.textContent = signOf(code, Boolean(cap.closest(".chip.latent")));
    }
  }
}

/** What a chip shows: the key of its code as it was pressed, or the initial of the family of a code without one. */
export const signOf = (code, isLatent) =>
  code.key ? capOf(code.key, isLatent) : code.familyName.slice(0, 1).toUpperCase();

/** The keys on the buttons of the codes. */
export function labelButtons() {
  for (const code of codes) {
    const button = document.querySelector(`button.code[data-code="${CSS.escape(code.identifier)}"]`);
    button?.firstElementChild.replaceWith(
      code.key
        ? make("kbd", { text: capOf(code.key) })
        : make("span", { class: "keyless", "aria-hidden": "true", text: "·" }),
    );
  }
}
