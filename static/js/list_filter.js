// A box above every long list of boxes to tick that hides those without the words typed. What is ticked always stays in sight,
// and hidden boxes keep their ticks. Without a script the whole list is there.

const LONG = 12;

function addBox(fieldset, number) {
  const choices = [...fieldset.querySelectorAll("label > input[type='checkbox']")].map((input) => {
    const own = input.parentElement;
    const line = own.parentElement;
    const isAlone = line !== fieldset && line.querySelectorAll("input").length === 1;
    return { input, place: isAlone ? line : own, words: own.textContent.toLowerCase() };
  });
  if (choices.length < LONG) {
    return;
  }
  const label = document.createElement("label");
  const box = document.createElement("input");
  const told = document.createElement("span");
  box.type = "search";
  box.id = `list-filter-${number}`;
  box.autocomplete = "off";
  label.htmlFor = box.id;
  label.textContent = "Find in this list";
  told.setAttribute("role", "status");
  told.className = "quiet";
  const line = document.createElement("p");
  line.className = "list-filter";
  line.append(label, box, told);
  [...fieldset.children].find((child) => child.contains(choices[0].input)).before(line);

  const narrow = () => {
    const asked = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { input, place, words } of choices) {
      place.hidden = !input.checked && !asked.every((word) => words.includes(word));
      shown += place.hidden ? 0 : 1;
    }
    told.textContent = asked.length ? `${shown} of ${choices.length} shown` : "";
  };
  box.addEventListener("input", narrow);
  box.addEventListener("keydown", (event) => {
    // Enter in this box would send the form.
    if (event.key === "Enter") {
      event.preventDefault();
    }
  });
}

document.querySelectorAll(".field fieldset").forEach(addBox);
