// What the next evidence is for, unless something else asks: the entry of a feature, or the Revise, that was applied last in
// this thread. Kept by its place and code, for its id changes whenever it is changed.

import { storageName } from "./page.js";
import { Stored } from "./storage.js";

export const MOVES = "move.";
export const FEATURES = "feature.";
export const REVISE = "move.revise";

const aimed = new Stored(window.localStorage, storageName("evidence-for"), null);

const listeners = [];

/** Be told when the next evidence is for another coding. */
export const onAim = (listener) => listeners.push(listener);

/** A code was applied at a sentence. */
export function aimAt(sentence, { identifier }) {
  if (identifier.startsWith(FEATURES) || identifier === REVISE) {
    aimed.write({ sentence, code: identifier });
    listeners.forEach((listener) => listener());
  }
}

/** {sentence, code} or null. */
export const aimedAt = () => aimed.read();
