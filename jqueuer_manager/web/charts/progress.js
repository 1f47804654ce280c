/** Jobs done against the deadline, and where the forecast says that goes. */
import { moment } from "../format.js";
import { color } from "../parts/theme-switch.js";
import { html, useMemo, useRef } from "../ui.js";
import { done, ended } from "../words.js";
import { TimeChart, countAxis, mark, timeAxis } from "./frame.js";
import { column } from "./points.js";

/** @param {{experiment: object, points: object[], range: {min: number, max: number}, now: number}} props */
export function ProgressChart({ experiment, points, range, now }) {
  const shown = useRef(null);
  shown.current = { experiment, now };
  const data = useMemo(
    () => [column(points, (p) => p.at), column(points, (p) => p.accomplished), column(points, (p) => p.failed + p.cancelled)],
    [points],
  );
  const options = (UPlot) => {
    const stepped = UPlot.paths.stepped({ align: 1 });
    return {
      axes: [timeAxis(), countAxis()],
      scales: { y: { range: () => [0, Math.max(1, shown.current.experiment.jobs.total) * 1.05] } },
      series: [
        {},
        { label: "accomplished", stroke: color("accomplished"), width: 2, paths: stepped, points: { show: false }, fill: color("accomplished-soft") },
        { label: "failed or cancelled", stroke: color("failed"), width: 2, paths: stepped, points: { show: false } },
      ],
      hooks: { draw: [(chart) => drawForecast(chart, shown.current)] },
    };
  };
  const { jobs, deadline_at: deadline, forecast } = experiment;
  const label =
    `Jobs done over time: ${done(jobs)} of ${jobs.total}` +
    (deadline ? `, deadline ${moment(deadline)}` : "") +
    (forecast ? `, forecast ${moment(forecast.finish_at)} to ${moment(forecast.p95_at)}` : "");
  return html`<figure>
    <${TimeChart} options=${options} data=${data} label=${label} range=${range} />
    <ul class="legend">
      <li><span class="key" data-key="accomplished"></span>accomplished <span class="number">${jobs.accomplished}</span></li>
      <li><span class="key" data-key="failed"></span>failed or cancelled <span class="number">${jobs.failed + jobs.cancelled}</span></li>
      ${forecast && html`<li><span class="key area" data-key="band"></span>forecast P50–P95</li>`}
      ${deadline && html`<li><span class="key dashed" data-key="deadline"></span>deadline</li>`}
    </ul>
  </figure>`;
}

function drawForecast(chart, { experiment, now }) {
  const { ctx } = chart;
  const { jobs, forecast, deadline_at: deadline } = experiment;
  const x = (at) => chart.valToPos(at, "x", true);
  const y = (count) => chart.valToPos(count, "y", true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(chart.bbox.left, chart.bbox.top, chart.bbox.width, chart.bbox.height);
  ctx.clip();
  ctx.strokeStyle = color("faint");
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([2 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(chart.bbox.left, y(jobs.total));
  ctx.lineTo(chart.bbox.left + chart.bbox.width, y(jobs.total));
  ctx.stroke();
  if (forecast && !ended(experiment.state)) {
    const [from, top] = [y(jobs.accomplished), y(jobs.total)];
    ctx.fillStyle = color("band");
    ctx.beginPath();
    ctx.moveTo(x(now), from);
    ctx.lineTo(x(Math.max(now, forecast.finish_at)), top);
    ctx.lineTo(x(Math.max(now, forecast.p95_at)), top);
    ctx.closePath();
    ctx.fill();
    ctx.strokeStyle = color("accent");
    ctx.lineWidth = 1.5 * devicePixelRatio;
    ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x(now), from);
    ctx.lineTo(x(Math.max(now, forecast.finish_at)), top);
    ctx.stroke();
  }
  ctx.restore();
  if (deadline) mark(chart, deadline, "deadline", color("bad"), [6, 4]);
}
