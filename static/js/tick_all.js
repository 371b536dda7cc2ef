// One box in the head of a table ticks or unticks those of its rows.

const boxesOf = (all) => [...all.closest("table").querySelectorAll("tbody input[type='checkbox']")];

document.addEventListener("change", ({ target }) => {
  if (target.matches("input[data-all]")) {
    for (const box of boxesOf(target)) {
      box.checked = target.checked;
    }
    return;
  }
  const all = target.closest("table")?.querySelector("input[data-all]");
  if (all) {
    const ticked = boxesOf(all).filter((box) => box.checked).length;
    all.checked = ticked > 0;
    all.indeterminate = ticked > 0 && ticked < boxesOf(all).length;
  }
});
