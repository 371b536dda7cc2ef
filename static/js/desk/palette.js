// Find a code by name, other names or definition; what was used last comes first. Or find words in the interview.

import { recentCodes, toggleCode } from "./coding.js";
import { keycapOf } from "./key_layout.js";
import { codes, make, site } from "./page.js";
import { currentRow } from "./sentences.js";

const dialog = document.getElementById("palette");
const input = document.getElementById("palette-text");
const place = document.getElementById("palette-place");
const list = document.getElementById("palette-list");
const panelTitle = document.querySelector("#panel h2");
// Nothing is chosen until somebody types or moves: Enter alone, as where a screen reader kept the letters, applies no code.
const NONE = -1;
let found = [];
let chosen = NONE;

export function startPalette() {
  input.addEventListener("input", () => show(0));
  input.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      const from = chosen === NONE && event.key === "ArrowUp" ? 0 : chosen;
      choose((from + steps[event.key] + found.length) % (found.length || 1));
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(event.shiftKey);
    }
  });
  list.addEventListener("click", (event) => {
    const option = event.target.closest("[role='option']");
    if (option) {
      chosen = [...list.children].indexOf(option);
      take(event.shiftKey);
    }
  });
  dialog.addEventListener("close", () => {
    // A code that asks something has the focus by now: in its line, or in the picker where its status is asked.
    const row = currentRow();
    if (!row?.contains(document.activeElement) && !document.activeElement?.closest("#picker")) {
      row?.focus();
    }
  });
}

export function openPalette() {
  input.value = "";
  place.textContent = ` for ${panelTitle.textContent.toLowerCase()}`;
  show(NONE);
  dialog.showModal();
  input.focus();
}

/** How well a code answers a query; 0 when a word of it is found nowhere. */
function rank(code, query, recent) {
  let score = 1;
  for (const word of query.toLowerCase().split(/\s+/).filter(Boolean)) {
    const points = Math.max(
      weigh(code.name, word, 100),
      ...code.aliases.map((alias) => weigh(alias, word, 60)),
      weigh(code.familyName, word, 30),
      weigh(code.identifier, word, 20),
      weigh(code.definition, word, 10),
    );
    if (!points) {
      return 0;
    }
    score += points;
  }
  const at = recent.indexOf(code.identifier);
  return at < 0 ? score : score + 9 - at;
}

/** The whole weight where the text begins with the word, less where a word of it does, least inside a word. */
function weigh(text, word, weight) {
  const at = text.toLowerCase().indexOf(word);
  if (at < 0) {
    return 0;
  }
  if (at === 0) {
    return weight;
  }
  return text.toLowerCase().includes(` ${word}`) ? weight * 0.8 : weight * 0.5;
}

function show(at) {
  const recent = recentCodes();
  const ranked = codes.map((code) => ({ code, score: rank(code, input.value, recent) }));
  found = ranked.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score).map(({ code }) => code);
  list.replaceChildren(...found.map(makeOption));
  const words = input.value.trim();
  if (words) {
    // After the codes, so that Enter takes a code where there is one.
    list.append(makeSearch(words, found.length));
    found.push(null);
  }
  choose(at);
}

function makeOption(code, at) {
  const option = make("li", { role: "option", id: `option-${at}`, class: `family-${code.family}`, "aria-selected": "false" });
  if (code.key) {
    option.append(make("kbd", { text: keycapOf(code.key) }), " ");
  }
  option.append(
    make("b", { text: code.name }),
    ` ${code.familyName}${code.ofTurn ? ", of the turn" : ""}`,
    make("small", { text: code.definition }),
  );
  return option;
}

function makeSearch(words, at) {
  const option = make("li", { role: "option", id: `option-${at}`, "aria-selected": "false" });
  option.append(make("b", { text: `Search for “${words}”` }), " in this interview, tool calls and results included");
  return option;
}

function choose(at) {
  list.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = at;
  const option = list.children[at];
  option?.setAttribute("aria-selected", "true");
  option?.scrollIntoView({ block: "nearest" });
  if (option) {
    input.setAttribute("aria-activedescendant", option.id);
  } else {
    input.removeAttribute("aria-activedescendant");
  }
}

function take(isLatent) {
  const code = found[chosen];
  if (code === null) {
    window.location.assign(`${site.search}?${new URLSearchParams({ words: input.value.trim(), interview: site.interview })}`);
  } else if (code) {
    dialog.close();
    toggleCode(code, isLatent && code.level ? "latent" : "semantic");
  }
}
