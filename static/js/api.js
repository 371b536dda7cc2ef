// The operations of the API, drawn by Swagger UI from the schema. A token that is typed there stays in this page.

const place = document.getElementById("reference");
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// Swagger UI has a class for dark pages; the site has a cookie, and without it the choice of the browser.
function chooseColours() {
  const root = document.documentElement;
  root.classList.toggle("dark-mode", root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
}

// What this page has already, or what is too small to hit or without a name: one token serves every operation, and what opens
// an operation is a button, in which no link may be.
function change() {
  const nothing = () => () => null;
  return {
    wrapComponents: {
      InfoContainer: nothing,
      CopyToClipboardBtn: nothing,
      authorizeOperationBtn: nothing,
      DeepLink: () => ({ text }) => text,
      CloseIcon: () => () => "Close",
    },
  };
}

chooseColours();
dark.addEventListener("change", chooseColours);
window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.schema,
  plugins: [change],
  deepLinking: true,
  syntaxHighlight: false,
  validatorUrl: null,
});
