// What the page says of saving: saved or not, and what the server refused. It never says saved before the server has.

import { announce, findCodeById, make, storageName } from "./page.js";
import { Stored } from "./storage.js";

const SPEAK_EVERY = 5_000;
const MAX_STORED = 50;
const refused = new Stored(window.localStorage, storageName("refused"), []);
const part = document.getElementById("refused");
const line = document.getElementById("savestate");
let spokenAt = 0;
let wasUnsaved = false;
let hasSaved = false;

/** Show what the queue says: "saving", "unsaved", "refused" or "saved", and how many acts wait. */
export function showState(state, count) {
  // A class, which only trouble changes: a selector of every state would have all chips of the page looked at twice in each act.
  document.documentElement.classList.toggle("unsaved", state === "unsaved");
  line.dataset.state = state;
  if (state === "saving") {
    line.textContent = "saving…";
    hasSaved = true;
  } else if (state === "unsaved") {
    line.textContent = `not saved (${count})`;
    hasSaved = true;
    wasUnsaved = true;
    speak(`Not saved: ${count}. Trying again.`);
  } else if (state === "refused") {
    // The message announces itself.
    line.textContent = "last change not saved";
    hasSaved = true;
    wasUnsaved = false;
  } else {
    line.textContent = hasSaved ? `saved ${clock()}` : "all saved";
    if (wasUnsaved) {
      wasUnsaved = false;
      spokenAt = 0;
      speak("All saved.");
    }
  }
}

const clock = () => new Date().toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });

function speak(words) {
  if (Date.now() - spokenAt > SPEAK_EVERY) {
    spokenAt = Date.now();
    announce(words);
  }
}

/** Acts that the server refused stay in sight until the next one is stored, and what was typed until the person dismisses it. */
export function startRefused() {
  part.addEventListener("click", (event) => {
    const act = event.target.closest("button")?.value;
    if (act === "reload") {
      window.location.reload();
    } else if (act === "dismiss") {
      refused.clear();
      showRefused();
    }
  });
  showRefused();
}

/** Keep an act with the sentence that says why it was refused. */
export function keepRefused(act, where, why) {
  const wasTyped = Boolean(act.fields.note || act.fields.text || act.fields.reason);
  refused.write([...refused.read(), { what: describe(act), where, why, wasTyped }].slice(-MAX_STORED));
  showRefused();
}

/** Something that was done since is stored: what was refused before is over, apart from what was typed. */
export function clearRefused() {
  const acts = refused.read();
  if (acts.some(({ wasTyped }) => wasTyped === false)) {
    refused.write(acts.filter(({ wasTyped }) => wasTyped !== false));
    showRefused();
  }
}

function describe(act) {
  const { fields, hint } = act;
  const code = findCodeById(fields.code ?? hint?.code)?.name ?? "a code";
  const said = [fields.level === "latent" ? "latent" : "", fields.enactment, fields.note].filter(Boolean).join(", ");
  const words = {
    add: `${code}${said ? ` (${said})` : ""}`,
    withdraw: "removing a code",
    decide: "nothing more here",
    reopen: "taking the decision back",
    link: `a link of ${code}`,
    unlink: `removing a link of ${code}`,
    memo: `memo: ${fields.text}`,
  };
  return words[act.kind] ?? act.kind;
}

function showRefused() {
  const acts = refused.read();
  part.hidden = !acts.length;
  part.querySelector("ul").replaceChildren(
    ...acts.map(({ what, where, why }) =>
      make("li", {}, make("b", { text: where ? `${where}: ` : "" }), make("bdi", { text: what }), make("span", { class: "small", text: ` ${why}` })),
    ),
  );
}
