// Acts on their way to the server: in order, one at a time, each until the server has answered.
//
// What is not yet saved is kept in localStorage (ids and states, and the note or memo the person typed) and survives a
// reload; it is removed when the server has it. Every act carries an id of its own, under which the server stores it
// once, so sending one twice does no harm.

import { site, storageName } from "./page.js";
import { Stored } from "./storage.js";

const WAITS = [1, 2, 4, 8, 15, 30];
const PATIENCE = 30_000;

const stored = new Stored(window.localStorage, storageName("queue"), []);
let listener = null;
let isDraining = false;
let failures = 0;
let isHeld = false;
let wasRefused = false;
let wake = null;

/**
 * `onState(state, count)`: "refused" when nothing waits and the last act was not stored. `onSaved(act, html, storedId)`,
 * `onRefused(act, words, dependent)`, with the acts that cannot be stored without it; `onHeld(words)` when the person has to do something first, and again without words when she has.
 */
export function startQueue(callbacks) {
  listener = callbacks;
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

/** Send acts in their order: {id, kind, sentence, fields, …}. */
export function enqueue(...acts) {
  stored.write([...stored.read(), ...acts]);
  tellState();
  drain();
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
  for (let act = stored.read()[0]; act; act = stored.read()[0]) {
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
    response = await post(act);
  } catch {
    return false;
  }
  if (response.type === "opaqueredirect" || response.status === 401) {
    isHeld = true;
    listener.onHeld("You are signed out. Sign in again in another tab. Codes that are not saved yet are kept in this one.");
    return false;
  }
  if (isHeld) {
    isHeld = false;
    listener.onHeld("");
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
    listener.onSaved(act, words, storedId ?? act.id);
  } else {
    const dependent = listDependent(act);
    forget(({ id }) => id !== act.id && !dependent.some((other) => other.id === id));
    const isSentence = response.headers.get("Content-Type")?.startsWith("text/plain");
    listener.onRefused(act, isSentence ? words : `The server refused this (status ${response.status}).`, dependent);
  }
  return true;
}

function post(act) {
  const body = new URLSearchParams({ idempotency_key: act.id, ...act.fields });
  return fetch(site[act.kind], {
    method: "POST",
    body,
    headers: { "X-Desk": site.user, "X-CSRFToken": readCookie(site.csrfCookie) },
    redirect: "manual",
    keepalive: body.toString().length < 30_000,
    signal: AbortSignal.timeout(PATIENCE),
  });
}

/** The token changes when somebody signs in, in whatever tab, so it is read anew every time. */
export function readCookie(name) {
  const found = document.cookie.split("; ").find((cookie) => cookie.startsWith(`${name}=`));
  return found ? found.slice(name.length + 1) : "";
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
  const acts = stored.read().filter(isKept);
  if (acts.length) {
    stored.write(acts);
  } else {
    stored.clear();
  }
}

/** The server has the change under another id, because it was stored before: later changes must name that id. */
export function renamePending(from, to) {
  const acts = stored.read();
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
    listener.onState(wasRefused ? "refused" : "saved", 0);
  } else {
    listener.onState(failures ? "unsaved" : "saving", count);
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
