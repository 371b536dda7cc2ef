// Keys by where they lie (event.code), shown as this person's keyboard prints them.

const OTHERS = {
  "-": "Minus", "=": "Equal", "[": "BracketLeft", "]": "BracketRight", ";": "Semicolon", "'": "Quote",
  ",": "Comma", ".": "Period", "/": "Slash", "\\": "Backslash", "`": "Backquote",
};
let layout = null;

/** Where a key lies that a codebook names by its letter on a QWERTY keyboard. */
export function positionOf(key) {
  if (/^[a-z]$/i.test(key)) {
    return `Key${key.toUpperCase()}`;
  }
  return /^[0-9]$/.test(key) ? `Digit${key}` : (OTHERS[key] ?? "");
}

/** What is printed on that key; the letter itself where the browser does not tell. */
export function capOf(key, isShifted = false) {
  const cap = layout?.get(positionOf(key)) ?? key;
  return isShifted ? cap.toUpperCase() : cap;
}

/** Ask the browser for the keyboard's layout; `onKnown` is called when it answers. */
export async function readLayout(onKnown) {
  try {
    layout = (await navigator.keyboard?.getLayoutMap()) ?? null;
  } catch {
    // Not allowed here (an embedded page): the letters of the codebook stand.
    return;
  }
  if (layout) {
    onKnown();
  }
}
