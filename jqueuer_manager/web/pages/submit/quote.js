/** What can be promised about a description. */
import { duration, many, percent } from "../../format.js";
import { html } from "../../ui.js";
import { sentence } from "../../words.js";

const OFFERS = 6;

/** @param {{check: {quote: object | null, error: Error | null, busy: boolean}, empty: boolean, children: unknown}} props */
export function QuoteCard({ check, empty, children }) {
  const { quote, error, busy } = check;
  return html`<section class="card quote" id="check" aria-live="polite" aria-busy=${busy}>
    <h2>Can it be promised?</h2>
    ${empty
      ? html`<p class="faint">Describe it, and here stands what is wrong with it, or what is to be expected.</p>`
      : error
        ? children
        : quote
          ? html`<${Quote} quote=${quote} />`
          : html`<p class="waiting">Working it out…</p>`}
  </section>`;
}

function Quote({ quote }) {
  const bound = quote.deadline_seconds !== null || quote.budget_container_hours !== null;
  const tone = !bound ? "plain" : quote.feasible ? "good" : "bad";
  const answer = !bound ? "Nothing is promised: it has no deadline." : quote.feasible ? `Yes, with ${many(quote.containers, "container")}.` : "No, not as it is.";
  return html`
    <p class="answer tone" data-tone=${tone}>${answer}</p>
    <p>${sentence(quote.reason)}</p>
    <p class="faint small">${many(quote.jobs, "job")} · ${quote.policy} · ${quote.basis}</p>
    <table>
      <caption class="unseen">What is to be expected of so many containers</caption>
      <thead><tr><th scope="col" class="right">Containers</th><th scope="col" class="right">50 %</th><th scope="col" class="right">95 %</th>
        ${quote.deadline_seconds !== null && html`<th scope="col" class="right">In time</th>`}<th scope="col" class="right minor">Container-h</th></tr></thead>
      <tbody>${chosen(quote.curve, quote.containers).map(
        (offer) => html`<tr class=${offer.containers === quote.containers ? "enough" : ""}>
          <th scope="row" class="right number">${offer.containers}${offer.containers === quote.containers ? html`<span class="unseen"> are enough</span>` : ""}</th>
          <td class="right number">${duration(offer.p50_seconds)}</td>
          <td class="right number">${duration(offer.p95_seconds)}</td>
          ${quote.deadline_seconds !== null && html`<td class="right number">${offer.probability === null ? "–" : percent(offer.probability)}</td>`}
          <td class="right number minor">${Number(offer.container_hours.toPrecision(2))}</td>
        </tr>`,
      )}</tbody>
    </table>
  `;
}

/** A few offers from the whole curve: always the first, the last, and the one that is enough. */
function chosen(curve, enough) {
  if (curve.length <= OFFERS) return curve;
  const places = new Set([0, curve.length - 1, curve.findIndex((offer) => offer.containers === enough)]);
  for (let number = 1; places.size < OFFERS && number < OFFERS; number += 1) {
    places.add(Math.round((number * (curve.length - 1)) / OFFERS));
  }
  return [...places].filter((place) => place >= 0).sort((one, other) => one - other).map((place) => curve[place]);
}
