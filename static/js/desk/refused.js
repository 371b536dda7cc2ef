// Acts that the server refused, kept in sight until the person has seen them: nothing she typed is lost without a word.

import { findCodeById, make, storageName } from "./page.js";
import { Stored } from "./stored.js";

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
  stored.write([...stored.read(), { what: describe(act), where, why }].slice(-MAX_STORED));
  show();
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
