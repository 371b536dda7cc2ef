// The two memo boxes as fields of the page. What is done with them is in memo.js.

export const textOf = (box) => box.querySelector("textarea");
export const kindOf = (box) => box.querySelector("select");

/** Open the memo box of the sentence, or of the interview; `kind` is proposed for a memo that is not begun. */
export function openMemo(isOfInterview, kind = "") {
  const box = document.getElementById(isOfInterview ? "interview-memo-box" : "memo-box");
  box.open = true;
  if (kind && !textOf(box).value) {
    kindOf(box).value = kind;
  }
  textOf(box).focus();
}
