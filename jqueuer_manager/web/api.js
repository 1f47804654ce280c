/** The manager's REST API: one request per function call, errors as sentences. */

const BASE = "/api/v1";

/** An answer that is a problem (RFC 9457), or no answer at all (`status` 0). */
export class ApiError extends Error {
  /** @param {number} status @param {{detail?: string, type?: string, faults?: object[], quote?: object}} problem */
  constructor(status, problem) {
    super(problem.detail || `the manager answered with status ${status}`);
    this.status = status;
    this.kind = (problem.type || "").split(":").pop();
    this.faults = problem.faults || [];
    this.quote = problem.quote || null;
  }
}

const TOLERATED_SKEW_SECONDS = 2; // a Date header has whole seconds

let whenLoggedOut = () => {};
let skewSeconds = 0;

/** The time by the manager's clock, in seconds since the epoch, however wrong this machine's clock is. */
export function now() {
  return Date.now() / 1000 + skewSeconds;
}

function compareClocks(response) {
  const theirs = Date.parse(response.headers.get("Date") || "") / 1000;
  if (!Number.isFinite(theirs)) return;
  const skew = theirs - Date.now() / 1000;
  skewSeconds = Math.abs(skew) > TOLERATED_SKEW_SECONDS ? skew : 0;
}

/** Say what is to happen when the manager asks who this is. */
export function onLoggedOut(handler) {
  whenLoggedOut = handler;
}

/**
 * Send a request.
 * @param {string} path below `/api/v1`
 * @param {RequestInit & {expectLogin?: boolean}} options with `expectLogin`, a 401 is for the caller alone
 * @returns {Promise<Response>} of a success
 * @throws {ApiError}
 */
export async function request(path, { expectLogin = false, ...options } = {}) {
  let response;
  try {
    response = await fetch(BASE + path, { credentials: "same-origin", cache: "no-store", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { detail: "the manager does not answer" });
  }
  compareClocks(response);
  if (response.ok) return response;
  const failure = new ApiError(response.status, await problemOf(response));
  failure.headers = response.headers;
  if (response.status === 401 && !expectLogin) whenLoggedOut();
  throw failure;
}

async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {}; // a proxy's page, or a connection that broke off
  }
}

/** GET a JSON document. */
export async function get(path, options) {
  return (await request(path, options)).json();
}

/** Send JSON; the answer's JSON, or null where it has none. */
export async function send(method, path, body, options = {}) {
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const response = await request(path, { method, ...content, ...options });
  return response.status === 204 ? null : response.json();
}

/** Send a description as it was written. */
export async function sendText(path, text, mediaType, headers = {}) {
  const response = await request(path, { method: "POST", body: text, headers: { "Content-Type": mediaType, ...headers } });
  return response.json();
}

/** The path of an experiment in the API. */
export function experimentPath(id) {
  return `/experiments/${encodeURIComponent(id)}`;
}

/** The path of a job in the API; `@post` is the post command. */
export function jobPath(id, job) {
  return `${experimentPath(id)}/jobs/${job === "@post" ? job : encodeURIComponent(job)}`;
}

/** The path of an attempt at a job in the API. */
export function attemptPath(id, job, number) {
  return `${jobPath(id, job)}/attempts/${number}`;
}

/** The address of one output, for a link that downloads it. */
export function outputAddress(id, job, number, path) {
  return `${BASE}${attemptPath(id, job, number)}/outputs/${path.split("/").map(encodeURIComponent).join("/")}`;
}
