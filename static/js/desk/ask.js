// What a key alone cannot say: how a move is made, how a latent code is read, and why one changes what one coded.

import { closeLine, openLine } from "./line.js";

const DIGITS = ["Digit1", "Digit2", "Digit3"];

/**
 * Ask inside a row. `needs` is {enactment, note, reason}; gives {enactment, note, reason, opensMemo}, or null when the
 * person turns away. Nothing is preset: how a move is made is for the coder to say.
 */
export function ask(row, what, needs) {
  const form = document.getElementById("ask-template").content.firstElementChild.cloneNode(true);
  form.querySelector(".ask-what").textContent = what;
  const radios = [...form.querySelectorAll("input[type='radio']")];
  const fields = { note: form.querySelector("[name='note']"), reason: form.querySelector("[name='reason']") };
  const asked = Object.keys(fields).filter((name) => needs[name]).map((name) => fields[name]);
  for (const [name, field] of Object.entries(fields)) {
    if (!needs[name]) {
      field.closest("label").remove();
    }
  }
  if (!needs.enactment) {
    form.querySelector("fieldset").remove();
  }
  if (!needs.note) {
    form.querySelector(".and-memo").remove();
  }
  const read = () => ({
    enactment: radios.find((radio) => radio.checked)?.value ?? "",
    note: needs.note ? fields.note.value.trim() : "",
    reason: needs.reason ? fields.reason.value.trim() : "",
    opensMemo: false,
  });
  const onKey = (event) => {
    const radio = asked.includes(event.target) ? null : radios[DIGITS.indexOf(event.code)];
    if (needs.enactment && radio) {
      radio.checked = true;
      if (asked.length) {
        asked[0].focus();
      } else {
        closeLine(read());
      }
      return true;
    }
    if (needs.note && event.key === "Enter" && event.shiftKey && form.reportValidity()) {
      closeLine({ ...read(), opensMemo: true });
      return true;
    }
    return false;
  };
  trimOnInput(asked);
  return openLine(row, form, { read, onKey, first: needs.enactment ? radios[0] : asked[0] });
}

/** Blanks alone are no answer. */
export function trimOnInput(fields) {
  for (const field of fields) {
    field.addEventListener("input", () => {
      const isBlank = field.required && field.value !== "" && !field.value.trim();
      field.setCustomValidity(isBlank ? "Write one line." : "");
    });
  }
}
