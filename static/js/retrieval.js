// Results by keyboard: move over them, open what is around one, go to the desk there. Works on the list only, so that
// single keys do nothing where somebody types or reads another part of the page.

const findings = document.getElementById("findings");
const rows = [...document.querySelectorAll("#results > .result")];
let current = -1;

const keys = {
  j: () => move(1),
  ArrowDown: () => move(1),
  k: () => move(-1),
  ArrowUp: () => move(-1),
  Home: () => select(0),
  End: () => select(rows.length - 1),
  o: () => toggleAround(),
  Enter: () => rows[current]?.querySelector(".to-desk").click(),
  "/": () => document.getElementById("id_words").focus(),
};

if (findings && rows.length) {
  rows[0].tabIndex = 0;
  findings.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || (event.shiftKey && event.key !== "/")) {
      return;
    }
    // Enter acts on the result that has the focus.
    if (event.key === "Enter" && (target.closest("a, summary") || !target.closest(".result"))) {
      return;
    }
    if (event.key in keys) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  findings.addEventListener("focusin", (event) => {
    const row = event.target.closest(".result");
    if (row) {
      mark(rows.indexOf(row));
    }
  });
}

function move(step) {
  select(Math.min(Math.max(current + step, 0), rows.length - 1));
}

function select(place) {
  mark(place);
  rows[place].focus();
  rows[place].scrollIntoView({ block: "nearest" });
}

/** By keyboard the list is one stop; inside it the arrows move. */
function mark(place) {
  if (rows[current]) {
    rows[current].tabIndex = -1;
    rows[current].removeAttribute("aria-current");
  }
  current = place;
  rows[current].tabIndex = 0;
  rows[current].setAttribute("aria-current", "true");
}

function toggleAround() {
  const around = rows[current]?.querySelector(".around");
  if (around) {
    around.open = !around.open;
  }
}
