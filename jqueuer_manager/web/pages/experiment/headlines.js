/** The two questions, answered in words. */
import { attemptPath, experimentPath, jobPath } from "../../api.js";
import { count, iso, many, moment } from "../../format.js";
import { useAsked } from "../../live.js";
import { LogReader } from "../../parts/log-reader.js";
import { JobsBar, State } from "../../parts/state.js";
import { jobAddress } from "../../router.js";
import { html, useEffect, useState } from "../../ui.js";
import { JOB_STATES, reasonOf, timeLeft, verdict } from "../../words.js";

const SHOWN = 4;
const LAST_BYTES = 1000;

/** Is it going to make it? */
export function Verdict({ experiment, now }) {
  const { tone, answer, because } = verdict(experiment, now);
  const { deadline_at: deadline, jobs } = experiment;
  return html`<section class="card verdict" data-tone=${tone}>
    <h2>Is it going to make it?</h2>
    <p class="answer">${answer}</p>
    <p class="because">${because}</p>
    <${JobsBar} jobs=${jobs} thick=${true} />
    <p class="states">
      ${JOB_STATES.map((state) => html`<span><span class="number">${count(jobs[state])}</span> <${State} state=${state} /></span>`)}
    </p>
    <p class="under">
      ${deadline === null
        ? html`<span>no deadline</span>`
        : html`<span>deadline <strong class="number" title=${iso(deadline)}>${moment(deadline)}</strong></span>
            <span class="number">${timeLeft(experiment, now)}</span>`}
      ${experiment.forecast && html`<span>${experiment.forecast.basis}</span>`}
    </p>
  </section>`;
}

/** What went wrong? Failed jobs, each one click from what it printed. */
export function WentWrong({ experiment }) {
  const { id, jobs, reason, state } = experiment;
  const failed = useAsked(jobs.failed > 0 ? `${experimentPath(id)}/jobs?state=failed&limit=${SHOWN}` : null, null, jobs.failed);
  const post = useAsked(state === "failed" && jobs.failed === 0 ? jobPath(id, "@post") : null);
  const postFailed = post.data?.state === "failed";
  return html`<section class="card wrong">
    <h2>What went wrong?</h2>
    ${jobs.failed === 0 && !postFailed
      ? html`<p class="none">${state === "failed" ? reason || "It failed." : "Nothing."}</p>
          <p class="faint">${state === "failed" ? "No job has failed." : "No job has failed so far."}</p>`
      : html`<p class="none">${jobs.failed > 0 ? many(jobs.failed, "failed job") : "The post command failed."}</p>
          <ul>
            ${postFailed && html`<${Failure} id=${id} job=${{ id: "@post", ...post.data.attempts.at(-1) }} />`}
            ${(failed.data?.jobs ?? []).map((job) => html`<${Failure} key=${job.id} id=${id} job=${job} />`)}
          </ul>
          ${jobs.failed > SHOWN && html`<p><a href="?state=failed#jobs">All ${count(jobs.failed)}</a></p>`}`}
  </section>`;
}

function Failure({ id, job }) {
  const said = useLastWords(`${attemptPath(id, job.id, job.number ?? job.attempts)}/stderr`);
  return html`<li>
    <a class="break" href=${jobAddress(id, job.id)}>${job.id}</a>
    <a class="nowrap" href=${jobAddress(id, job.id, "#stderr")} aria-label=${`stderr of ${job.id}`}>stderr</a>
    ${said
      ? html`<span class="said mono" title=${reasonOf(job)}>${said}</span>`
      : html`<span class="reason" title=${reasonOf(job)}>${reasonOf(job)}</span>`}
  </li>`;
}

/** The last line of a stream, which is where programs say why they gave up; empty where there is none. */
function useLastWords(path) {
  const [words, setWords] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    new LogReader(path, LAST_BYTES).more(stop.signal).then(
      (text) => setWords(text.trimEnd().split("\n").at(-1).trim().slice(0, 300)),
      () => setWords(""), // the reason is shown instead
    );
    return () => stop.abort();
  }, [path]);
  return words;
}
