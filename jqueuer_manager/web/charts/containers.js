/** Containers wanted, requested and observed over time: three names for three things. */
import { color } from "../parts/theme-switch.js";
import { html, useMemo, useRef } from "../ui.js";
import { TimeChart, countAxis, timeAxis } from "./frame.js";
import { column } from "./points.js";

/** @param {{experiment: object, points: object[], range: {min: number, max: number}}} props */
export function ContainersChart({ experiment, points, range }) {
  const shown = useRef(null);
  shown.current = points;
  const data = useMemo(
    () => [
      column(points, (p) => p.at),
      column(points, observed),
      column(points, (p) => p.busy),
      column(points, (p) => p.requested),
      column(points, (p) => p.wanted),
    ],
    [points],
  );
  const options = (UPlot) => {
    const common = { paths: UPlot.paths.stepped({ align: 1 }), points: { show: false } };
    return {
      axes: [timeAxis(), countAxis()],
      scales: { y: { range: () => [0, Math.max(1, highest(shown.current)) * 1.15] } },
      series: [
        {},
        { ...common, label: "observed", stroke: color("faint"), width: 1, fill: color("observed") },
        { ...common, label: "busy", width: 0, fill: color("busy") },
        { ...common, label: "requested", stroke: color("accent"), width: 2 },
        { ...common, label: "wanted", stroke: color("unsure"), width: 2, dash: [3, 4] },
      ],
    };
  };
  const { wanted, requested, starting, running, busy, draining } = experiment.containers;
  const seen = starting + running + draining;
  return html`<figure>
    <${TimeChart}
      options=${options}
      data=${data}
      range=${range}
      label=${`Containers over time: now ${wanted ?? "none"} wanted, ${requested} requested, ${seen} observed, ${busy} of them busy`}
    />
    <ul class="legend">
      <li><span class="key dashed" data-key="wanted"></span>wanted <span class="number">${wanted ?? "–"}</span></li>
      <li><span class="key" data-key="requested"></span>requested <span class="number">${requested}</span></li>
      <li><span class="key area" data-key="observed"></span>observed <span class="number">${seen}</span></li>
      <li><span class="key area" data-key="busy"></span>busy <span class="number">${busy}</span></li>
    </ul>
  </figure>`;
}

function observed(point) {
  return point.starting + point.idle + point.busy + point.draining;
}

function highest(points) {
  return points.reduce((most, p) => Math.max(most, p.wanted ?? 0, p.requested, observed(p)), 0);
}
