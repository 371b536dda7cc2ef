// “Got it” beside what the desk is for. Sent without leaving the page, so that one keeps one's place.

import { showProblem } from "./page.js";
import { currentRow } from "./sentences.js";

export function startIntroduction() {
  const box = document.querySelector(".introduction");
  box?.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const { action } = event.target;
    try {
      const answer = await fetch(action, { method: "POST", body: new FormData(event.target), headers: { "HX-Request": "true" } });
      if (!answer.ok || answer.redirected) {
        throw new Error(`${action} answered ${answer.status}`);
      }
    } catch {
      showProblem("The line at the top could not be put away. Try again later.");
      return;
    }
    box.remove();
    currentRow()?.focus({ preventScroll: true });
  });
}
