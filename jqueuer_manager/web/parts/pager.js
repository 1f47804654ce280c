/** Pages of a list that the manager cuts. */
import { count } from "../format.js";
import { html } from "../ui.js";

/**
 * Buttons to the pages around this one.
 * @param {{offset: number, limit: number, total: number, onMove: (offset: number) => void, what: string}} props
 */
export function Pager({ offset, limit, total, onMove, what }) {
  const last = Math.max(0, Math.floor((total - 1) / limit) * limit);
  const to = Math.min(total, offset + limit);
  const jump = (label, target, words) => html`<button
    type="button"
    aria-label=${words}
    disabled=${target === offset || target < 0 || target > last}
    onClick=${() => onMove(target)}
  >
    ${label}
  </button>`;
  return html`<nav class="pager" aria-label=${`Pages of ${what}`}>
    <span class="number">${total === 0 ? "none" : `${count(offset + 1)}–${count(to)} of ${count(total)}`}</span>
    ${total > limit
      ? html`<span class="buttons">
          ${jump("«", 0, "First page")}${jump("‹", offset - limit, "Previous page")}
          ${jump("›", offset + limit, "Next page")}${jump("»", last, "Last page")}
        </span>`
      : null}
  </nav>`;
}
