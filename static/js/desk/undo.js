// What was done here, to be undone and done again. Ids and states only; kept with the tab.

import { announce, findCodeById, make, makeClientId, storageName } from "./page.js";
import { Stored } from "./stored.js";

const LONGEST = 200;
const SHOWN = 12;
const stored = new Stored(window.sessionStorage, storageName("undo"), { done: [], undone: [] });

const makeAct = (kind, sentence, fields, more) => ({ id: makeClientId(), kind, sentence, fields, ...more });

const takeOff = ({ sentence, current }) => makeAct("withdraw", sentence, { coding: current });
const reopen = ({ sentence, current }) => makeAct("reopen", sentence, { decision: current });
const decide = ({ sentence, current }) => makeAct("decide", sentence, { sentence }, { standsFor: current });
const putAgain = ({ sentence, current, hint }) =>
  makeAct("add", sentence, { sentence, again: current }, { hint, standsFor: current });

/**
 * How to go back and forth on each kind of entry. `current` is the id under which it stands now, `before` that of what a
 * change replaced. What is put again stands under a new id, in every entry that knew it by the old one.
 */
const WAYS = {
  put: { back: takeOff, forth: putAgain },
  off: { back: putAgain, forth: takeOff },
  change: { back: (entry) => putAgain({ ...entry, current: entry.before, hint: entry.hintBefore }), forth: putAgain },
  decide: { back: reopen, forth: decide },
  reopen: { back: decide, forth: reopen },
};

/** Remember an entry {kind, sentence, number, current, hint: {code, level, enactment}, before, hintBefore}. */
export function remember(entry) {
  const { done } = stored.read();
  stored.write({ done: [...done, entry].slice(-LONGEST), undone: [] });
  showHistory();
}

/** The act that takes the last entry back, with its entry; null when there is none. */
export const undo = () => step("done", "undone", "back");
export const redo = () => step("undone", "done", "forth");

function step(from, to, way) {
  const stacks = stored.read();
  const entry = stacks[from].pop();
  if (!entry) {
    announce(way === "back" ? "Nothing to undo here." : "Nothing to do again.");
    return null;
  }
  const act = WAYS[entry.kind][way](entry);
  stacks[to].push(entry);
  stored.write(stacks);
  if (act.standsFor) {
    renameDone(act.standsFor, act.id);
  }
  showHistory();
  return { act, words: `${way === "back" ? "Undone" : "Done again"}: ${tell(entry)}` };
}

/** Something stands under another id now: put again, or known to the server under an id of its own. */
export function renameDone(from, to) {
  const rename = (entry) => ({
    ...entry,
    current: entry.current === from ? to : entry.current,
    before: entry.before === from ? to : entry.before,
  });
  const { done, undone } = stored.read();
  stored.write({ done: done.map(rename), undone: undone.map(rename) });
}

/** The server refused an act, so there is nothing of it to undo. */
export function forgetDone(id) {
  const isOther = (entry) => entry.current !== id;
  const { done, undone } = stored.read();
  stored.write({ done: done.filter(isOther), undone: undone.filter(isOther) });
  showHistory();
}

function tell(entry) {
  if (entry.kind === "decide" || entry.kind === "reopen") {
    return `${entry.kind === "decide" ? "nothing more" : "reopened"}, sentence ${entry.number}`;
  }
  const { code, level, enactment } = entry.hint;
  const how = [level === "latent" ? "latent" : "", enactment].filter(Boolean).join(", ");
  const name = findCodeById(code)?.name ?? "a code";
  return `${name}${how ? ` (${how})` : ""} ${entry.kind === "off" ? "off" : "on"} ${entry.number}`;
}

export function showHistory() {
  const { done, undone } = stored.read();
  const lines = [
    ...undone.slice(0, SHOWN).map((entry) => make("li", { class: "undone", text: `${tell(entry)}` })),
    ...done.slice(-SHOWN).reverse().map((entry) => make("li", { text: tell(entry) })),
  ];
  document.getElementById("history").replaceChildren(...lines.slice(0, SHOWN));
}
