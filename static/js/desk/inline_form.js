// The form in the row of a sentence, one at a time: it asks what a key alone cannot say. Enter sends it, Escape leaves it.

import { announce, make, site } from "./page.js";

let open = null;

/**
 * Show `form` in `row` and wait for its end: what `read()` gives, or null when the person turns away. `onKey(event)` says
 * whether it took a key. The first field gets the focus.
 */
export function openInlineForm(row, form, { read, onKey = () => false, first }) {
  cancelInlineForm();
  row.append(form);
  form.scrollIntoView({ block: "nearest" });
  (first ?? form.querySelector("input, select, button")).focus();
  return new Promise((resolve) => {
    open = { form, row, resolve };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (form.reportValidity()) {
        closeInlineForm(read());
      }
    });
    form.querySelector("[value='cancel']").addEventListener("click", () => cancelInlineForm());
    form.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.key === "Escape") {
        event.preventDefault();
        cancelInlineForm();
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

/** Close the open form with an answer. */
export function closeInlineForm(answer) {
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
export const cancelInlineForm = () => closeInlineForm(null);

const DIGITS = ["Digit1", "Digit2", "Digit3"];

/**
 * Ask inside a row. `needs` is {enactment, questions, note, reason}; gives {enactment, attributes, note, reason, opensMemo},
 * or null when the person turns away. Nothing is preset: how a move is made is for the coder to say. A reason is asked for without a
 * warning, so that its field waits for Enter: the key of the next code would be taken for one.
 */
export function askInline(row, what, needs) {
  const form = document.getElementById("inline-form-template").content.firstElementChild.cloneNode(true);
  form.querySelector(".inline-form-title").textContent = what;
  const radios = [...form.querySelectorAll("[name='enactment']")];
  const fields = { note: form.querySelector("[name='note']"), reason: form.querySelector("[name='reason']") };
  const questions = needs.questions ?? [];
  form.querySelector(".questions").replaceWith(...questions.map((question) => buildQuestion(question, "")));
  const asked = Object.keys(fields).filter((name) => needs[name]).map((name) => fields[name]);
  for (const [name, field] of Object.entries(fields)) {
    if (!needs[name]) {
      field.closest("label").remove();
    }
  }
  if (!needs.enactment) {
    form.querySelector("fieldset").remove();
  }
  tellWhatWasSeen(form);
  const apply = form.querySelector("button:not([value])");
  const findFirst = () => {
    const field = form.querySelector("input:not([name='enactment'])");
    return field === fields.reason ? apply : field;
  };
  if (!needs.note) {
    form.querySelector(".and-memo").remove();
  }
  // Until there is a reason, the button leads to its field, and says so.
  const lacksReason = () => Boolean(needs.reason) && !fields.reason.value.trim();
  const nameApply = () => {
    apply.querySelector(".act").textContent = lacksReason() ? "Give the reason" : "Apply";
  };
  fields.reason.addEventListener("input", nameApply);
  nameApply();
  apply.addEventListener("click", (event) => {
    if (event.detail > 0 && lacksReason()) {
      event.preventDefault();
      fields.reason.focus();
    }
  });
  const read = () => ({
    enactment: radios.find((radio) => radio.checked)?.value ?? "",
    attributes: readAnswers(form, questions),
    note: needs.note ? fields.note.value.trim() : "",
    reason: needs.reason ? fields.reason.value.trim() : "",
    opensMemo: false,
  });
  const onKey = (event) => {
    const radio = event.target.name === "enactment" ? radios[DIGITS.indexOf(event.code)] : null;
    if (needs.enactment && radio) {
      radio.checked = true;
      if (questions.length || asked.length) {
        findFirst().focus();
        form.querySelector(".inline-form-hint").textContent = needs.reason ? REASON_HINT : "";
      } else {
        closeInlineForm(read());
      }
      return true;
    }
    if (event.key === "Enter" && event.target === apply && lacksReason()) {
      fields.reason.focus();
      return true;
    }
    if (needs.note && event.key === "Enter" && event.shiftKey && form.reportValidity()) {
      closeInlineForm({ ...read(), opensMemo: true });
      return true;
    }
    // What the desk would do with it is not what is asked: say so, in place of losing a key or moving to another answer.
    const isMove = event.key === "ArrowUp" || event.key === "ArrowDown";
    const isKey = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.target.matches("[type='radio'], button") && (isMove || isKey)) {
      form.querySelector(".inline-form-hint").textContent = `${printedBy(event)} does nothing here yet. ${answerFirst(needs, radios)}`;
      return true;
    }
    return false;
  };
  form.querySelector(".inline-form-hint").textContent = hintAt(needs);
  trimOnInput(asked);
  return openInlineForm(row, form, { read, onKey, first: needs.enactment ? radios[0] : findFirst() });
}

const printedBy = ({ key }) => ({ ArrowUp: "↑", ArrowDown: "↓" })[key] ?? key;

const REASON_HINT = "Other keys wait until you have given a reason or cancelled.";

function hintAt(needs) {
  if (needs.enactment) {
    return "1, 2 or 3 answers. Other keys wait until you have answered or cancelled.";
  }
  return needs.reason && !needs.note && !needs.questions?.length ? REASON_HINT : "";
}

function answerFirst(needs, radios) {
  if (needs.enactment && !radios.some((radio) => radio.checked)) {
    return "Answer with 1, 2 or 3 first, or cancel with Esc.";
  }
  return needs.reason ? "Press Enter to write the reason first, or cancel with Esc." : "Answer first, or cancel with Esc.";
}

/** A reason is asked for because of a machine's suggestions, or because the interview was unblinded. */
export function tellWhatWasSeen(form) {
  const label = form.querySelector(".reason-label");
  const isDraft = document.getElementById("draft") !== null;
  if (label && (site.opened === undefined || isDraft)) {
    label.textContent = "Reason, in one line: you have seen a machine’s suggestions here";
  }
}

/** One sign that may have been meant as a key. A Chinese, Japanese or Korean one may be a word. */
const KEY = /^[^\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]$/u;

/** Blanks alone are no answer, and one letter, which may have been meant as a key, is no reason. */
export function trimOnInput(fields) {
  for (const field of fields) {
    field.addEventListener("input", () => {
      const words = field.value.trim();
      const isBlank = field.required && field.value !== "" && !words;
      const isLetter = field.name === "reason" && KEY.test(words);
      field.setCustomValidity(isLetter ? "One letter is no reason. Say it in words." : isBlank ? "Write one line." : "");
    });
  }
}

/** A question of the code's own. A digit chooses the answer that it is printed before. */
export function buildQuestion({ key, label, kind, choices, required = false }, answer) {
  const name = `attribute:${key}`;
  if (kind !== "choice") {
    const field = make("input", { name, value: answer, maxlength: "1000", autocomplete: "off", dir: "auto" });
    field.required = required;
    return make("label", { class: "inline-form-note" }, make("span", { text: label }), field);
  }
  const offered = required ? choices : ["", ...choices];
  const options = offered.map((choice) => {
    const radio = make("input", { type: "radio", name, value: choice });
    radio.checked = choice === answer;
    radio.required = required;
    const number = choices.indexOf(choice) + 1;
    const cap = number > 0 && number < 10 ? [make("kbd", { text: String(number) }), " "] : [];
    return make("label", {}, radio, ...cap, choice || "not answered");
  });
  const fieldset = make("fieldset", { class: "segments" }, make("legend", { text: label }), ...options);
  fieldset.addEventListener("keydown", (event) => {
    const radio = fieldset.querySelectorAll(`[value]:not([value=""])`)[Number(/^Digit([1-9])$/.exec(event.code)?.[1]) - 1];
    if (radio && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      event.stopPropagation();
      radio.checked = true;
      radio.focus();
    }
  });
  return fieldset;
}

/** What was answered in a form, by the keys of the questions. */
export function readAnswers(form, questions) {
  const data = new FormData(form);
  const answers = questions.map(({ key }) => [key, (data.get(`attribute:${key}`) ?? "").trim()]);
  return Object.fromEntries(answers.filter(([, answer]) => answer));
}
