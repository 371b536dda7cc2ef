// Every key on the page as this person has set it, and as her keyboard prints it.

import { findCode, keymap, make, write } from "./page.js";
import { capOf } from "./key_layout.js";

/** Label the keys of acts and codes in a part of the page. */
export function relabel(part) {
  for (const cap of part.querySelectorAll("[data-act]")) {
    const key = keymap.acts[cap.dataset.act];
    cap.hidden = !key;
    write(cap, key ? capOf(key) : "");
  }
  for (const cap of part.querySelectorAll("kbd[data-key]")) {
    write(cap, capOf(cap.dataset.key));
  }
  for (const cap of part.querySelectorAll(".chip [data-cap]")) {
    const code = findCode(cap.closest(".chip").dataset.code);
    if (code) {
      write(cap, signOf(code, Boolean(cap.closest(".chip.latent"))));
    }
  }
}

/** What a chip shows: the key of its code as it was pressed, or two letters of the family of a code without one. */
export const signOf = (code, isLatent) => (code.key ? capOf(code.key, isLatent) : abbreviate(code.familyName));

/** The same two letters as the server's. */
function abbreviate(name) {
  const words = name.trim().split(/\s+/);
  return (words.length > 1 ? [...words[0]][0] + [...words[1]][0] : [...name].slice(0, 2).join("")).toUpperCase();
}

/** The keys on the buttons of the codes. */
export function labelButtons() {
  for (const button of document.getElementById("panel").querySelectorAll("button.code")) {
    const code = findCode(button.dataset.code);
    button.firstElementChild.replaceWith(
      code.key
        ? make("kbd", { text: capOf(code.key) })
        : make("span", { class: "keyless", "aria-hidden": "true", text: "·" }),
    );
  }
}
