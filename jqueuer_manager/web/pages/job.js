/** One job: its attempts, how their commands ended, what they printed and left. */
import { attemptPath, experimentPath, jobPath, outputAddress } from "../api.js";
import { bytes, duration, moment } from "../format.js";
import { useAsked, useNow } from "../live.js";
import { useAnnounced } from "../parts/announce.js";
import { Log } from "../parts/log.js";
import { Waiting } from "../parts/problem.js";
import { State } from "../parts/state.js";
import { useTitle } from "../parts/title.js";
import { experimentAddress } from "../router.js";
import { html, useState } from "../ui.js";
import { reasonOf } from "../words.js";

const LOOK_SECONDS = 2;

/** @param {{id: string, job: string, address: object}} props */
export function JobPage({ id, job, address }) {
  const [over, setOver] = useState(false);
  const { data, error } = useAsked(jobPath(id, job), over ? null : LOOK_SECONDS);
  const experiment = useAsked(experimentPath(id));
  const [chosen, setChosen] = useState(null);
  const name = job === "@post" ? "post command" : job;
  useTitle(name);
  useAnnounced(data && `${name} is ${data.state}`);
  const ended = data !== null && ["accomplished", "failed", "cancelled"].includes(data.state);
  if (ended !== over) setOver(ended);
  const attempts = data?.attempts ?? [];
  const attempt = attempts.find((one) => one.number === chosen) ?? attempts.at(-1);
  return html`
    <nav aria-label="Where this is"><ol class="crumbs">
      <li><a href="/">Experiments</a></li>
      <li><a href=${experimentAddress(id)}>${experiment.data?.name ?? id}</a></li>
      <li aria-current="page">${name}</li>
    </ol></nav>
    <div class="title-row"><h1>${name}</h1>${data && html`<${State} state=${data.state} />`}</div>
    ${!data
      ? html`<${Waiting} error=${error} />`
      : html`
          ${data.not_before && data.state === "queued" && html`<p class="notice">It is tried again at ${moment(data.not_before)}.</p>`}
          ${attempts.length === 0
            ? html`<p class="empty">It has not been started yet.</p>`
            : html`
                <${Attempts} attempts=${attempts} chosen=${attempt.number} onChoose=${setChosen} />
                <${Streams} key=${attempt.number} id=${id} job=${job} attempt=${attempt} first=${address.hash} />
                <div class="two"><${Commands} attempt=${attempt} /><${Outputs} id=${id} job=${job} attempt=${attempt} /></div>
              `}
          <section class="card"><h2>As described</h2>
            <pre class="description" tabindex="0" aria-label="Description of the job">${JSON.stringify(data.spec, null, 2)}</pre></section>
        `}
  `;
}

function Attempts({ attempts, chosen, onChoose }) {
  const now = useNow(attempts.some((one) => one.finished_at === null));
  return html`<section class="card">
    <h2>Attempts</h2>
    <table class="stack">
      <caption class="unseen">Attempts, the first first</caption>
      <thead><tr><th scope="col">Attempt</th><th scope="col">Outcome</th><th scope="col" class="right">Exit code</th><th scope="col">Started</th>
        <th scope="col" class="right">Took</th><th scope="col">Container</th><th scope="col">Node</th><th scope="col">Reason</th></tr></thead>
      <tbody>
        ${attempts.map((one) => {
          const running = one.outcome === null;
          return html`<tr key=${one.number}>
            <th scope="row"><button type="button" class="link" aria-pressed=${one.number === chosen} onClick=${() => onChoose(one.number)}>attempt ${one.number}</button>
              ${one.number === chosen && attempts.length > 1 && html` <span class="faint small">shown</span>`}</th>
            <td data-label="Outcome"><${State} state=${one.outcome ?? "running"} /></td>
            <td data-label="Exit code" class="right number">${one.exit_code ?? "–"}</td>
            <td data-label="Started" class="number nowrap">${moment(one.started_at)}</td>
            <td data-label="Took" class="right number nowrap">${duration(Math.max(0, (running ? now : one.finished_at) - one.started_at))}</td>
            <td data-label="Container" class="break"><span class="mono" title=${one.container}>${one.container.slice(0, 20)}</span></td>
            <td data-label="Node" class="break">${one.node}</td>
            <td data-label="Reason" class="break">${running ? "" : reasonOf(one)}</td>
          </tr>`;
        })}
      </tbody>
    </table>
  </section>`;
}

function Streams({ id, job, attempt, first }) {
  const failed = attempt.outcome !== null && attempt.outcome !== "accomplished";
  const [stream, setStream] = useState(first === "#stderr" || (failed && first !== "#stdout") ? "stderr" : "stdout");
  return html`<section class="card" id="printed">
    <div class="card-head">
      <h2>What it printed</h2>
      <div class="tabs" role="group" aria-label="Stream">
        ${["stdout", "stderr"].map(
          (one) => html`<button type="button" aria-pressed=${one === stream} onClick=${() => setStream(one)}>${one}${
            attempt.outcome === null ? "" : html` <span class="faint small">${bytes(attempt[one].total_bytes)}</span>`
          }</button>`,
        )}
      </div>
    </div>
    <${Log}
      path=${`${attemptPath(id, job, attempt.number)}/${stream}`}
      label=${`${stream} of attempt ${attempt.number}`}
      running=${attempt.outcome === null}
      record=${attempt[stream]}
    />
  </section>`;
}

function Commands({ attempt }) {
  return html`<section class="card">
    <h2>Commands</h2>
    ${attempt.commands.length === 0
      ? html`<p class="faint">${attempt.outcome === null ? "They are told when the attempt has ended." : "None was run."}</p>`
      : html`<table class="stack">
          <thead><tr><th scope="col">Command</th><th scope="col">Ended with</th><th scope="col" class="right">Took</th></tr></thead>
          <tbody>${attempt.commands.map(
            (one) => html`<tr>
              <th scope="row">${one.role}</th>
              <td data-label="Ended with" class="break">${one.problem || (one.signal !== null ? `signal ${one.signal}` : `exit code ${one.exit_code}`)}</td>
              <td data-label="Took" class="right number">${duration(one.seconds)}</td>
            </tr>`,
          )}</tbody>
        </table>`}
  </section>`;
}

function Outputs({ id, job, attempt }) {
  return html`<section class="card">
    <h2>Outputs</h2>
    ${attempt.outputs.length === 0
      ? html`<p class="faint">None.</p>`
      : html`<table class="stack">
          <thead><tr><th scope="col">File</th><th scope="col" class="right">Size</th></tr></thead>
          <tbody>${attempt.outputs.map(
            (file) => html`<tr>
              <th scope="row" class="break"><a href=${outputAddress(id, job, attempt.number, file.path)} download>${file.path}</a></th>
              <td data-label="Size" class="right number nowrap">${bytes(file.size_bytes)}</td>
            </tr>`,
          )}</tbody>
        </table>`}
  </section>`;
}
