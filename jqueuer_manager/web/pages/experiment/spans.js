/** The attempts of an experiment for its timeline: asked for once, then only what ended since. */
import { get } from "../../api.js";
import { useAsked } from "../../live.js";
import { useRef } from "../../ui.js";

const MOST_SPANS = 2000;
const OVERLAP_SECONDS = 5; // what ended while the last answer was made

/**
 * @param {string} path of the timeline
 * @param {number | null} seconds from question to question; null asks once
 * @param {unknown} version asks anew when it changes
 * @returns {{data: object[] | null, error: Error | null}} the spans
 */
export function useSpans(path, seconds, version) {
  const ended = useRef({ path: null, spans: new Map() });
  const ask = async (_, options) => {
    if (ended.current.path !== path) ended.current = { path, spans: new Map() };
    const known = ended.current.spans;
    const since = Math.max(0, ...[...known.values()].map((span) => span.finished_at - OVERLAP_SECONDS));
    const { spans } = await get(`${path}?since=${since}`, options);
    for (const span of spans) {
      if (span.finished_at !== null) known.set(`${span.job} ${span.attempt}`, span);
    }
    return [...known.values(), ...spans.filter((span) => span.finished_at === null)].slice(-MOST_SPANS);
  };
  return useAsked(path, seconds, version, ask);
}
