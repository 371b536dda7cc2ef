// Pages that ask for one choice after another: a key presses what carries it in data-key. Forms work without.

const form = document.querySelector("form[data-choices]");

function findByKey(key) {
  return [...form.querySelectorAll("[data-key]")].find((candidate) => candidate.dataset.key === key) ?? null;
}

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input:not([type='checkbox'], [type='radio']), textarea, select");
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping) {
    return;
  }
  // Enter on a button, a link or a fold is its own.
  if (event.key === "Enter" && event.target.closest("button, a, summary")) {
    return;
  }
  const found = findByKey(event.key.length === 1 ? event.key.toLowerCase() : event.key);
  if (!found) {
    return;
  }
  event.preventDefault();
  // A screen reader passes Enter on wherever it reads: outside the form it only leads to the button.
  const isElsewhere = event.key === "Enter" && !form.contains(event.target);
  if (isElsewhere || found.matches("input")) {
    found.focus();
  }
  if (!isElsewhere) {
    found.click();
  }
});
