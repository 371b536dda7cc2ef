// The line under a sentence that asks what a key alone cannot say: how a move is made, and how a latent code is read.

import { announce } from "./page.js";

let open = null;

/**
 * Ask inside a row. `needs` is {enactment, note}; gives {enactment, note}, or null when the person turns away. Nothing
 * is preset: how a move is made is for the coder to say.
 */
export function ask(row, what, needs, given = {}) {
  cancelAsk();
  const form = document.getElementById("ask-template").content.firstElementChild.cloneNode(true);
  form.querySelector(".ask-what").textContent = what;
  const radios = [...form.querySelectorAll("input[type='radio']")];
  const note = form.querySelector("input[name='note']");
  if (!needs.enactment) {
    form.querySelector("fieldset").remove();
  }
  if (!needs.note) {
    form.querySelector(".ask-note").remove();
  }
  for (const radio of radios) {
    radio.checked = radio.value === given.enactment;
  }
  note.value = given.note ?? "";
  row.append(form);
  form.scrollIntoView({ block: "nearest" });
  (needs.enactment ? (radios.find((radio) => radio.checked) ?? radios[0]) : note).focus();
  return new Promise((resolve) => {
    open = { form, row, finish: (answer) => finish(answer, resolve) };
    listen(form, { radios, note, needs });
  });
}

function listen(form, { radios, note, needs }) {
  const submit = () => {
    const enactment = radios.find((radio) => radio.checked)?.value ?? "";
    open.finish({ enactment: needs.enactment ? enactment : "", note: needs.note ? note.value.trim() : "" });
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    note.value = note.value.trim();
    if (form.reportValidity()) {
      submit();
    }
  });
  form.querySelector("[value='cancel']").addEventListener("click", () => open.finish(null));
  form.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const radio = event.target === note ? null : radios["Digit1 Digit2 Digit3".split(" ").indexOf(event.code)];
    if (event.key === "Escape") {
      event.preventDefault();
      open.finish(null);
    } else if (needs.enactment && radio) {
      event.preventDefault();
      radio.checked = true;
      if (needs.note) {
        note.focus();
      } else {
        submit();
      }
    }
  });
}

function finish(answer, resolve) {
  const { form, row } = open;
  const hadFocus = form.contains(document.activeElement);
  open = null;
  form.remove();
  if (hadFocus) {
    row.focus();
  }
  if (!answer) {
    announce("Not put.");
  }
  resolve(answer);
}

/** Turn away from an open question, as when another sentence becomes the current one. */
export function cancelAsk() {
  open?.finish(null);
}
