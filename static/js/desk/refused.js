// Acts that the server refused, in sight until the next one is stored or the person dismisses them. What she typed stays until
// she does: nothing of it is lost without a word.

import { findCodeById, make, storageName } from "./page.js";
import { Stored } from "./storage.js";

const MAX_STORED = 50;
const stored = new Stored(window.localStorage, storageName("refused"), []);
const part = document.getElementById("refused");

export function startRefused() {
  part.addEventListener("click", (event) => {
    const act = event.target.closest("button")?.value;
    if (act === "reload") {
      window.location.reload();
    } else if (act === "dismiss") {
      stored.clear();
      show();
    }
  });
  show();
}

/** Keep an act with the sentence that says why it was refused. */
export function keepRefused(act, where, why) {
  const wasTyped = Boolean(act.fields.note || act.fields.text || act.fields.reason);
  stored.write([...stored.read(), { what: describe(act), where, why, wasTyped }].slice(-MAX_STORED));
  show();
}

/** Something that was done since is stored: what was refused before is over, apart from what was typed. */
export function clearRefused() {
  const acts = stored.read();
  if (acts.some(({ wasTyped }) => wasTyped === false)) {
    stored.write(acts.filter(({ wasTyped }) => wasTyped !== false));
    show();
  }
}

function describe(act) {
  const { fields, hint } = act;
  const code = findCodeById(fields.code ?? hint?.code)?.name ?? "a code";
  const said = [fields.level === "latent" ? "latent" : "", fields.enactment, fields.note].filter(Boolean).join(", ");
  const words = {
    add: `${code}${said ? ` (${said})` : ""}`,
    withdraw: "removing a code",
    decide: "nothing more here",
    reopen: "taking the decision back",
    link: `a link of ${code}`,
    unlink: `removing a link of ${code}`,
    memo: `memo: ${fields.text}`,
  };
  return words[act.kind] ?? act.kind;
}

function show() {
  const acts = stored.read();
  part.hidden = !acts.length;
  part.querySelector("ul").replaceChildren(
    ...acts.map(({ what, where, why }) =>
      make("li", {}, make("b", { text: where ? `${where}: ` : "" }), make("bdi", { text: what }), make("span", { class: "small", text: ` ${why}` })),
    ),
  );
}
