// A button that copies something: shown only where the browser can copy. Without it the words can be selected.

for (const button of document.querySelectorAll("[data-copy]")) {
  const source = document.getElementById(button.dataset.copy);
  if (!navigator.clipboard || !source) {
    continue;
  }
  button.hidden = false;
  button.addEventListener("click", async () => {
    const told = button.parentElement.querySelector("[data-copied]");
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      told.textContent = "Copied.";
    } catch {
      told.textContent = "The browser did not allow it. Select the link and copy it.";
    }
  });
}
