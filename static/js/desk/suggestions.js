// The machine half's panel: opened on request, after one's own decision. Its HTML comes from the server through htmx;
// what it may hold of keys is buttons with data-key.

import { decide } from "./coding.js";
import { decisionOn, isDecided } from "./marks.js";
import { announce, make, notify, post, showProblem, site } from "./page.js";
import { onActSaved, refreshMarks } from "./queue.js";
import { currentRow, exchangeOf, findRow, hasRange, numberOf, onCurrentChange, select, sentenceOf, turnOf } from "./sentences.js";
import { forgetDone, keepEntry, onUndo, remember } from "./undo_redo.js";

const region = document.getElementById("suggestions");
const body = document.getElementById("suggestions-body");
// Opens what has no button at a sentence: everything in a draft, and what is suggested for the interviewer's turns.
const atOnce = region?.querySelector(".open-at-once");
const isDraft = Boolean(atOnce?.hasAttribute("data-draft"));
let awaited = null;
let hadFocus = false;
let shown = null;
let stepping = null;
let loading = null;

export function startSuggestions() {
  if (!region) {
    return;
  }
  const closed = [...body.childNodes].map((node) => node.cloneNode(true));
  onActSaved((act) => {
    if (act.kind === "decide" && act.sentence === awaited) {
      awaited = null;
      // Who has gone on meanwhile did not ask for those of the sentence where she is now.
      if (sentenceOf(currentRow()) === act.sentence) {
        openSuggestions();
      }
    }
  });
  showWhereRead(currentRow());
  onCurrentChange((row) => {
    showWhereRead(row);
    if (shown && shown !== sentenceOf(row)) {
      tellClosed();
      shown = null;
      body.replaceChildren(...closed.map((node) => node.cloneNode(true)));
    }
  });
  window.addEventListener("pagehide", tellClosed);
  atOnce?.addEventListener("submit", (event) => {
    event.preventDefault();
    openSuggestions();
  });
  onUndo("answer", stepAnswer);
  listenToPanel();
  document.getElementById("transcript").addEventListener("click", (event) => {
    const button = event.target.closest(".open-suggestions");
    if (button && !window.htmx) {
      event.preventDefault();
      withHtmx(() => button.click());
    }
  });
}

/** Do what needs htmx. It is loaded when it is first wanted, for it reads the whole page when it starts. */
async function withHtmx(act) {
  loading ??= loadHtmx();
  try {
    await loading;
  } catch {
    loading = null;
    showProblem("The suggestions could not be loaded. Check the connection, and try again.");
    return;
  }
  act();
}

/** htmx starts at once in a page that is complete; in one that is nearly so it would wait for what was before. */
async function loadHtmx() {
  if (document.readyState !== "complete") {
    await new Promise((resolve) => window.addEventListener("load", resolve, { once: true }));
  }
  await new Promise((resolve, reject) => {
    const script = make("script", { src: site.htmx });
    script.addEventListener("load", resolve);
    script.addEventListener("error", reject);
    document.head.append(script);
  });
}

/** Machines read what the model says, and where the codebook has codes for them the interviewer's turns. */
const isRead = (row) => Boolean(row && turnOf(row)?.hasAttribute("data-answer")) || isQuestion(row);

const isQuestion = (row) => region.hasAttribute("data-questions") && Boolean(row?.closest(".question"));

/** Whether she has coded this turn of the interviewer or each sentence of it, or has decided the whole answer; the server judges. */
function isQuestionDecided(row) {
  const turn = turnOf(row);
  const answers = [...exchangeOf(row).querySelectorAll("[data-answer] .sentence")];
  const own = [...turn.querySelectorAll(".sentence")];
  return (
    Boolean(turn.querySelector(":scope > .marks .chip[data-coding]")) ||
    own.every(decisionOn) ||
    (answers.length > 0 && answers.every(decisionOn))
  );
}

/** Elsewhere nothing is promised. */
function showWhereRead(row) {
  region.hidden = !isRead(row);
  if (atOnce && !isDraft) {
    atOnce.hidden = !isQuestion(row);
  }
}

/** A digit chooses the enactment of the suggestion where the focus is, and accepts it. */
function acceptByDigit(event) {
  const form = event.target.matches("[data-digit]") ? event.target.form : null;
  const radio = form?.querySelector(`[data-digit="${/^Digit(\d)$/.exec(event.code)?.[1]}"]`);
  if (radio && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    radio.checked = true;
    form.querySelector("[data-key='k']").click();
  }
}

function listenToPanel() {
  const page = document.body;
  region.addEventListener("keydown", acceptByDigit);
  page.addEventListener("htmx:beforeSwap", ({ detail }) => {
    hadFocus = body.contains(document.activeElement);
    if (detail.target === body && detail.xhr.status === 409) {
      // Why nothing is shown yet.
      detail.shouldSwap = true;
    }
    if (detail.target === body && detail.shouldSwap && detail.serverResponse.includes("annotator-word")) {
      // From the moment they are seen a change asks for its reason.
      const row = findRow(detail.requestConfig.elt.dataset.sentence ?? "");
      row?.querySelector(":scope > .marks")?.setAttribute("data-seen", "");
    }
  });
  page.addEventListener("htmx:afterRequest", ({ detail }) => {
    if (detail.elt.matches(".open-suggestions")) {
      shown = detail.elt.dataset.sentence;
      region.scrollIntoView({ block: "nearest" });
      showOffer();
      if (detail.successful) {
        refreshMarks(shown);
      }
    }
  });
  page.addEventListener("htmx:afterSwap", () => {
    markOffer();
    // Who pressed a button of the panel goes on in the panel, though the button is another one now; at what was wrong first.
    const wrong = hadFocus && region.querySelector("[aria-invalid]");
    if (wrong) {
      wrong.focus({ preventScroll: true });
      wrong.parentElement.scrollIntoView({ block: "nearest" });
      keepInSight();
    } else if (hadFocus && document.activeElement === page) {
      region.querySelector(".suggestion-list")?.focus({ preventScroll: true });
    }
    if (!wrong) {
      showOffer();
    }
  });
  page.addEventListener("sentence-changed", ({ detail }) => refreshMarks(String(detail.sentence)));
  page.addEventListener("draft-opened", () => {
    site.opened = "";
  });
  page.addEventListener("suggestion-answered", ({ detail: { sentence, suggestion, verdict, address } }) => {
    if (wasStep(suggestion, true)) {
      return;
    }
    const row = findRow(sentence);
    announce(`Suggestion ${verdict}${row ? `, sentence ${numberOf(row)}` : ""}`);
    remember({
      kind: "answer",
      sentence: String(sentence),
      number: row ? numberOf(row) : "",
      current: nameOf(suggestion),
      hint: {},
      verdict,
      address,
    });
  });
  page.addEventListener("suggestion-taken-back", ({ detail: { suggestion } }) => {
    if (!wasStep(suggestion, false)) {
      announce("Response taken back");
      forgetDone(nameOf(suggestion));
    }
  });
}

/** Suggestions are judged by the sentence they are about: scrolling the panel into sight does not take that away. */
const keepInSight = () => findRow(shown ?? "")?.scrollIntoView({ block: "nearest" });

/** The suggestion that keys answer: the first that waits for an answer. */
const currentOffer = () => region?.querySelector(".suggestion[aria-current]");

function markOffer() {
  currentOffer()?.removeAttribute("aria-current");
  region.querySelector(".suggestion button[data-key]")?.closest(".suggestion").setAttribute("aria-current", "true");
}

/** Bring it into sight, for what is below the fold would be answered unseen. */
function showOffer() {
  currentOffer()?.scrollIntoView({ block: "nearest" });
  keepInSight();
}

/** The name of an answer in the list of what was done. */
const nameOf = (suggestion) => `suggestion-${suggestion}`;

/** The server keeps how long suggestions were open. */
function tellClosed() {
  const address = body.querySelector(".suggestion-list")?.dataset.close;
  if (address) {
    post(address, {}, { keepalive: true }).catch(() => {});
  }
}

/** Take an answer to a suggestion back, or give it again as it was; its panel shows again. */
function stepAnswer(entry, isRedo) {
  const { address, sentence, number, verdict } = entry;
  const row = findRow(sentence);
  if (row) {
    select(row);
  }
  shown = sentence;
  stepping = { entry, isRedo };
  const values = { act: isRedo ? "redo" : "undo" };
  withHtmx(() => window.htmx.ajax("POST", address, { source: body, target: body, swap: "innerHTML", values }));
  announce(`${isRedo ? "Redone" : "Undone"}: suggestion ${verdict}, sentence ${number}`);
}

/** Whether the server did the step that was asked for, which then can be gone the other way. */
function wasStep(suggestion, isRedo) {
  if (stepping?.entry.current !== nameOf(suggestion) || stepping.isRedo !== isRedo) {
    return false;
  }
  keepEntry(stepping.entry, isRedo);
  stepping = null;
  return true;
}

/** Open the suggestions for the current sentence. */
export function openSuggestions() {
  const row = currentRow();
  const button = row?.querySelector(".open-suggestions");
  if (!region) {
    notify("There are no suggestions on this site.");
  } else if (row && !isRead(row)) {
    notify("Machines annotate what the model says.");
  } else if (button) {
    button.click();
  } else if (row && site.closed && !isDraft && !(isQuestion(row) && isQuestionDecided(row))) {
    // She cannot decide here, so that it would be no help to ask for a decision.
    notify(`Suggestions open after your own decision, and you cannot decide here. ${site.closed}`);
  } else if (atOnce && isQuestion(row) && !isDraft && !isQuestionDecided(row)) {
    notify("Decide on this turn first: apply a code to it, or press Enter on every sentence of the answer.");
  } else if (atOnce && row && (isDraft || isQuestion(row))) {
    const source = atOnce.querySelector("button");
    // What is suggested for a turn of the interviewer is at its first sentence.
    const place = isQuestion(row) ? turnOf(row).querySelector(".sentence") : row;
    select(place);
    source.dataset.sentence = sentenceOf(place);
    const address = atOnce.dataset.address.replace("/0/", `/${sentenceOf(place)}/`);
    withHtmx(() => window.htmx.ajax("POST", address, { source, target: body, swap: "innerHTML" }));
  } else if (row && isDecided(row) && hasRange()) {
    notify("Suggestions open for one sentence at a time. Press Esc first.");
  } else if (row && isDecided(row)) {
    // What she has coded so far is her own decision from now on; it is stored before anything is shown.
    awaited = sentenceOf(row);
    decide({ stay: true });
  } else {
    notify("Decide on this sentence first: press Enter.");
  }
}

/** Open them as soon as the server has the decision that was just made. */
export function awaitSuggestions() {
  if (currentRow()?.querySelector(".open-suggestions")) {
    openSuggestions();
  } else if (isRead(currentRow())) {
    awaited = sentenceOf(currentRow());
  }
}

/** Press the button for a key of the suggestion that keys answer; whether it has one. */
export function pressInSuggestions(key) {
  const offer = currentOffer();
  const button = offer?.querySelector(`button[data-key="${key}"]`);
  if (offer && !button) {
    notify("This suggestion cannot be accepted. Press l to reject it.");
  }
  button?.click();
  return Boolean(button);
}
