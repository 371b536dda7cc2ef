// Ask the server for the codes, memos and decision of a sentence.

import { site } from "./page.js";
import { replaceMarks } from "./marks.js";
import { scheduleCount, showPressed } from "./code_panel.js";

const WAITS = [1, 3, 10, 30];

/** Show what the server has stored for a sentence and its turn; keeps trying while it cannot be reached. */
export async function refreshMarks(sentence, tries = 0) {
  const html = await read(sentence);
  if (html === null) {
    setTimeout(() => refreshMarks(sentence, tries + 1), WAITS[Math.min(tries, WAITS.length - 1)] * 1000);
    return;
  }
  replaceMarks(html, sentence);
  showPressed();
  scheduleCount();
}

async function read(sentence) {
  try {
    const response = await fetch(site.marks.replace("/0/", `/${sentence}/`), {
      headers: { "X-Desk": site.user },
      redirect: "manual",
    });
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}
