// Parts of a page that renew themselves ([data-live], asked for by htmx). What an answer without the part would take away stays,
// and a line above it says since when it is old: the session has ended, the server is away, a proxy answers in its place.

const lastHeard = new Map();
const opened = new Date();

/** Whether an answer comes from where it was asked for, and not from the sign-in page. */
export function cameFromThere({ xhr, pathInfo, requestConfig }) {
  const asked = new URL(pathInfo?.requestPath ?? requestConfig.path, location.href).pathname;
  return !xhr.responseURL || new URL(xhr.responseURL).pathname === asked;
}

export const toTime = (moment) => moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

const isLive = (detail) => (detail.requestConfig?.elt ?? detail.elt)?.matches?.("[data-live]") ?? false;

function findPart(detail) {
  return document.getElementById((detail.requestConfig?.elt ?? detail.elt).dataset.live);
}

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!isLive(detail)) {
    return;
  }
  const part = findPart(detail);
  const isHere = cameFromThere(detail);
  const isWhole = detail.xhr.status === 200 && isHere && detail.serverResponse.includes(`id="${part?.id}"`);
  if (isWhole) {
    lastHeard.set(part.id, new Date());
    document.getElementById(`${part.id}-stale`)?.remove();
    return;
  }
  detail.shouldSwap = false;
  if (part) {
    tellStale(part, isHere ? "The page keeps trying." : "You are signed out. Load the page again to sign in.");
  }
});

for (const failure of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(failure, ({ detail }) => {
    const part = isLive(detail) && findPart(detail);
    if (part) {
      tellStale(part, "The page keeps trying.");
    }
  });
}

function tellStale(part, what) {
  let said = document.getElementById(`${part.id}-stale`);
  if (!said) {
    said = document.createElement("p");
    said.id = `${part.id}-stale`;
    said.className = "callout warning stale";
    said.setAttribute("role", "status");
    part.before(said);
  }
  const words = `Not up to date since ${toTime(lastHeard.get(part.id) ?? opened)}. ${what}`;
  if (said.textContent !== words) {
    said.textContent = words;
  }
}
