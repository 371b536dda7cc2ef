// What a code means, in a place of its own beside the text: of the code under the pointer or the focus, else of the last
// that was pressed. A key shows all of it.

import { codes, findCode, make, notify } from "./page.js";

const place = document.getElementById("meaning");
const card = document.getElementById("meaning-card");
const parts = ["name", "definition", "include", "exclude"];
let last = null;
let shown = null;

/** The code that was pressed. */
export function keepMeaning(code) {
  last = code;
  show(code);
}

/** Follow the pointer and the focus over codes and chips. */
export function startMeaning() {
  const find = (event) => findCode(event.target.closest?.("button.code, .chip[data-code]")?.dataset.code);
  for (const name of ["pointerover", "focusin"]) {
    document.querySelector("main").addEventListener(name, (event) => show(find(event) ?? last));
  }
  card.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" && !event.target.matches("a, button")) {
      event.preventDefault();
      card.close();
    }
  });
  card.querySelector("button").addEventListener("click", () => card.close());
}

function show(code) {
  if (code && code !== shown) {
    shown = code;
    fill(place, code);
  }
}

function fill(part, code) {
  for (const name of parts) {
    const words = part.querySelector(`[data-part="${name}"]`);
    words.textContent = code[name] ?? "";
    const frame = words.closest(".limit, div:not(.meaning)");
    if (frame) {
      frame.hidden = !code[name];
    }
  }
}

/** The whole meaning, as a card over the page. */
export function openMeaning() {
  const code = shown ?? codes[0];
  if (!code) {
    notify("This codebook has no codes.");
    return;
  }
  fill(card, code);
  const version = document.querySelector(".layer a");
  card.querySelector(".more").replaceChildren(
    ...(version ? [make("a", { href: `${version.href}#code-${code.id}`, text: "In the codebook, with examples" })] : []),
  );
  card.showModal();
  card.focus({ preventScroll: true });
  card.scrollTop = 0;
}
