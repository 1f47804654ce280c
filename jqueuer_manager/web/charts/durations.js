/** How long jobs took: a histogram of plain elements, which a screen reader can go through; each bar is some times as long. */
import { duration, many } from "../format.js";
import { html } from "../ui.js";

/** @param {{durations: {buckets: object[], p50_seconds: number, p95_seconds: number, mean_seconds: number}}} props */
export function DurationsChart({ durations }) {
  const buckets = bars(durations.buckets);
  if (!buckets.length) return html`<p class="waiting">No job has been accomplished yet.</p>`;
  const most = Math.max(...buckets.map((bucket) => bucket.count));
  return html`<figure>
    <div class="histogram">
      <ol>
        ${buckets.map((bucket) => {
          const words = `${duration(bucket.from_seconds)} to ${duration(bucket.to_seconds)}: ${many(bucket.count, "job")}`;
          return html`<li title=${words}>
            <span style=${{ height: `${(100 * bucket.count) / most}%`, minHeight: bucket.count ? "2px" : 0 }}></span>
            <span class="unseen">${words}</span>
          </li>`;
        })}
      </ol>
      <div class="scale" aria-hidden="true">
        <span>${duration(buckets[0].from_seconds)}</span>
        ${buckets.length > 4 && html`<span>${duration(buckets[Math.floor(buckets.length / 2)].from_seconds)}</span>`}<span>${duration(buckets.at(-1).to_seconds)}</span>
      </div>
    </div>
    <ul class="legend">
      <li>half within <span class="number">${duration(durations.p50_seconds)}</span></li>
      <li>95 % within <span class="number">${duration(durations.p95_seconds)}</span></li>
      <li>mean <span class="number">${duration(durations.mean_seconds)}</span></li>
    </ul>
  </figure>`;
}

const MOST_BARS = 32;

/** The buckets that hold something, and those between them that hold nothing, put together to as many as can be seen. */
function bars(buckets) {
  if (!buckets.length) return [];
  const from = Math.max(buckets[0].from_seconds, buckets[0].to_seconds / 2);
  const wide = Math.log(buckets.at(-1).to_seconds / buckets.at(-1).from_seconds || 2);
  const all = Math.log(buckets.at(-1).to_seconds / from);
  const number = Math.max(1, Math.min(MOST_BARS, Math.round(all / wide)));
  const border = (place) => from * Math.exp((all * place) / number);
  const made = Array.from({ length: number }, (_, place) => ({ from_seconds: border(place), to_seconds: border(place + 1), count: 0 }));
  for (const bucket of buckets) {
    const middle = Math.log(Math.max(from, (bucket.from_seconds + bucket.to_seconds) / 2) / from);
    made[Math.min(number - 1, Math.floor((middle / all) * number))].count += bucket.count;
  }
  return made;
}
