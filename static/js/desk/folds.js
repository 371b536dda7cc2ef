// Long questions keep to a few lines, so that the answer has room; where words are out of sight, a button shows more.

import { stick } from "./visibility.js";

const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const question = target.closest(".question");
    question.classList.toggle("cut", question.classList.contains("whole") || target.scrollHeight > target.clientHeight + 2);
  }
});

/** Watch the questions that may be cut; the button of each is in sight only where its question is. */
export function startFolds() {
  for (const words of document.querySelectorAll(".question .words[tabindex]")) {
    observer.observe(words);
  }
  document.getElementById("sheet").addEventListener("click", (event) => {
    const button = event.target.closest("button.unfold");
    if (button) {
      const question = button.closest(".question");
      const isWhole = question.classList.toggle("whole");
      button.setAttribute("aria-expanded", String(isWhole));
      stick(question);
      button.firstChild.data = isWhole ? "less" : "more";
    }
  });
}
