// Passages worked through by keyboard: adjudication, and the lists of disagreements. Without this the pages are plain links
// and forms; a key only presses what carries it in data-key, in the card where one is.

const cards = [...document.querySelectorAll("[data-worked]")];
let current = null;
let isSent = false;

const isTyping = (target) => target.closest("textarea, select, input:not([type=radio], [type=checkbox])") !== null;
const foldOf = (card) => card?.querySelector("details.choose") ?? null;

/** Make a card the one that keys act on. The fold with its choices opens, and that of the card before closes. */
function goTo(card, { focus = true } = {}) {
  if (card === current) {
    return;
  }
  const fold = foldOf(current);
  if (fold && !fold.querySelector("input:checked, [aria-invalid]")) {
    fold.open = false;
  }
  current?.removeAttribute("aria-current");
  current = card;
  if (cards.length > 1 || foldOf(card)) {
    card.setAttribute("aria-current", "true");
  }
  foldOf(card)?.setAttribute("open", "");
  if (focus) {
    card.tabIndex = -1;
    card.focus({ preventScroll: true });
    const isTall = card.offsetHeight > window.innerHeight;
    card.scrollIntoView({ block: isTall ? "start" : "nearest" });
  }
}

/** The next card or the one before. After the last card of a page, the next page opens. */
function step(by) {
  const next = cards[cards.indexOf(current) + by];
  if (next) {
    goTo(next);
    return;
  }
  const page = document.querySelector(`.pagination a[rel="${by > 0 ? "next" : "prev"}"]`);
  if (page) {
    page.hash = by > 0 ? "first" : "last";
    page.click();
  }
}

/** Whether an arrow still has to scroll within the current card, because its end is out of sight. */
function isMoreOf(card, by) {
  const { top, bottom } = card.getBoundingClientRect();
  return by > 0 ? bottom > window.innerHeight && top <= 1 : top < 0 && bottom >= window.innerHeight - 1;
}

/** Press what has a key in the current card; whether there was anything. */
function press(key) {
  const control = current.querySelector(`[data-key="${CSS.escape(key)}"]`);
  if (!control) {
    return false;
  }
  if (control.closest("details")) {
    control.closest("details").open = true;
  }
  if (control.type === "radio") {
    control.checked = true;
    control.dispatchEvent(new Event("change", { bubbles: true }));
    focusOn(control);
  } else if (control.matches("textarea")) {
    control.focus();
  } else {
    control.click();
  }
  return true;
}

/** Where the choice goes on: choosing another reading shows its codes. */
function focusOn(radio) {
  const codes = document.getElementById(radio.dataset.opens ?? "");
  if (codes) {
    codes.open = true;
  }
  (codes?.querySelector("input") ?? radio).focus();
}

/**
 * Send what was chosen, once what is missing was filled in; without a choice go to the next passage. A screen reader passes Enter on
 * wherever it reads: outside the passage it only leads to what was chosen.
 */
function goOn(target) {
  const chosen = current.querySelector("form input[type=radio]:checked");
  if (chosen && !current.contains(target)) {
    chosen.focus();
  } else if (chosen) {
    const missing = [...chosen.form.querySelectorAll("textarea:required")].find((field) => field.value.trim() === "");
    if (missing) {
      missing.focus();
    } else {
      chosen.form.requestSubmit();
    }
  } else if (document.getElementById("following")) {
    document.getElementById("following").click();
  } else {
    step(1);
  }
}

function onKey(event) {
  const { target, key } = event;
  if (event.defaultPrevented || event.altKey || event.metaKey || event.isComposing) {
    return;
  }
  if (key === "Enter") {
    const isControl = target.closest("a, button, summary, select, input[type=checkbox]") !== null;
    if (event.ctrlKey ? current.contains(target) : !isControl && !isTyping(target)) {
      event.preventDefault();
      goOn(target);
    }
    return;
  }
  if (event.ctrlKey || isTyping(target)) {
    return;
  }
  const by = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (by && cards.length > 1) {
    // Among choices the arrows go from one to the other.
    if (!target.matches("input[type=radio]") && !isMoreOf(current, by)) {
      event.preventDefault();
      step(by);
    }
  } else if (press(key.toLowerCase())) {
    event.preventDefault();
  }
}

if (cards.length) {
  const named = location.hash === "#last" ? cards.at(-1) : document.getElementById(location.hash.slice(1));
  const asked = cards.includes(named) ? named : cards.find((card) => card.querySelector(".errorlist"));
  const place = asked ?? cards[0];
  const isAsked = place === asked || location.hash === "#first";
  // On a page of its own a passage has a heading that takes the focus; a list that nobody went through yet begins at its top.
  goTo(place, { focus: isAsked });
  document.addEventListener("keydown", onKey);
  document.addEventListener("focusin", ({ target }) => {
    const card = target.closest("[data-worked]");
    if (card) {
      goTo(card, { focus: false });
    }
  });
  document.addEventListener("submit", (event) => {
    if (event.target.closest("[data-worked]")) {
      if (isSent) {
        event.preventDefault();
      }
      isSent = true;
    }
  });
  window.addEventListener("pageshow", () => {
    isSent = false;
  });
}
