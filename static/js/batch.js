// The live page of a batch. htmx asks every two seconds; this says what is known already, so that only what changed comes
// back (or 304), says when the page is out of date, and keeps the focus of people who use the controls.

import { cameFromThere, toTime } from "./live.js";

const stale = document.getElementById("stale");
const since = document.getElementById("stale-since");
let tag = document.getElementById("poll")?.dataset.tag ?? "";
let lastHeard = new Date();
let held = null;

const isPoll = (event) => event.detail.elt?.id === "poll";

document.addEventListener("htmx:configRequest", (event) => {
  if (isPoll(event)) {
    event.detail.headers["If-None-Match"] = tag;
  }
});

document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr, requestConfig } = event.detail;
  if (requestConfig?.elt?.id !== "poll") {
    return;
  }
  if (xhr.status === 304) {
    event.detail.shouldSwap = false;
    event.detail.isError = false;
  }
  // Somebody who was signed out meanwhile gets the sign-in page, which is none of the parts.
  if (xhr.status === 200 && !cameFromThere(event.detail)) {
    event.detail.shouldSwap = false;
    tellStale();
    return;
  }
  if (xhr.status < 400) {
    lastHeard = new Date();
    stale.hidden = true;
    // A proxy may take the tag away: then every answer comes whole.
    tag = xhr.status === 200 ? (xhr.getResponseHeader("ETag") ?? "") : tag;
  }
});

for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, (event) => {
    if (isPoll(event)) {
      tellStale();
    }
  });
}

function tellStale() {
  if (stale.hidden) {
    since.textContent = toTime(lastHeard);
    stale.hidden = false;
  }
}

// The controls are swapped when the state changed: what was typed stays, and focus goes to the same control or the heading.
document.addEventListener("htmx:oobBeforeSwap", ({ target }) => {
  if (target.id === "live-controls") {
    const typed = [...target.querySelectorAll("input:not([type='hidden'])")].filter((input) => input.value !== input.defaultValue);
    held = { hadFocus: target.contains(document.activeElement), values: typed.map((input) => [input.id, input.value]) };
  }
});

document.addEventListener("htmx:afterSettle", () => {
  if (!held) {
    return;
  }
  for (const [id, value] of held.values) {
    const input = document.getElementById(id);
    if (input) {
      input.value = value;
    }
  }
  if (held.hadFocus && !document.getElementById("live-controls").contains(document.activeElement)) {
    document.getElementById("controls-title")?.focus({ preventScroll: true });
  }
  held = null;
});
