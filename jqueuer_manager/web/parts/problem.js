/** Errors, and what is shown while there is nothing yet. */
import { html } from "../ui.js";

/** An error in the manager's own words, with the faults it lists. */
export function Problem({ error, onLine }) {
  if (!error) return null;
  return html`<div class="problem" role="alert">
    ${error.faults?.length ? html`<${Faults} faults=${error.faults} onLine=${onLine} />` : html`<p>${error.message}</p>`}
  </div>`;
}

/** Everything that is wrong with a description; lines lead to their place in the text. */
export function Faults({ faults, onLine }) {
  return html`<ul class="faults">
    ${faults.map(
      (fault) => html`<li>
        ${fault.line !== null && fault.line !== undefined
          ? onLine
            ? html`<button type="button" class="link" onClick=${() => onLine(fault.line)}>line ${fault.line}</button>: `
            : html`<span>line ${fault.line}: </span>`
          : null}
        ${fault.path ? html`<code>${fault.path}</code>: ` : null}${fault.message}
      </li>`,
    )}
  </ul>`;
}

/** Holds the place of what is being asked for. */
export function Waiting({ what = "Loading", error = null }) {
  return error ? html`<${Problem} error=${error} />` : html`<p class="waiting" aria-busy="true">${what}…</p>`;
}
