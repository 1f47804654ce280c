/** Addresses of the page, handled without loading it anew. */
import { useEffect, useState } from "./ui.js";

const CHANGED = "jqueuer-address";

/** Go to an address of this page. */
export function go(address, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", address);
  dispatchEvent(new Event(CHANGED));
}

/** The current address, as it changes. @returns {{path: string, query: URLSearchParams, hash: string}} */
export function useAddress() {
  const [address, setAddress] = useState(read);
  useEffect(() => {
    const update = () => setAddress(read());
    addEventListener("popstate", update);
    addEventListener(CHANGED, update);
    document.addEventListener("click", follow);
    return () => {
      removeEventListener("popstate", update);
      removeEventListener(CHANGED, update);
      document.removeEventListener("click", follow);
    };
  }, []);
  return address;
}

function read() {
  return { path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash };
}

function follow(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
  if (link.pathname.startsWith("/api/")) return;
  if (link.hash && link.pathname === location.pathname && link.search === location.search) return; // a jump within it
  event.preventDefault();
  go(link.href);
}

/**
 * Which page an address names.
 * @param {string} path
 * @returns {{page: string, id?: string, job?: string}}
 */
export function route(path) {
  const parts = path.split("/").filter(Boolean).map(decoded);
  if (parts.length === 0) return { page: "list" };
  if (parts.length === 1 && ["submit", "tokens", "login"].includes(parts[0])) return { page: parts[0] };
  if (parts[0] === "experiments" && parts.length === 2) return { page: "experiment", id: parts[1] };
  if (parts[0] === "experiments" && parts.length === 4 && parts[2] === "jobs") {
    return { page: "job", id: parts[1], job: parts[3] };
  }
  return { page: "nowhere" };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a stray percent sign names nothing that exists
  }
}

/** The page of an experiment. */
export function experimentAddress(id) {
  return `/experiments/${encodeURIComponent(id)}`;
}

/** The page of a job; a hash names what of it. */
export function jobAddress(id, job, hash = "") {
  return `${experimentAddress(id)}/jobs/${encodeURIComponent(job)}${hash}`;
}
