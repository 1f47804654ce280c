/** Why there are as many containers as there are: the journal, newest first. */
import { experimentPath } from "../../api.js";
import { iso, moment } from "../../format.js";
import { useAsked } from "../../live.js";
import { Waiting } from "../../parts/problem.js";
import { html } from "../../ui.js";
import { ended, sentence } from "../../words.js";

/** @param {{experiment: object}} props */
export function Decisions({ experiment }) {
  const { id, state, containers, settled } = experiment;
  const version = `${state} ${settled} ${containers.wanted} ${containers.requested}`;
  const { data, error } = useAsked(`${experimentPath(id)}/journal?limit=100`, ended(state) ? null : 10, version);
  return html`<section class="card">
    <h2 id="decisions">Decisions</h2>
    ${!data
      ? html`<${Waiting} error=${error} />`
      : html`<ol class="decisions" tabindex="0" aria-labelledby="decisions">
          ${[...data.entries].reverse().map(
            (entry) => html`<li>
              <time class="faint number" datetime=${iso(entry.at)}>${moment(entry.at)}</time>
              <span class="break"><strong>${entry.action}${entry.containers === null ? "" : ` to ${entry.containers}`}</strong>${
                entry.reason ? ` · ${sentence(entry.reason)}` : ""
              }</span>
            </li>`,
          )}
        </ol>`}
  </section>`;
}
