// The page as the server made it: its addresses, its codes and its lasting parts.

const sheet = document.getElementById("sheet");

/** What the server says about this page: who codes which interview, and where acts are posted. */
export const site = sheet.dataset;

/** Where the keys of this person lie: {acts: {name: key}, codes: {identifier: key}}; an empty key is switched off. */
export const keymap = JSON.parse(document.getElementById("keymap").textContent);

/** Every code of the codebook in the order of the panel: {id, identifier, name, key, aliases, definition, …}. */
export const codes = JSON.parse(document.getElementById("codes").textContent);
for (const code of codes) {
  code.key = keymap.codes[code.identifier] ?? "";
}

const byIdentifier = new Map(codes.map((code) => [code.identifier, code]));
const byId = new Map(codes.map((code) => [String(code.id), code]));

export const findCode = (identifier) => byIdentifier.get(identifier);
export const findCodeById = (id) => byId.get(String(id));

/** A name for stored things that belong to one person and one interview. */
export const storageName = (what) => `desk:${what}:${site.user}:${site.interview}`;

/** 32 hexadecimal digits of a random UUID (crypto.randomUUID is missing where a server is reached without TLS). */
export function makeIdempotencyKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Make an element: `make("span", { class: "by", text: "…" }, child, …)`. Text never becomes HTML. */
export function make(name, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  if (text !== undefined) {
    element.textContent = text;
  }
  element.append(...children);
  return element;
}

/** Put a text in place where it is another one: what is put anew is laid out anew, and most of what is told again is as it was. */
export function write(element, text) {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

const announcer = document.getElementById("announcer");
const problem = document.getElementById("problem");

/** Say something to a screen reader; everybody else sees it happen on the page. */
export function announce(words) {
  announcer.textContent = words;
}

const notice = document.getElementById("notice");
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta"]);

/** Say to everybody why nothing on the page changed, or what comes next; in sight until the next key or press. */
export function notify(words) {
  announce(words);
  notice.textContent = words;
  notice.hidden = false;
}

/** The event that made a notice has passed here before, so it stays until the next one. */
function hideNotice(event) {
  if (!MODIFIERS.has(event.key)) {
    notice.hidden = true;
  }
}
for (const name of ["keydown", "pointerdown"]) {
  window.addEventListener(name, hideNotice, { capture: true });
}

/** Show what was wrong, to everybody, until the next act; without words, no longer. */
export function showProblem(words) {
  problem.textContent = words;
  problem.hidden = !words;
}
