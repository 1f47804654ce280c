/** The numbers of an experiment, and its description as understood. */
import { count, duration } from "../../format.js";
import { html } from "../../ui.js";

/** @param {{experiment: object}} props */
export function Facts({ experiment }) {
  const { statistics: sums, containers, description } = experiment;
  const facts = [
    ["Containers", `${containers.minimum} to ${containers.maximum}`],
    ["Most at once", count(sums.peak_containers)],
    ["Scaled up, down", `${sums.scale_ups}, ${sums.scale_downs}`],
    ["Attempts", count(sums.attempts)],
    ["Lost their container", count(sums.killed)],
    ["Mean task", sums.tasks ? duration(sums.task_seconds / sums.tasks) : "–"],
    ["Work done", duration(sums.job_seconds)],
    ["Container time", duration(sums.container_seconds)],
    ["Policy", description.policy?.name ?? "–"],
    ["Image", description.image ?? "–"],
  ];
  return html`<section class="card">
    <h2>Numbers</h2>
    <dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <details class="apart">
      <summary>Description as understood</summary>
      <pre class="description" tabindex="0">${JSON.stringify(description, null, 2)}</pre>
    </details>
  </section>`;
}
