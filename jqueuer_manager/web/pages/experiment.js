/** One experiment: is it going to make it, what went wrong, and everything behind that. */
import { experimentPath } from "../api.js";
import { many, moment } from "../format.js";
import { useLive, useNow } from "../live.js";
import { useAnnounced } from "../parts/announce.js";
import { LiveSign } from "../parts/live-sign.js";
import { Waiting } from "../parts/problem.js";
import { State } from "../parts/state.js";
import { useTitle } from "../parts/title.js";
import { html } from "../ui.js";
import { ended, mayChange } from "../words.js";
import { Charts } from "./experiment/charts.js";
import { Commands } from "./experiment/commands.js";
import { Decisions } from "./experiment/decisions.js";
import { Facts } from "./experiment/facts.js";
import { JobTable } from "./experiment/jobs.js";
import { Nodes } from "./experiment/nodes.js";
import { Verdict, WentWrong } from "./experiment/headlines.js";

/** @param {{id: string, address: object, me: object}} props */
export function ExperimentPage({ id, address, me }) {
  const path = experimentPath(id);
  const { data, how, error, refresh } = useLive(`/events?experiment=${encodeURIComponent(id)}`, "experiment", path, isOver);
  const over = data !== null && ended(data.state);
  const now = useNow(!over);
  useTitle(data ? data.name : "Experiment");
  useAnnounced(data && `${data.name} is ${data.state}, ${many(data.jobs.failed, "failed job")}`);
  if (!data) return html`<h1>Experiment</h1><${Waiting} error=${error} />`;
  return html`
    <div class="title-row">
      <h1>${data.name}</h1>
      <${State} state=${data.state} />
      ${isOver(data) ? null : html`<${LiveSign} how=${how} />`}
      <span class="grow"></span>
      ${mayChange(me, data) && html`<${Commands} experiment=${data} onDone=${refresh} />`}
    </div>
    <p class="faint small">
      ${data.owner || "nobody"}'s, since ${moment(data.created_at)} · <code>${data.id}</code>
    </p>
    ${data.containers.problem && html`<p class="problem" role="alert">${data.containers.problem}</p>`}
    ${[...data.notices, data.containers.note].filter(Boolean).map((notice) => html`<p class="notice">${notice}</p>`)}
    <div class="top">
      <${Verdict} experiment=${data} now=${now} />
      <${WentWrong} experiment=${data} />
    </div>
    <${Charts} experiment=${data} now=${now} />
    <div class="two">
      <${Decisions} experiment=${data} />
      <div class="pile">
        <${Nodes} over=${over} />
        <${Facts} experiment=${data} />
      </div>
    </div>
    <${JobTable} experiment=${data} address=${address} />
  `;
}

/** Nothing of it runs any more. */
function isOver(experiment) {
  return ended(experiment.state) && experiment.settled;
}
