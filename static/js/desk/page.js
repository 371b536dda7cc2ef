// The page as the server made it: its addresses, its codes with their keys, its lasting parts, and how one posts to it.

import { keycapOf } from "./key_layout.js";

/** What the server says about this page: who codes which interview, and where acts are posted. */
export const site = document.getElementById("transcript").dataset;

/** Where the keys of this person lie: {acts: {name: key}, codes: {identifier: key}}; an empty key is switched off. */
export const keymap = JSON.parse(document.getElementById("keymap").textContent);

/** Every code of the codebook in the order of the panel: {id, identifier, name, key, aliases, definition, …}. */
export const codes = JSON.parse(document.getElementById("codes").textContent);
for (const code of codes) {
  code.key = keymap.codes[code.identifier] ?? "";
}

const byIdentifier = new Map(codes.map((code) => [code.identifier, code]));
const byId = new Map(codes.map((code) => [String(code.id), code]));

/** How the identifiers of moves and of case features begin, and that of the move that changes an earlier one. */
export const MOVES = "move.";
export const FEATURES = "feature.";
export const REVISE = "move.revise";

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

/** Write a text only where it differs: replaced text is laid out again, and most texts come back as they were. */
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

/** Whether this interview takes no codes from this person; says why. */
export function isClosed() {
  if (site.closed) {
    showProblem(site.closed);
  }
  return Boolean(site.closed);
}

/** Post fields as this person. An answer that leads elsewhere, as to the page where one signs in, is not followed. */
export const post = (address, fields, options = {}) =>
  fetch(address, {
    method: "POST",
    body: new URLSearchParams(fields),
    headers: { "X-Desk": site.user, "X-CSRFToken": readCookie(site.csrfCookie) },
    redirect: "manual",
    ...options,
  });

/** Whether the server refuses something in a sentence that the person can read. */
export const isSentence = (response) => response.headers.get("Content-Type")?.startsWith("text/plain") ?? false;

/** The token changes when somebody signs in, in whatever tab, so it is read every time. */
function readCookie(name) {
  const found = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${name}=`));
  return found ? found.slice(name.length + 1) : "";
}

/** Show every key in a part of the page as this person has set it, and as her keyboard prints it. */
export function showKeys(part) {
  for (const button of part.querySelectorAll("#panel button.code")) {
    const { key } = findCode(button.dataset.code);
    button.firstElementChild.replaceWith(
      key ? make("kbd", { text: keycapOf(key) }) : make("span", { class: "keyless", "aria-hidden": "true", text: "·" }),
    );
  }
  for (const cap of part.querySelectorAll("[data-act]")) {
    const key = keymap.acts[cap.dataset.act];
    cap.hidden = !key;
    write(cap, key ? keycapOf(key) : "");
  }
  for (const cap of part.querySelectorAll("kbd[data-key]")) {
    write(cap, keycapOf(cap.dataset.key));
  }
  for (const cap of part.querySelectorAll(".chip [data-cap]")) {
    const code = findCode(cap.closest(".chip").dataset.code);
    if (code) {
      write(cap, signOf(code, Boolean(cap.closest(".chip.latent"))));
    }
  }
}

/** What a chip shows: the key of its code as it was pressed, or two letters of the family of a code without one. */
export const signOf = (code, isLatent) => (code.key ? keycapOf(code.key, isLatent) : abbreviate(code.familyName));

/** The same two letters as the server's. */
function abbreviate(name) {
  const words = name.trim().split(/\s+/);
  return (words.length > 1 ? [...words[0]][0] + [...words[1]][0] : [...name].slice(0, 2).join("")).toUpperCase();
}
