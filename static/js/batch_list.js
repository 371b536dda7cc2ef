// The live list of batches: an answer without the list, such as the sign-in page, leaves the list as it was.

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.requestConfig?.elt?.id === "batch-list" && !detail.serverResponse.includes('id="batch-list"')) {
    detail.shouldSwap = false;
  }
});
