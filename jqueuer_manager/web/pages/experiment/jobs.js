/** The jobs of an experiment: filtered, searched and paged by the manager, however many there are. */
import { experimentPath } from "../../api.js";
import { duration, moment } from "../../format.js";
import { useAsked } from "../../live.js";
import { Pager } from "../../parts/pager.js";
import { Waiting } from "../../parts/problem.js";
import { State } from "../../parts/state.js";
import { experimentAddress, go, jobAddress } from "../../router.js";
import { html, useEffect, useRef, useState } from "../../ui.js";
import { JOB_STATES, ended, reasonOf } from "../../words.js";

const PAGE = 25;
const LOOK_SECONDS = 5;
const TYPING_MILLISECONDS = 250;

/** State, search and place are in the address, so that a page can be linked and gone back to. */
export function JobTable({ experiment, address }) {
  const { id, jobs } = experiment;
  const state = JOB_STATES.includes(address.query.get("state")) ? address.query.get("state") : "";
  const search = (address.query.get("search") ?? "").slice(0, 128);
  const offset = Math.max(0, Number.parseInt(address.query.get("offset") ?? "0", 10) || 0);
  const query = new URLSearchParams({ limit: PAGE, offset });
  if (state) query.set("state", state);
  if (search) query.set("search", search);
  const over = ended(experiment.state);
  const { data, error } = useAsked(`${experimentPath(id)}/jobs?${query}`, over ? null : LOOK_SECONDS, over && JSON.stringify(jobs));
  const show = (change) => {
    const kept = Object.entries({ state, search, offset, ...change }).filter(([, value]) => value);
    go(`${experimentAddress(id)}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`, { replace: true });
  };
  const place = useRef(null);
  useEffect(() => {
    if (address.hash === "#jobs") place.current?.scrollIntoView();
  }, [address.hash, state]);
  return html`<section class="card" id="jobs" ref=${place}>
    <div class="card-head">
      <h2>Jobs</h2>
      <div class="tools">
        <label>State
          <select value=${state} onChange=${(event) => show({ state: event.target.value, offset: 0 })}>
            <option value="">all</option>
            ${JOB_STATES.map((one) => html`<option value=${one} selected=${one === state}>${one}</option>`)}
          </select>
        </label>
        <${Search} value=${search} onSearch=${(text) => show({ search: text, offset: 0 })} />
      </div>
      <span class="grow"></span>
      ${data && html`<${Pager} offset=${offset} limit=${PAGE} total=${data.total} what="jobs" onMove=${(to) => show({ offset: to })} />`}
    </div>
    ${data ? html`<${Rows} id=${id} jobs=${data.jobs} />` : html`<${Waiting} error=${error} />`}
    <p class="small apart"><a href=${jobAddress(id, "@post")} hidden=${!experiment.description.post}>The post command</a></p>
  </section>`;
}

function Search({ value, onSearch }) {
  const [text, setText] = useState(value);
  const timer = useRef(null);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (event) => {
    const typed = event.target.value;
    setText(typed);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(typed.trim()), TYPING_MILLISECONDS);
  };
  return html`<label>Search <input type="search" value=${text} onInput=${type} maxlength="128" placeholder="part of an id" spellcheck="false" /></label>`;
}

function Rows({ id, jobs }) {
  if (jobs.length === 0) return html`<p class="empty">No job is like that.</p>`;
  return html`<table class="stack jobs">
    <caption class="unseen">Jobs in order</caption>
    <thead>
      <tr><th scope="col">Job</th><th scope="col">State</th><th scope="col" class="right">Attempts</th><th scope="col" class="right">Exit code</th>
        <th scope="col">Started</th><th scope="col" class="right">Took</th><th scope="col">Node</th><th scope="col">Reason</th></tr>
    </thead>
    <tbody>${jobs.map((job) => html`<${Row} key=${job.id} id=${id} job=${job} />`)}</tbody>
  </table>`;
}

function Row({ id, job }) {
  const took = job.started_at !== null && job.finished_at !== null ? duration(job.finished_at - job.started_at) : "–";
  return html`<tr>
    <th scope="row"><a class="break" href=${jobAddress(id, job.id)}>${job.id}</a></th>
    <td data-label="State"><${State} state=${job.state} /></td>
    <td data-label="Attempts" class="minor right number">${job.attempts}</td>
    <td data-label="Exit code" class="minor right number">${job.exit_code ?? "–"}</td>
    <td data-label="Started" class="minor number nowrap">${moment(job.started_at)}</td>
    <td data-label="Took" class="right number nowrap">${took}</td>
    <td data-label="Node" class="minor break">${job.node ?? "–"}</td>
    <td data-label="Reason" class="break small">${job.reason ? html`${reasonOf(job)} <a href=${jobAddress(id, job.id, "#stderr")} aria-label=${`stderr of ${job.id}`}>stderr</a>` : ""}</td>
  </tr>`;
}
