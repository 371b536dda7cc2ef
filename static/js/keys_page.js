// The key card and the page of one's own keys: shown as this person's keyboard prints them, and given by pressing them.

import { isUsable, keycapOf, prints, readLayout } from "./desk/key_layout.js";

const form = document.querySelector(".keyform");
const announcer = document.getElementById("announcer");

function label() {
  for (const shown of document.querySelectorAll("kbd[data-key]")) {
    shown.textContent = keycapOf(shown.dataset.key);
  }
  for (const field of form?.querySelectorAll("input[data-key]") ?? []) {
    if (field.dataset.key) {
      field.value = keycapOf(field.dataset.key);
    }
  }
}

/** The key that was pressed in a field, or nothing for one that moves on, clears, or is none of its kind. */
function readKey(event, field) {
  const isPlain = !(event.ctrlKey || event.metaKey || event.altKey || event.isComposing);
  if (!isPlain || event.key === "Tab" || event.key === "Escape") {
    return null;
  }
  if (event.key === "Backspace" || event.key === "Delete") {
    return "";
  }
  const key = isUsable(event.key) ? event.key : event.code;
  return isUsable(key) && (prints(key) || !field.name.startsWith("code:")) ? key : null;
}

form?.addEventListener("keydown", (event) => {
  const field = event.target.closest("input[data-key]");
  const key = field && !event.shiftKey ? readKey(event, field) : null;
  if (key !== null && field) {
    event.preventDefault();
    field.dataset.key = key;
    field.value = key ? keycapOf(key) : "";
    announcer.textContent = key ? `${field.value}: ${field.labels[0].textContent}` : `No key: ${field.labels[0].textContent}`;
  }
});
form?.addEventListener("input", (event) => {
  // Typed or pasted in another way: what it prints is sent unchanged.
  event.target.dataset.key = "";
});
form?.addEventListener("formdata", ({ formData }) => {
  for (const field of form.querySelectorAll("input[data-key]")) {
    formData.set(field.name, field.dataset.key || field.value);
  }
});
document.getElementById("print")?.addEventListener("click", () => window.print());
label();
readLayout(label);
