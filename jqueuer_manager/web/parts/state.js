/** States as a shape, a colour and a word: never as a colour alone. */
import { count } from "../format.js";
import { html } from "../ui.js";
import { JOB_STATES, done, jobsInWords } from "../words.js";

const SHAPES = {
  accomplished: "M2.5 6.5 5 9l4.5-6",
  running: "M3.5 2.5 9.5 6l-6 3.5z",
  failed: "m3 3 6 6M9 3 3 9",
  "timed-out": "m3 3 6 6M9 3 3 9",
  killed: "m3 3 6 6M9 3 3 9",
  lost: "m3 3 6 6M9 3 3 9",
  cancelled: "M3 6h6",
  paused: "M4 3v6M8 3v6",
  finishing: "M3.5 2.5 9.5 6l-6 3.5z",
  receiving: "M6 2v6M3 5.5 6 8.5l3-3",
  queued: "M6 3.5v3l2 1",
};

/** A state with its sign. */
export function State({ state }) {
  return html`<span class="state" data-state=${state}>
    <svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true"><path d=${SHAPES[state] ?? ""} /></svg>${state}
  </span>`;
}

/** A bar of an experiment's jobs by state; its words are for who cannot see it. */
export function JobsBar({ jobs, thick = false }) {
  const total = Math.max(1, jobs.total);
  return html`<div class=${thick ? "bar thick" : "bar"} role="img" aria-label=${jobsInWords(jobs)}>
    ${JOB_STATES.filter((state) => jobs[state] > 0).map(
      (state) => html`<span key=${state} data-state=${state} style=${{ flexGrow: jobs[state] / total }}></span>`,
    )}
  </div>`;
}

/** Done of all, in numbers. */
export function DoneOf({ jobs }) {
  return html`<span class="number">${count(done(jobs))}<span class="faint"> / ${count(jobs.total)}</span></span>`;
}
