// The picker: a line at the foot of the desk that offers named options by digit, by arrows and Enter, or by pointer.
//
//   openPicker({ title, options, onChoose, onClose, isMany, act, about })
//
// title     what is asked, in words; it names the picker for screen readers.
// options   in order: { name, value?, isOn?, note?, digit?, more? }. The first ten get the digits 1 to 9 and 0, unless an option
//           names its own `digit` ("0"). `isOn` says whether an option is chosen now; `note` is shown after the name.
// onChoose  (option, isOn) => …  With one answer the picker closes first, and `isOn` is true. With `isMany` it stays open, and
//           `isOn` says what the option is to be from now on; give back false, or a promise of it, to leave it as it was.
// onClose   (isLeft) => …  The picker went without an answer: left by the person (Escape, Enter on nothing), or because the focus
//           or another key of the desk went elsewhere; with `isMany`, whenever it goes.
// isMany    several options may be on at once.
// act       the name of the act (keys.py) whose key opened it: the same key closes it again.
// about     an element shown above the options, such as a text that one judges by.
//
// While it is open it has the focus and all plain keys; keys with Ctrl close it and go to the desk. Opening another one
// closes the first. Digits are known by where they lie and by what they print, so they work on every layout.

import { namesOf } from "./key_layout.js";
import { announce, keymap, make } from "./page.js";
import { currentRow } from "./sentences.js";

const DIGITS = "1234567890";
/** Pixels between the sentence and the picker. */
const GAP = 6;
const transcript = document.getElementById("transcript");
const picker = document.getElementById("picker");
const list = document.getElementById("picker-list");
const hint = document.getElementById("picker-hint");
let open = null;

/** Make the picker ready for keys and the pointer; once per page. */
export function startPicker() {
  picker.addEventListener("keydown", press);
  list.addEventListener("click", (event) => {
    const item = event.target.closest("[role='option']");
    if (item) {
      choose([...list.children].indexOf(item));
    }
  });
  picker.querySelector("button").addEventListener("click", () => leave());
  picker.addEventListener("focusout", (event) => {
    // Another window or tab takes the focus only for a while.
    if (open && document.hasFocus() && !picker.contains(event.relatedTarget)) {
      end({ takesFocus: false });
    }
  });
}

/** Show options and wait for one, as told above. */
export function openPicker({ title, options, onChoose, onClose = () => {}, isMany = false, act = "", about = null }) {
  closePicker();
  open = { options: options.map((option, at) => ({ ...option, digit: option.digit ?? DIGITS[at] ?? "" })), onChoose, onClose, isMany, act };
  document.getElementById("picker-title").textContent = title;
  picker.querySelector(".picker-about").replaceChildren(...(about ? [about] : []));
  picker.classList.toggle("many", isMany);
  list.setAttribute("aria-multiselectable", String(isMany));
  list.removeAttribute("aria-activedescendant");
  list.replaceChildren(...open.options.map(makeItem));
  hint.textContent = "";
  picker.hidden = false;
  // Before the focus moves, for both need the page laid out, and this way it is once.
  keepInSight(currentRow());
  list.focus({ preventScroll: true });
}

/** Close the picker without an answer. */
const closePicker = () => end({ takesFocus: true });

/** Say something in the picker, to everybody; until the next key. */
function sayInPicker(words) {
  hint.textContent = words;
}

/** The picker must not cover the current sentence. It moves up as far as it must and no further: each sentence that
 *  comes into sight has to be laid out, which in a long thread is felt in the key. */
function keepInSight(row) {
  const hidden = row ? row.getBoundingClientRect().bottom - picker.getBoundingClientRect().top : 0;
  if (hidden > 0) {
    const scroller = transcript.scrollHeight > transcript.clientHeight ? transcript : document.scrollingElement;
    scroller.scrollBy(0, hidden + GAP);
  }
}

function makeItem({ name, isOn, note, digit }, at) {
  const item = make("li", { role: "option", id: `picker-option-${at}`, "aria-selected": String(Boolean(isOn)) });
  item.append(...(digit ? [make("kbd", { text: digit }), " "] : []), make("bdi", { text: name }));
  if (note) {
    item.append(" ", make("small", { text: note }));
  }
  return item;
}

function press(event) {
  if (event.ctrlKey || event.metaKey) {
    if (event.key !== "Control" && event.key !== "Meta") {
      closePicker();
    }
    return;
  }
  event.stopPropagation();
  if (event.isComposing || event.altKey || event.key === "Tab" || event.key === "Shift" || event.target.closest("button")) {
    if (event.key === "Escape") {
      leave();
    }
    return;
  }
  event.preventDefault();
  if (event.repeat) {
    return;
  }
  const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 };
  const digit = digitOf(event);
  const at = digit ? open.options.findIndex((option) => option.digit === digit) : -1;
  if (at >= 0) {
    choose(at);
  } else if (event.key === "Escape" || isItsKey(event)) {
    leave();
  } else if (event.key in steps) {
    step(steps[event.key]);
  } else if (event.key === "Enter" || event.key === " ") {
    const active = findActive();
    if (active < 0) {
      leave();
    } else {
      choose(active);
    }
  } else {
    sayInPicker(`${event.key.length === 1 ? event.key : "This key"} does nothing here. Choose, or leave with Esc.`);
  }
}

/** The digit of a key: by its place in the row or on the pad, else by what it prints. */
function digitOf(event) {
  return /^(?:Digit|Numpad)([0-9])$/.exec(event.code)?.[1] ?? (/^[0-9]$/.test(event.key) ? event.key : "");
}

const isItsKey = (event) => Boolean(open.act && keymap.acts[open.act]) && namesOf(event).includes(keymap.acts[open.act]);

const findActive = () => [...list.children].findIndex((item) => item.classList.contains("active"));

function step(by) {
  const { length } = open.options;
  const before = findActive();
  const at = before < 0 ? (by > 0 ? 0 : length - 1) : (before + by + length) % length;
  list.children[before]?.classList.remove("active");
  list.children[at].classList.add("active");
  list.setAttribute("aria-activedescendant", `picker-option-${at}`);
  list.children[at].scrollIntoView({ block: "nearest" });
  hint.textContent = "";
}

function choose(at) {
  const option = open.options[at];
  const { isMany, onChoose } = open;
  hint.textContent = "";
  if (!isMany) {
    open.onClose = () => {};
    closePicker();
    onChoose(option, true);
    return;
  }
  const isOn = !option.isOn;
  const outcome = onChoose(option, isOn);
  if (outcome === false) {
    return;
  }
  mark(option, isOn);
  Promise.resolve(outcome).then((isDone) => {
    if (isDone !== false) {
      announce(`${option.name} ${isOn ? "on" : "off"}`);
    } else if (option.isOn === isOn) {
      mark(option, !isOn);
    }
  });
}

/** Show whether an option is chosen, if the picker that offers it is still open. */
function mark(option, isOn) {
  option.isOn = isOn;
  list.children[open?.options.indexOf(option) ?? -1]?.setAttribute("aria-selected", String(isOn));
}

/** Turned away from by the person. */
function leave() {
  const { isMany } = open;
  end({ takesFocus: true, isLeft: true });
  announce(isMany ? "Closed." : "Left unsaid.");
}

function end({ takesFocus, isLeft = false }) {
  if (!open) {
    return;
  }
  const { onClose } = open;
  open = null;
  const hadFocus = takesFocus && (picker.contains(document.activeElement) || document.activeElement === document.body);
  picker.hidden = true;
  if (hadFocus) {
    currentRow()?.focus({ preventScroll: true });
  }
  onClose(isLeft);
}
