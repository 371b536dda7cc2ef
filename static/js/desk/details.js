// All that a coding says besides its code, in a form in the row of its sentence: how it is made, how it is read, its quote, the
// code's own questions. Enter saves, Escape leaves, the key that opened it saves and goes on to the coding before.

import { CHOICES, codeOfChip, derivePrompting } from "./chips.js";
import { changeCoding } from "./coding.js";
import { buildQuestion, closeInlineForm, openInlineForm, readAnswers, tellWhatWasSeen, trimOnInput } from "./inline_form.js";
import { keycapOf, namesOf } from "./key_layout.js";
import { chipsAt, findChip, hasSeenOthers, valuesAt } from "./marks.js";
import { isClosed, keymap, make, notify } from "./page.js";
import { currentRow, select } from "./sentences.js";
import { clearUnderline, textOf, underline } from "./text.js";

const DIGITS = ["Digit1", "Digit2", "Digit3"];
const TYPED = "input:not([type='radio'], [type='checkbox'])";

/** Open the details of the last active coding at the current sentence. */
export function openLastDetails() {
  const row = currentRow();
  const chips = row ? chipsAt(row).filter((chip) => codeOfChip(chip)) : [];
  const own = chips.filter((chip) => row.contains(chip));
  const last = (own.length ? own : chips).at(-1);
  if (last) {
    openDetails(row, codeOfChip(last));
  } else {
    notify("This sentence has no code.");
  }
}

/** Open the details of the coding whose chip was pressed. */
export function openDetailsOf(chip) {
  const row = chip.closest(".sentence") ?? chip.closest("[data-turn]")?.querySelector(".sentence") ?? currentRow();
  const code = codeOfChip(chip);
  if (row && code) {
    select(row);
    openDetails(row, code);
  }
}

async function openDetails(row, code) {
  if (isClosed()) {
    return;
  }
  const chip = findChip(row, code);
  const before = valuesAt(row, code);
  const form = buildForm(row, code, chip, before);
  const quote = code.unit === "sentence" ? before.quote : null;
  if (quote) {
    underline(row, quote, code.key ? keycapOf(code.key) : "");
  }
  let goesOn = false;
  const read = () => ({ goesOn, reason: form.elements.reason?.value.trim() ?? "", values: readForm(form, code, before) });
  const onKey = (event) => {
    if (event.target.matches(TYPED)) {
      return false;
    }
    const radio = code.enactment ? form.querySelectorAll("[name='enactment']")[DIGITS.indexOf(event.code)] : null;
    if (radio) {
      radio.checked = true;
      radio.focus();
      return true;
    }
    if (isKeyOfDetails(event) && form.reportValidity()) {
      goesOn = true;
      closeInlineForm(read());
      return true;
    }
    return false;
  };
  const answer = await openInlineForm(row, form, { read, onKey, first: findFirst(form) });
  clearUnderline(row);
  if (!answer) {
    return;
  }
  changeCoding(row, code, answer.values, answer.reason);
  if (answer.goesOn) {
    goOn(row, code);
  }
}

const isKeyOfDetails = (event) =>
  !event.ctrlKey && !event.metaKey && Boolean(keymap.acts.details) && namesOf(event).includes(keymap.acts.details);

/** Where to begin: the first choice, at what is chosen. */
function findFirst(form) {
  const field = form.querySelector("input:not([type='checkbox'])");
  return form.querySelector(`[name="${CSS.escape(field.name)}"]:checked`) ?? field;
}

/** The coding before this one at the same place; after the first, the last again. */
function goOn(row, code) {
  const codes = chipsAt(row).map(codeOfChip).filter(Boolean);
  const at = codes.findIndex((other) => other.identifier === code.identifier);
  openDetails(row, codes.at(at - 1) ?? code);
}

function buildForm(row, code, chip, values) {
  const form = document.getElementById("details-template").content.firstElementChild.cloneNode(true);
  form.querySelector(".inline-form-title").textContent = code.name;
  const isAsked = {
    level: code.level,
    enactment: code.enactment,
    quote: Boolean(values.quote) && code.unit === "sentence",
    prompting: code.unit === "sentence" && derivePrompting(chip) !== "",
    reason: hasSeenOthers(row, code),
  };
  for (const [name, isNeeded] of Object.entries(isAsked)) {
    if (!isNeeded) {
      form.querySelector(`[data-part='${name}']`).remove();
    }
  }
  for (const name of CHOICES) {
    const radio = form.querySelector(`[name='${name}'][value='${values[name]}']`);
    if (radio) {
      radio.checked = true;
    }
  }
  const derived = form.querySelector(".derived");
  if (derived) {
    derived.textContent = derivePrompting(chip);
  }
  if (isAsked.quote) {
    form.querySelector(".quoted-words").replaceChildren(make("bdi", { text: textOf(row).slice(...values.quote) }));
  }
  form.elements.note.value = values.note;
  form.querySelector(".questions").replaceWith(...code.questions.map((question) => buildQuestion(question, values.attributes[question.key] ?? "")));
  keepNoteForLatent(form);
  tellWhatWasSeen(form);
  trimOnInput([form.elements.note, form.elements.reason].filter(Boolean));
  return form;
}

/** A latent coding needs its line; a semantic one may have one. */
function keepNoteForLatent(form) {
  const sync = () => {
    form.elements.note.required = form.querySelector("[name='level'][value='latent']")?.checked ?? false;
  };
  form.addEventListener("change", sync);
  sync();
}

function readForm(form, code, before) {
  const data = new FormData(form);
  return {
    ...Object.fromEntries(CHOICES.map((name) => [name, data.get(name) ?? before[name]])),
    note: data.get("note").trim(),
    attributes: readAnswers(form, code.questions),
    range: before.range,
    quote: data.get("unquote") ? null : before.quote,
  };
}
