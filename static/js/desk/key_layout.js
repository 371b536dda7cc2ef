// Keys by where they lie (event.code), shown as this person's keyboard prints them. Some are known by a name instead
// (Enter, ArrowDown), and two by what they print ("sign:/"), wherever a layout has that.

const PRINTED = {
  Minus: "-", Equal: "=", BracketLeft: "[", BracketRight: "]", Semicolon: ";", Quote: "'", Comma: ",", Period: ".",
  Slash: "/", Backslash: "\\", Backquote: "`",
};
const NAMED = {
  Enter: "Enter", ArrowDown: "↓", ArrowUp: "↑", PageDown: "PgDn", PageUp: "PgUp", Home: "Home", End: "End",
};
const SIGN = "sign:";
let layout = null;

/** Whether a key prints something, so that it acts only where single keys are switched on. */
export const prints = (key) => !(key in NAMED);

/** Whether a key is one that can be given to a code or an act. */
export const isUsable = (key) => key in NAMED || key in PRINTED || /^(Key[A-Z]|Digit[0-9])$/.test(key);

/** The names under which an event's key may be known, what it prints first. */
export const namesOf = (event) => [SIGN + event.key, event.key in NAMED ? event.key : event.code];

/** What is printed on a key; its letter on a QWERTY keyboard if the browser does not say. */
export function keycapOf(key, isShifted = false) {
  const keycap = findKeycap(key);
  return isShifted && keycap.length === 1 ? keycap.toUpperCase() : keycap;
}

function findKeycap(key) {
  if (key.startsWith(SIGN)) {
    return key.slice(SIGN.length);
  }
  return NAMED[key] ?? layout?.get(key) ?? qwertyKeycapOf(key);
}

const qwertyKeycapOf = (key) => PRINTED[key] ?? key.replace(/^(Key|Digit)/, "").toLowerCase();

/** Ask the browser for the keyboard's layout; `onKnown` is called when it prints other letters than QWERTY. */
export async function readLayout(onKnown) {
  try {
    layout = (await navigator.keyboard?.getLayoutMap()) ?? null;
  } catch {
    // Not allowed here (an embedded page): the letters of a QWERTY keyboard are shown.
    return;
  }
  if (layout && [...layout].some(([key, keycap]) => isUsable(key) && keycap !== qwertyKeycapOf(key))) {
    onKnown();
  }
}
