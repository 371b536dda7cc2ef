// Where reading goes on after a form was sent: what is wrong with it, or the heading that a page names for it.

/** Errors before headings; a place in the page that somebody asked for by its address is left to her. */
function place(root) {
  const errors = root.querySelector(".form-errors");
  if (errors) {
    errors.focus();
  } else if (root === document && location.hash === "" && document.querySelector("[autofocus]") === null) {
    document.querySelector("[data-focus]")?.focus({ preventScroll: true });
  }
}

place(document);
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target instanceof Element && event.detail?.xhr?.status >= 400) {
    place(event.target);
  }
});
