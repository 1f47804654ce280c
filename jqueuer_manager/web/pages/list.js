/** All experiments, newest first. */
import { iso, moment } from "../format.js";
import { useAsked, useLive, useNow } from "../live.js";
import { LiveSign } from "../parts/live-sign.js";
import { Pager } from "../parts/pager.js";
import { Waiting } from "../parts/problem.js";
import { DoneOf, JobsBar, State } from "../parts/state.js";
import { useTitle } from "../parts/title.js";
import { experimentAddress, go } from "../router.js";
import { html } from "../ui.js";
import { chanceInWords, timeLeft } from "../words.js";

const PAGE = 50;
const STATES = ["running", "paused", "finishing", "accomplished", "failed", "cancelled"];

/** The list; filters are in the address, so that they can be linked and gone back to. */
export function ListPage({ address, me }) {
  useTitle("Experiments");
  const state = STATES.includes(address.query.get("state")) ? address.query.get("state") : "";
  const mine = address.query.get("owner") === me.name;
  const offset = Math.max(0, Number.parseInt(address.query.get("offset") ?? "0", 10) || 0);
  const query = new URLSearchParams({ limit: PAGE, offset });
  if (state) query.append("state", state);
  if (mine) query.set("owner", me.name);
  const plain = !state && !mine && offset === 0;
  const live = useLive("/events", "experiments", "/experiments");
  const asked = useAsked(plain ? null : `/experiments?${query}`, 5);
  const { data, error } = plain ? live : asked;
  const now = useNow();
  const show = (change) => {
    const next = { state, owner: mine ? me.name : "", offset, ...change };
    const kept = Object.entries(next).filter(([, value]) => value);
    go(`/${kept.length ? `?${new URLSearchParams(kept)}` : ""}`, { replace: true });
  };
  return html`
    <div class="title-row">
      <h1>Experiments</h1>
      ${plain && html`<${LiveSign} how=${live.how} />`}
    </div>
    <div class="tools">
      <label>State
        <select value=${state} onChange=${(event) => show({ state: event.target.value, offset: 0 })}>
          <option value="">all</option>
          ${STATES.map((one) => html`<option value=${one} selected=${one === state}>${one}</option>`)}
        </select>
      </label>
      <label class="check"><input type="checkbox" checked=${mine} onChange=${(event) => show({ owner: event.target.checked ? me.name : "", offset: 0 })} /> only mine</label>
      <span class="grow"></span>
      ${data && html`<${Pager} offset=${offset} limit=${PAGE} total=${data.total} what="experiments" onMove=${(to) => show({ offset: to })} />`}
    </div>
    ${!data ? html`<${Waiting} error=${error} />` : html`<${Table} experiments=${data.experiments} now=${now} me=${me} plain=${plain} />`}
  `;
}

function Table({ experiments, now, me, plain }) {
  if (experiments.length === 0) return html`<${Nothing} plain=${plain} me=${me} />`;
  return html`<table class="rows experiments">
    <caption class="unseen">Experiments, newest first</caption>
    <thead>
      <tr><th scope="col">Name</th><th scope="col">State</th><th scope="col" class="wide">Progress</th><th scope="col">Deadline</th><th scope="col">Forecast</th><th scope="col">Owner</th></tr>
    </thead>
    <tbody>
      ${experiments.map((one) => html`<${Row} key=${one.id} experiment=${one} now=${now} />`)}
    </tbody>
  </table>`;
}

function Row({ experiment: one, now }) {
  const words = chanceInWords(one.forecast);
  const probability = one.forecast?.probability ?? null;
  const tone = probability === null ? "plain" : probability >= 0.8 ? "good" : probability >= 0.4 ? "unsure" : "bad";
  return html`<tr>
    <th scope="row" data-label="Name">
      <a href=${experimentAddress(one.id)}>${one.name}</a>
      <span class="faint small" title=${iso(one.created_at)}>${moment(one.created_at)}</span>
    </th>
    <td data-label="State"><${State} state=${one.state} /></td>
    <td data-label="Progress" class="wide"><div class="progress"><${JobsBar} jobs=${one.jobs} /><${DoneOf} jobs=${one.jobs} />
      ${one.jobs.failed > 0 && html`<span class="failures">${one.jobs.failed} failed</span>`}</div></td>
    <td data-label="Deadline" class="number">${timeLeft(one, now)}</td>
    <td data-label="Forecast"><span class="tone" data-tone=${tone}>${words || html`<span class="faint">–</span>`}</span></td>
    <td data-label="Owner">${one.owner || html`<span class="faint">nobody</span>`}</td>
  </tr>`;
}

function Nothing({ plain, me }) {
  if (!plain) return html`<p class="empty">No experiment is like that. <a href="/">Show all</a></p>`;
  return html`<div class="empty card">
    <h2>No experiments yet</h2>
    <p>
      ${me.role === "viewer"
        ? "Who has a submitter's token can submit one."
        : html`<a class="button primary" href="/submit">Submit one</a> or from a terminal: <code>jqueuer submit FILE</code>`}
    </p>
  </div>`;
}
