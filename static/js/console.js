// An interview held here: keys for kinds, turns and the bank, a draft that outlives a reload, and where reading goes on. Without
// this the page is plain forms; htmx sends them and asks for the answer.

import { keycapOf, namesOf, prints, readLayout } from "./desk/key_layout.js";
import { Stored } from "./desk/storage.js";

const consoleOf = () => document.getElementById("console");
const form = () => document.getElementById("ask-form");
const field = (name) => form()?.elements.namedItem(name) ?? null;
const turns = () => [...document.querySelectorAll(".exchange")];

/** Where the keys of this person lie, by act. */
const keymap = JSON.parse(document.getElementById("console-keys").textContent);
const actAt = new Map(Object.entries(keymap).filter(([, { key }]) => key).map(([name, { key }]) => [key, name]));

/** What has work of its own for Enter, and for the other keys that print nothing. */
const TAKES_ENTER = "button, a, summary, input";
const TAKES_ARROWS = "input[type='radio']";
const TYPED_INTO = "input:not([type='radio'], [type='checkbox'], [type='hidden']), textarea, select";
const KINDS = ["open", "expand", "reflect", "challenge", "new_information", "leading"];
const INTENTS = ["warranted", "unwarranted", "new_fact", "probe"];
const DRAFTED = ["text", "answer", "reasoning"];

const { session, user } = consoleOf().dataset;
const singleKeys = new Stored(window.localStorage, `desk:single-keys:${user}`, true);
const draft = new Stored(window.localStorage, `console:draft:${user}:${session}`, {});
let awaitsIntent = false;

const wasAsked = (id) => turns().some((turn) => turn.dataset.asked && turn.dataset.asked === id);

/** What was typed and not sent comes back, on a page that shows nothing of it. A question that was sent before the page could
 *  hear of it is no draft any more. */
function restore() {
  const kept = draft.read();
  if (wasAsked(kept.idempotency_key)) {
    draft.write({});
    return;
  }
  for (const name of DRAFTED) {
    const input = field(name);
    if (input && kept[name] && (input.value === "" || input.value === input.defaultValue)) {
      input.value = kept[name];
    }
  }
  if (kept.kind && field("kind") && field("kind").value === "") {
    choose("kind", kept.kind);
  }
  if (kept.intent && field("intent") && field("intent").value === "") {
    choose("intent", kept.intent);
  }
}

function keep() {
  const now = {};
  for (const name of [...DRAFTED, "kind", "intent", "idempotency_key"]) {
    now[name] = field(name)?.value ?? "";
  }
  draft.write(now);
}

function choose(name, value) {
  const radio = [...(form()?.elements ?? [])].find((each) => each.name === name && each.value === value);
  if (radio) {
    radio.checked = true;
    radio.focus();
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }
  return Boolean(radio);
}

/** The key of a kind; after a challenge the first four say what it is meant to be. */
function pressKind(kind) {
  const intent = INTENTS[KINDS.indexOf(kind)];
  if (awaitsIntent && intent) {
    awaitsIntent = false;
    choose("intent", intent);
    field("text")?.focus();
    return true;
  }
  if (!choose("kind", kind)) {
    return false;
  }
  awaitsIntent = kind === "challenge";
  if (!awaitsIntent) {
    field("text")?.focus();
  }
  return true;
}

/** Another kind, by mouse or by key: what the question before was meant to be is not said of it. */
function clearIntent() {
  awaitsIntent = false;
  for (const radio of form()?.querySelectorAll("input[name='intent']") ?? []) {
    radio.checked = false;
  }
}

function step(by) {
  const all = turns();
  const at = all.indexOf(document.activeElement?.closest(".exchange"));
  const next = at < 0 ? all.at(by > 0 ? 0 : -1) : all[at + by];
  next?.focus();
  return Boolean(next);
}

/** Press a button of the turn in focus, or else of the last one that has it. */
function press(act) {
  const own = document.activeElement?.closest(".exchange");
  const button = (own ?? turns().findLast((each) => each.querySelector(`[data-act="${act}"]`)))?.querySelector(
    `[data-act="${act}"]`,
  );
  button?.click();
  return Boolean(button);
}

function openBank() {
  const bank = document.getElementById("bank");
  if (!bank) {
    return false;
  }
  bank.open = true;
  bank.querySelector("button")?.focus();
  return true;
}

function take(button) {
  choose("kind", button.dataset.bankKind);
  if (button.dataset.bankIntent) {
    choose("intent", button.dataset.bankIntent);
  }
  const text = field("text");
  text.value = button.dataset.bankText;
  text.focus();
  text.dispatchEvent(new Event("input", { bubbles: true }));
}

function onKey(event) {
  const { target, key } = event;
  if (event.defaultPrevented || event.altKey || event.metaKey || event.isComposing) {
    return;
  }
  if (key === "Enter" && event.ctrlKey && form()?.contains(target)) {
    event.preventDefault();
    if (!document.getElementById("send").disabled) {
      form().requestSubmit();
    }
    return;
  }
  if (key === "Escape" && target.matches(TYPED_INTO) && form()?.contains(target)) {
    event.preventDefault();
    (turns().at(-1) ?? consoleOf().querySelector("h1")).focus({ preventScroll: true });
    return;
  }
  if (event.ctrlKey || target.matches(TYPED_INTO)) {
    return;
  }
  const known = namesOf(event).find((each) => actAt.has(each));
  if (known && mayAct(known, event) && acts[actAt.get(known)]()) {
    event.preventDefault();
  }
}

/** Keys that print nothing have work of their own on buttons and among choices; others can be switched off. */
function mayAct(name, event) {
  if (!prints(name)) {
    return !event.shiftKey && !event.target.matches(name === "Enter" ? TAKES_ENTER : TAKES_ARROWS);
  }
  return singleKeys.read() && (!event.shiftKey || name.startsWith("sign:"));
}

const acts = {
  ...Object.fromEntries(KINDS.map((kind) => [kind, () => pressKind(kind)])),
  bank: () => openBank(),
  next_turn: () => step(1),
  previous_turn: () => step(-1),
  branch: () => press("branch"),
  again: () => press("again"),
  text: () => focusText(),
};

function focusText() {
  field("text")?.focus();
  return Boolean(field("text"));
}

/** How long the question is, in place of the sentence that says how long it may be. Returns whether it can be sent. */
function measure() {
  const line = document.getElementById("length");
  const text = (field("text")?.value ?? "").replaceAll("\r\n", "\n");
  if (!line) {
    return true;
  }
  line.dataset.plain ??= line.textContent;
  if (!text) {
    line.textContent = line.dataset.plain;
    line.classList.remove("warn");
    return true;
  }
  const bytes = new TextEncoder().encode(text).length;
  const characters = [...text].length;
  const { max, long } = line.dataset;
  const [size, limit, count] = [bytes, Number(max), characters].map((each) => each.toLocaleString("en"));
  const isTooLong = bytes > Number(max);
  const isLong = Boolean(long) && characters > Number(long);
  const more = isTooLong
    ? ` It is too long to be sent: ${size} bytes of at most ${limit}. Shorten it.`
    : isLong ? " That is unusually long: you are asked before it is sent." : "";
  line.textContent = `${count} character${characters === 1 ? "" : "s"}.${more}`;
  line.classList.toggle("warn", isTooLong || isLong);
  return !isTooLong;
}

/** While the answer is awaited nothing can be sent; what is typed meanwhile stays. Nor can what is too long. */
function settle() {
  const send = document.getElementById("send");
  const fits = measure();
  if (send) {
    send.disabled = !fits || document.querySelector("#talk[data-waiting]") !== null;
  }
  for (const shown of document.querySelectorAll("kbd[data-key]")) {
    shown.textContent = keycapOf(shown.dataset.key);
  }
  const box = document.getElementById("single-keys");
  if (box) {
    box.checked = singleKeys.read();
  }
}

document.addEventListener("keydown", onKey);
document.addEventListener("input", ({ target }) => {
  if (form()?.contains(target)) {
    keep();
    settle();
  }
});
document.addEventListener("change", ({ target }) => {
  if (target.id === "single-keys") {
    singleKeys.write(target.checked);
  } else if (form()?.contains(target)) {
    if (target.name === "kind") {
      clearIntent();
    }
    keep();
  }
});
document.addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-bank-text]");
  if (button) {
    take(button);
  }
});

// What was wrong with the question is no longer said once it is written.
document.addEventListener("input", ({ target, isTrusted }) => {
  const wrong = isTrusted && target.closest?.("#ask-form .field.wrong");
  if (wrong && target.value.trim()) {
    wrong.classList.remove("wrong");
    wrong.querySelector(".errorlist")?.remove();
    target.removeAttribute("aria-invalid");
    const told = document.querySelector("#ask-form").parentElement.querySelector(".form-errors");
    told?.querySelector(`a[href="#${target.id}"]`)?.closest("li").remove();
    if (told && !told.querySelector("li")) {
      told.remove();
    }
  }
});

document.addEventListener("htmx:beforeRequest", (event) => {
  // What is too long is not looked through for a warning, nor sent.
  if (event.detail.elt.closest("#ask-form") && !measure()) {
    event.preventDefault();
  }
});

document.addEventListener("htmx:beforeSwap", (event) => {
  // Somebody asked something else meanwhile: both texts are on the page that comes back.
  if (event.detail.xhr.status === 409) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const { elt, verb, path } = detail.requestConfig ?? {};
  if (elt?.id === "ask-form" && verb === "post" && detail.xhr.status === 200 && path.endsWith("/ask/")) {
    draft.write({});
    awaitsIntent = false;
    (turns().at(-1) ?? consoleOf().querySelector("h1")).focus();
  }
  settle();
});

restore();
settle();
readLayout(settle);
// What was typed before a reload is looked through for a warning as if it were typed now.
window.addEventListener("load", () => {
  if (field("text")?.value) {
    field("text").dispatchEvent(new Event("input", { bubbles: true }));
  }
});
