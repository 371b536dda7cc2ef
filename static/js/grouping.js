// Codes dragged onto a theme: fills in the form of the page, which stores what ticked codes do, with its reason. A code that
// is ticked takes the others with it; one that is taken out of a theme moves.

const form = document.querySelector("form.grouping");
const targets = document.getElementById("targets");
const told = document.getElementById("dragged");
let dragged = null;

targets.hidden = false;
for (const label of form.querySelectorAll(".code-list li label")) {
  label.draggable = true;
}

const boxOf = (code) => form.querySelector(`input[name="codes"][value="${CSS.escape(code)}"]`);
const listTicked = () => [...form.querySelectorAll("input[name='codes']:checked")];

form.addEventListener("dragstart", (event) => {
  const part = event.target.closest?.("[draggable='true']");
  if (!part) {
    return;
  }
  const code = part.dataset.code ?? part.querySelector("input").value;
  dragged = { code, from: part.closest(".target")?.dataset.theme };
  event.dataTransfer.effectAllowed = "move";
  // Some browsers drag nothing that has no data.
  event.dataTransfer.setData("text/plain", code);
  targets.classList.add("open");
});

form.addEventListener("dragend", () => {
  dragged = null;
  targets.classList.remove("open");
  mark(null);
});

for (const name of ["dragenter", "dragover"]) {
  targets.addEventListener(name, (event) => {
    const target = event.target.closest(".target");
    if (dragged && target && target.dataset.theme !== dragged.from) {
      event.preventDefault();
      mark(target);
    }
  });
}

targets.addEventListener("drop", (event) => {
  const target = event.target.closest(".target");
  if (dragged && target) {
    event.preventDefault();
    drop(target.dataset.theme);
  }
});

function mark(target) {
  for (const each of targets.children) {
    each.classList.toggle("over", each === target);
  }
}

function drop(theme) {
  const box = boxOf(dragged.code);
  if (dragged.from || !box.checked) {
    listTicked().forEach((each) => {
      each.checked = false;
    });
    box.checked = true;
  }
  form.elements.into.value = theme;
  form.elements.out_of.value = dragged.from ?? "";
  form.elements.new_name.value = "";
  const names = listTicked().map((each) => each.closest("label").querySelector("bdi").textContent);
  told.textContent = `${names.join(", ")}: say why, then press “Group them”.`;
  (theme ? form.elements.reason : form.elements.new_name).focus();
}
