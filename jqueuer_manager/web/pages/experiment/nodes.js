/** The nodes that containers run on. */
import { bytes } from "../../format.js";
import { useAsked } from "../../live.js";
import { html } from "../../ui.js";

const LOOK_SECONDS = 10;

/** @param {{over: boolean}} props */
export function Nodes({ over }) {
  const { data, error } = useAsked("/nodes", over ? null : LOOK_SECONDS);
  return html`<section class="card">
    <h2>Nodes</h2>
    <table class="stack">
        <caption class="unseen">Nodes, and what of them is reserved</caption>
        <thead><tr><th scope="col">Node</th><th scope="col">State</th><th scope="col">Cores</th><th scope="col">Memory</th><th scope="col" class="right">Containers</th></tr></thead>
        <tbody>
          ${(data?.nodes ?? []).map((node) => html`<${Node} key=${node.name} node=${node} />`)}
          ${!data && html`<tr><td colspan="5" class="faint">${error ? error.message : "Loading…"}</td></tr>`}
        </tbody>
    </table>
  </section>`;
}

function Node({ node }) {
  return html`<tr>
    <th scope="row" class="break">${node.name}</th>
    <td data-label="State">${node.ready ? "ready" : html`<strong class="tone" data-tone="bad">${node.condition || "not ready"}</strong>`}</td>
    <td data-label="Cores"><${Part} part=${node.reserved_cpu_cores} whole=${node.cpu_cores} format=${(number) => Number(number.toFixed(1))} /></td>
    <td data-label="Memory"><${Part} part=${node.reserved_memory_bytes} whole=${node.memory_bytes} format=${bytes} /></td>
    <td data-label="Containers" class="right number">${node.containers}</td>
  </tr>`;
}

/** How much of something is reserved. */
function Part({ part, whole, format }) {
  if (!whole) return html`<span class="faint">–</span>`;
  return html`<span class="small number nowrap">${format(part)} of ${format(whole)}</span>
    <span class="meter" aria-hidden="true"><span style=${{ width: `${Math.min(100, (100 * part) / whole)}%` }}></span></span>`;
}
