/** The attempts of an experiment for its timeline: asked for once, then only what ended since. */
import { get } from "../../api.js";
import { useEffect, useRef, useState } from "../../ui.js";

const MOST_SPANS = 2000;
const OVERLAP_SECONDS = 5; // what ended while the last answer was made

/**
 * @param {string} path of the timeline
 * @param {number | null} seconds from question to question; null asks once
 * @param {unknown} version asks anew when it changes
 * @returns {{spans: object[] | null, error: Error | null}}
 */
export function useSpans(path, seconds, version) {
  const [state, setState] = useState({ spans: null, error: null });
  const ended = useRef({ path: null, spans: new Map() });
  useEffect(() => {
    if (ended.current.path !== path) ended.current = { path, spans: new Map() };
    const stop = new AbortController();
    const ask = async () => {
      try {
        const known = ended.current.spans;
        const since = Math.max(0, ...[...known.values()].map((span) => span.finished_at - OVERLAP_SECONDS));
        const { spans } = await get(`${path}?since=${since}`, { signal: stop.signal });
        for (const span of spans) {
          if (span.finished_at !== null) known.set(`${span.job} ${span.attempt}`, span);
        }
        const all = [...known.values(), ...spans.filter((span) => span.finished_at === null)];
        setState({ spans: all.slice(-MOST_SPANS), error: null });
      } catch (error) {
        if (error.name !== "AbortError") setState((old) => ({ ...old, error }));
      }
    };
    ask();
    const timer = seconds === null ? null : setInterval(() => document.hidden || ask(), seconds * 1000);
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [path, seconds, version]);
  return state;
}
