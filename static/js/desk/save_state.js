// Saving, saved, not saved, refused: true at every moment. It never says saved before the server has.

import { announce } from "./page.js";

const SPEAK_EVERY = 5_000;
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
    // The message itself is announced where it stands.
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
