// Files dropped anywhere on the page are chosen in its form, and shown before anything is stored.

const form = document.querySelector("[data-drop]");
const input = form && document.getElementById(form.dataset.drop);

function holdsFiles(event) {
  return [...(event.dataTransfer?.types ?? [])].includes("Files");
}

if (input) {
  // What was shown is of the files that were chosen before.
  input.addEventListener("change", () => document.getElementById("report").replaceChildren());
  document.addEventListener("dragover", (event) => {
    if (holdsFiles(event)) {
      event.preventDefault();
      form.classList.add("dropping");
    }
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) {
      form.classList.remove("dropping");
    }
  });
  document.addEventListener("drop", (event) => {
    form.classList.remove("dropping");
    if (!holdsFiles(event)) {
      return;
    }
    event.preventDefault();
    input.files = event.dataTransfer.files;
    document.getElementById("report").replaceChildren();
    // Pressed, for htmx learns from the press alone which button it was, and the other one imports.
    form.querySelector("[name=check]").click();
  });
}
