// Memos: on the current sentence and on the interview. A text begun and left stays as a draft while the page is open.

import { memoKindOn, memoOn } from "./marks.js";
import { announce, makeIdempotencyKey } from "./page.js";
import { onActRefused, performAndTell } from "./queue.js";
import { currentRow, onCurrentChange, sentenceOf } from "./sentences.js";

const textareaOf = (box) => box.querySelector("textarea");
const kindOf = (box) => box.querySelector("select");

/** Open the memo box of the sentence, or of the interview; `kind` is proposed for a memo that is not begun. */
export function openMemo(isOfInterview, kind = "") {
  const box = document.getElementById(isOfInterview ? "interview-memo-box" : "memo-box");
  box.open = true;
  if (kind && !textareaOf(box).value) {
    kindOf(box).value = kind;
  }
  textareaOf(box).focus();
}

const drafts = new Map();

/** Both memo boxes: keys in them, saving, and drafts. */
export function startMemos() {
  const onSentence = document.getElementById("memo-box");
  const onInterview = document.getElementById("interview-memo-box");
  const ofInterview = { text: textareaOf(onInterview).value, kind: kindOf(onInterview).value };
  listen(onSentence, {
    sentence: () => sentenceOf(currentRow()),
    saved: () => ({ text: memoOn(currentRow()), kind: memoKindOn(currentRow()) }),
  });
  listen(onInterview, {
    sentence: () => null,
    saved: (memo) => (memo ? Object.assign(ofInterview, memo) : ofInterview),
  });
  onCurrentChange((row) => {
    const draft = drafts.get(sentenceOf(row));
    if (draft !== undefined) {
      textareaOf(onSentence).value = draft;
    }
    onSentence.open = draft !== undefined;
  });
  onActRefused((act) => {
    if (act.kind === "memo") {
      drafts.set(act.sentence, act.fields.text);
      const box = act.sentence ? onSentence : onInterview;
      if (!act.sentence || act.sentence === sentenceOf(currentRow())) {
        textareaOf(box).value = act.fields.text;
        box.open = true;
      }
    }
  });
  window.addEventListener("beforeunload", (event) => {
    if (drafts.size) {
      event.preventDefault();
    }
  });
}

/** Whether a memo was begun and is not sent. */
export const hasDrafts = () => drafts.size > 0;

function listen(box, { sentence, saved }) {
  const field = textareaOf(box);
  field.addEventListener("input", () => {
    if (field.value.trim() === saved().text) {
      drafts.delete(sentence());
    } else {
      drafts.set(sentence(), field.value);
    }
  });
  box.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    save(box, { sentence, saved });
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      save(box, { sentence, saved });
    } else if (event.key === "Escape") {
      event.preventDefault();
      leave(box);
      announce(drafts.has(sentence()) ? "Not saved. The draft is kept while this page is open." : "Closed.");
    }
  });
}

function save(box, { sentence, saved }) {
  const place = sentence();
  const text = textareaOf(box).value.trim();
  const kind = kindOf(box).value;
  const before = saved();
  drafts.delete(place);
  if (text !== before.text || (text && kind !== before.kind)) {
    const fields = { ...(place && { sentence: place }), text, kind };
    performAndTell(text ? "Memo saved." : "Memo removed.", { id: makeIdempotencyKey(), kind: "memo", sentence: place, fields });
    saved({ text, kind });
  }
  leave(box);
}

function leave(box) {
  box.open = false;
  currentRow()?.focus();
}
