/** The charts of an experiment. */
import { experimentPath, now as managersNow } from "../../api.js";
import { ContainersChart } from "../../charts/containers.js";
import { DurationsChart } from "../../charts/durations.js";
import { continued, pointOf, timeRange } from "../../charts/points.js";
import { ProgressChart } from "../../charts/progress.js";
import { Timeline } from "../../charts/timeline.js";
import { useAsked } from "../../live.js";
import { Waiting } from "../../parts/problem.js";
import { html, useEffect, useMemo, useState } from "../../ui.js";
import { done, ended } from "../../words.js";
import { useSpans } from "./spans.js";

const HISTORY_SECONDS = 60;
const PICTURE_SECONDS = 10;

/** What comes in live continues the history; that itself is asked for anew now and then, and at the end. */
export function Charts({ experiment, now }) {
  const over = ended(experiment.state);
  const path = experimentPath(experiment.id);
  const history = useAsked(`${path}/history`, over ? null : HISTORY_SECONDS, over && experiment.settled);
  const [recent, setRecent] = useState([]);
  useEffect(() => {
    if (!over) setRecent((points) => continued(points.slice(-2 * HISTORY_SECONDS), pointOf(experiment, managersNow())));
  }, [experiment]);
  const points = useMemo(() => {
    const known = history.data?.points ?? [];
    return recent.reduce(continued, known);
  }, [history.data, recent]);
  const range = timeRange(experiment, now);
  // While it runs, pictures of many jobs are asked for every so often, and at once when it has ended.
  const progress = over ? done(experiment.jobs) : 0;
  const timeline = useSpans(`${path}/timeline`, over ? null : PICTURE_SECONDS, progress);
  const durations = useAsked(`${path}/durations`, over ? null : PICTURE_SECONDS, progress);
  return html`<div class="two">
    <section class="card"><h2>Jobs done</h2>
      <${ProgressChart} experiment=${experiment} points=${points} range=${range} now=${now} /></section>
    <section class="card"><h2>Containers</h2>
      <${ContainersChart} experiment=${experiment} points=${points} range=${range} /></section>
    <section class="card"><h2>Jobs per container</h2>
      ${timeline.data
        ? html`<${Timeline} id=${experiment.id} spans=${timeline.data} now=${now} />`
        : html`<div class="timeline"><${Waiting} error=${timeline.error} /></div>`}</section>
    <section class="card"><h2>How long jobs took</h2>
      ${durations.data
        ? html`<${DurationsChart} durations=${durations.data} />`
        : html`<div class="histogram"><${Waiting} error=${durations.error} /></div>`}</section>
  </div>`;
}
