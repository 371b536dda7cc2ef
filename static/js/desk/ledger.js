// The ledger of the thread: one line for each case feature that this person has entered, from the chips on the page. It is
// written when no key waits (panel.js).

import { FEATURES } from "./aim.js";
import { codes, findCode, make, site } from "./page.js";
import { Stored } from "./storage.js";

const box = document.getElementById("ledger");
const isOpen = new Stored(window.localStorage, `desk:ledger:${site.user}`, true);
const families = [...new Set(codes.filter(({ identifier }) => identifier.startsWith(FEATURES)).map(({ family }) => family))];
let shown = "";

export function startLedger() {
  box.open = isOpen.read();
  box.addEventListener("toggle", () => isOpen.write(box.open));
}

/** Write it anew, where it has changed. */
export function showLedger() {
  const lines = readLines();
  const told = JSON.stringify(lines);
  if (told === shown) {
    return;
  }
  shown = told;
  box.hidden = !lines.length;
  box.querySelector("ol").replaceChildren(...lines.map(makeLine));
}

/** The features in the order of their first entries, each with its statuses in the order of the text. */
function readLines() {
  const lines = new Map();
  for (const chip of listEntries()) {
    const { code } = chip.dataset;
    const turn = chip.closest("[data-turn]");
    const status = JSON.parse(chip.dataset.attributes ?? "{}").status ?? "";
    const isBackStage = turn.dataset.channel === "reasoning";
    const line = lines.get(code) ?? { code, turn: turn.id, statuses: [], isBackStage: true };
    line.statuses.push(status || "no status");
    line.isBackStage &&= isBackStage;
    lines.set(code, line);
  }
  return [...lines.values()];
}

function listEntries() {
  const chips = families.flatMap((family) => [...document.getElementsByClassName(`chip family-${family} own`)]);
  const entries = chips.filter((chip) => chip.dataset.code.startsWith(FEATURES) && chip.closest("#sheet [data-turn]"));
  return families.length < 2 ? entries : entries.sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
}

function makeLine({ code, turn, statuses, isBackStage }) {
  const name = findCode(code)?.name ?? code;
  const position = turn.replace("turn-", "");
  return make(
    "li",
    {},
    make("a", { href: `#${turn}` }, make("span", { class: "vh", text: "Turn " }), `#${position}`),
    " ",
    make("bdi", { text: name }),
    " ",
    make("span", { class: "statuses", text: statuses.join(" › ") }),
    ...(isBackStage ? [" ", make("span", { class: "tag", text: "in reasoning only" })] : []),
  );
}
