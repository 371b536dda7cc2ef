// Adjudication by keyboard. Without this the page is a plain form; the keys only press its own controls.

const form = document.getElementById("verdict");

const isTyping = (target) => target.closest("textarea, select, input:not([type=radio], [type=checkbox])") !== null;

/** Choose the option of a key; choosing another reading shows its codes. */
function pick(key) {
  const radio = form.querySelector(`input[data-key="${CSS.escape(key)}"]`);
  if (!radio) {
    return false;
  }
  radio.checked = true;
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  const codes = document.getElementById("other-codes");
  if (radio.value === "neither") {
    codes.open = true;
    (codes.querySelector("input") ?? radio).focus();
  } else {
    radio.focus();
  }
  return true;
}

/** Send the verdict. What is missing is asked for where it is missing; a decided passage without a choice is passed. */
function goOn() {
  const reason = form.elements.reason;
  if (form.querySelector("input[name=outcome]:checked")) {
    if (reason.value.trim() === "") {
      reason.focus();
    } else {
      form.requestSubmit();
    }
  } else {
    document.getElementById("following")?.click();
  }
}

if (form) {
  let isSent = false;
  form.addEventListener("submit", (event) => {
    if (isSent) {
      event.preventDefault();
    }
    isSent = true;
  });
  window.addEventListener("pageshow", () => {
    isSent = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey || event.isComposing) {
      return;
    }
    if (event.key === "Enter") {
      const isControl = event.target.closest("a, button, summary, select, input[type=checkbox]") !== null;
      if (event.ctrlKey ? form.contains(event.target) : !isControl && !isTyping(event.target)) {
        event.preventDefault();
        goOn();
      }
    } else if (!event.ctrlKey && !isTyping(event.target) && pick(event.key.toLowerCase())) {
      event.preventDefault();
    }
  });
}
