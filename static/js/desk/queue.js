// Acts on their way to the server: each shows at once and is sent, in order and one at a time, until the server has answered.
//
// What is not yet saved is kept in localStorage (ids and states, and the note or memo the person typed) and survives a
// reload; it is removed when the server has it. Every act carries an id of its own, under which the server stores it
// once, so sending one twice does no harm.

import { replaceMarks, showActs } from "./marks.js";
import { announce, isSentence, post, showProblem, site, storageName } from "./page.js";
import { clearRefused, keepRefused, showState } from "./save_state.js";
import { currentRow, findRow, numberOf } from "./sentences.js";
import { Stored } from "./storage.js";

const WAITS = [1, 2, 4, 8, 15, 30];
const PATIENCE = 30_000;

const stored = new Stored(window.localStorage, storageName("queue"), []);
// What waits for the server's answer, and what was done since it last refused something.
const outcomes = new Map();
const doneSince = new Set();
const savedListeners = [];
const refusedListeners = [];
let isDraining = false;
let failures = 0;
let isHeld = false;
let wasRefused = false;
let wake = null;

/** Call back with each change that the server has stored, and its id there, after the page shows it. */
export const onActSaved = (listener) => savedListeners.push(listener);

/** Call back with each change that the server has refused. */
export const onActRefused = (listener) => refusedListeners.push(listener);

/** Show what is not saved since an earlier page, and go on sending it. */
export function startQueue() {
  showActs(pendingActs());
  window.addEventListener("online", wakeUp);
  document.addEventListener("visibilitychange", wakeUp);
  window.addEventListener("beforeunload", (event) => {
    if (pendingActs().length) {
      event.preventDefault();
    }
  });
  if (pendingActs().length) {
    drain();
  }
}

export const pendingActs = () => stored.read();

/**
 * Show acts and send them in their order: {id, kind, sentence, fields, …}. Gives a promise of whether the server stored them all;
 * it waits as long as the acts do.
 */
export function perform(...acts) {
  showProblem("");
  showActs(acts);
  const saved = acts.map(({ id }) => new Promise((resolve) => outcomes.set(id, resolve)));
  for (const { id } of acts) {
    doneSince.add(id);
  }
  stored.write([...pendingActs(), ...acts]);
  tellState();
  drain();
  if (document.activeElement === document.body) {
    currentRow()?.focus({ preventScroll: true });
  }
  return Promise.all(saved).then((each) => each.every(Boolean));
}

/** Show acts, send them, and say what was done once it is stored: a refusal is said in its place. */
export async function performAndTell(words, ...acts) {
  if (await perform(...acts)) {
    announce(words);
  }
}

async function drain() {
  if (isDraining) {
    return;
  }
  isDraining = true;
  try {
    // Two tabs on one interview share the queue; one of them sends.
    if (navigator.locks) {
      await navigator.locks.request(storageName("queue"), sendAll);
    } else {
      await sendAll();
    }
  } finally {
    isDraining = false;
  }
  tellState();
}

async function sendAll() {
  for (let act = pendingActs()[0]; act; act = pendingActs()[0]) {
    tellState();
    if (await send(act)) {
      failures = 0;
    } else {
      failures += 1;
      tellState();
      await pause(WAITS[Math.min(failures, WAITS.length) - 1]);
    }
  }
}

/** Whether the act is settled: saved or refused. */
async function send(act) {
  let response;
  try {
    response = await sendFields(act);
  } catch {
    return false;
  }
  if (response.type === "opaqueredirect" || response.status === 401) {
    isHeld = true;
    showProblem("You are signed out. Sign in again in another tab. Codes that are not saved yet are kept in this one.");
    return false;
  }
  if (isHeld) {
    isHeld = false;
    showProblem("");
  }
  if (response.status >= 500 || response.status === 429) {
    return false;
  }
  const words = await response.text().catch(() => null);
  if (words === null) {
    return false;
  }
  const storedId = response.headers.get("X-Desk-Stored");
  wasRefused = !response.ok;
  if (response.ok) {
    forget((other) => other.id !== act.id);
    settle(act, words, storedId ?? act.id);
  } else {
    const dependent = listDependent(act);
    forget(({ id }) => id !== act.id && !dependent.some((other) => other.id === id));
    rollBack(act, isSentence(response) ? words : `The server refused this (status ${response.status}).`, dependent);
  }
  return true;
}

function sendFields(act) {
  const body = new URLSearchParams({ idempotency_key: act.id, ...act.fields });
  return post(site[act.kind], body, { keepalive: body.toString().length < 30_000, signal: AbortSignal.timeout(PATIENCE) });
}

/** The server has stored an act: what it says takes the place of what the page showed. */
function settle(act, html, storedId) {
  if (storedId !== act.id) {
    renamePending(act.id, storedId);
  }
  if (html) {
    showAnswer(html, act.sentence);
  }
  // Acts that were on their way when another was refused leave its message in sight.
  if (doneSince.delete(act.id)) {
    clearRefused();
  }
  savedListeners.forEach((listener) => listener(act, storedId));
  tellOutcome(act, true);
}

/** The server refused an act, and with it those that depend on it: show its message, and what is stored. */
function rollBack(act, words, dependent) {
  takeBack(act, words);
  for (const other of dependent) {
    takeBack(other, "It belongs to what was not stored.");
  }
  const where = placeOf(act);
  showProblem(where && !words.startsWith(where) ? `${where}: ${words}` : words);
  doneSince.clear();
}

const placeOf = (act) => {
  const row = act.sentence ? findRow(act.sentence) : null;
  return row ? `Sentence ${numberOf(row)}` : "";
};

function takeBack(act, words) {
  keepRefused(act, placeOf(act), words);
  if (act.sentence) {
    refreshMarks(act.sentence);
  }
  refusedListeners.forEach((listener) => listener(act));
  tellOutcome(act, false);
}

function tellOutcome({ id }, isStored) {
  outcomes.get(id)?.(isStored);
  outcomes.delete(id);
}

/** What the server says of a sentence, and on it what the person has done meanwhile. */
const showAnswer = (html, sentence) => replaceMarks(html, sentence, pendingActs().filter((act) => act.sentence === sentence));

/** Show what the server has stored for a sentence and its turn; keeps trying while it cannot be reached. */
export async function refreshMarks(sentence, tries = 0) {
  const html = await readMarks(sentence);
  if (html === null) {
    setTimeout(() => refreshMarks(sentence, tries + 1), WAITS[Math.min(tries, WAITS.length - 1)] * 1000);
  } else {
    showAnswer(html, sentence);
  }
}

async function readMarks(sentence) {
  try {
    const response = await fetch(site.marks.replace("/0/", `/${sentence}/`), { headers: { "X-Desk": site.user }, redirect: "manual" });
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}

/** Acts that name what an act would have stored, or what one of them would have. */
function listDependent(act) {
  const gone = [act.id];
  for (const { id, fields } of pendingActs()) {
    if ([fields.coding, fields.decision, fields.again].some((named) => gone.includes(named))) {
      gone.push(id);
    }
  }
  return pendingActs().filter(({ id }) => id !== act.id && gone.includes(id));
}

function forget(isKept) {
  const acts = pendingActs().filter(isKept);
  if (acts.length) {
    stored.write(acts);
  } else {
    stored.clear();
  }
}

/** The server has the change under another id, because it was stored before: later changes must name that id. */
function renamePending(from, to) {
  const acts = pendingActs();
  if (acts.length) {
    const rename = (value) => (value === from ? to : value);
    stored.write(
      acts.map((act) => ({
        ...act,
        fields: Object.fromEntries(Object.entries(act.fields).map(([name, value]) => [name, rename(value)])),
      })),
    );
  }
}

function tellState() {
  const count = pendingActs().length;
  if (!count) {
    showState(wasRefused ? "refused" : "saved", 0);
  } else {
    showState(failures ? "unsaved" : "saving", count);
  }
}

function pause(seconds) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, seconds * 1000);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

function wakeUp() {
  if (document.visibilityState === "visible") {
    wake?.();
    if (pendingActs().length) {
      drain();
    }
  }
}

