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
if (!document.querySelector(".sheet")) {
  place(document);
  document.addEventListener("htmx:afterSettle", ({ target, detail }) => {
    if (target instanceof Element && detail?.xhr?.status >= 400) {
      place(target);
    }
  });
}
