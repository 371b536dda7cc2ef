// Where reading goes on after a form was sent: what is wrong with it, or the heading that a page names for it.

/** Errors before headings; a place in the page that somebody asked for by its address is left to her. */
function place(root) {
  const errors = root.querySelector(".form-errors") ?? root.querySelector("#messages .message.error");
  if (errors) {
    errors.tabIndex = -1;
    errors.focus();
  } else if (root === document && location.hash === "" && !document.querySelector("[autofocus]")) {
    document.querySelector("[data-focus]")?.focus({ preventScroll: true });
  }
}

// The desk keeps its own place.
if (!document.querySelector(".transcript")) {
  place(document);
  document.addEventListener("htmx:afterSettle", ({ target, detail }) => {
    if (target instanceof Element && detail?.xhr?.status >= 400) {
      place(target);
    }
  });
}

// A form with files that could not be sent: the server is away, or a chosen file was changed since, which browsers refuse to send.
document.addEventListener("htmx:sendError", async ({ detail }) => {
  const form = detail.elt instanceof Element && detail.elt.closest("form[enctype='multipart/form-data']");
  if (!form) {
    return;
  }
  const inputs = [...form.querySelectorAll("input[type='file']")];
  const changed = (await Promise.all(inputs.map(hasChanged))).some(Boolean);
  for (const input of changed ? inputs : []) {
    input.value = "";
  }
  form.previousElementSibling?.matches(".not-sent") && form.previousElementSibling.remove();
  const said = document.createElement("p");
  said.className = "callout warning not-sent";
  said.setAttribute("role", "alert");
  said.textContent = changed
    ? "Nothing was sent: a chosen file has been changed or moved since you chose it. Choose it again."
    : "Nothing was sent: the server could not be reached. Your file is still chosen; try again in a moment.";
  form.before(said);
});

/** Whether a chosen file cannot be read any more. */
async function hasChanged(input) {
  const reads = [...input.files].map((file) => file.slice(0, 1).arrayBuffer());
  return (await Promise.allSettled(reads)).some(({ status }) => status === "rejected");
}
