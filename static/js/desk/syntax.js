// Whether the signs of Markdown (** and the like) are in sight. The style sheet shows them; here the choice is remembered.

import { site } from "./page.js";
import { Stored } from "./storage.js";

const isShown = new Stored(window.localStorage, `desk:syntax:${site.user}`, false);

export function startSyntax() {
  const box = document.getElementById("show-syntax");
  box.checked = isShown.read();
  box.addEventListener("change", () => isShown.write(box.checked));
}
