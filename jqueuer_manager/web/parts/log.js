/** What a job printed, followed while it runs. It is text, never markup. */
import { bytes } from "../format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";
import { LogReader } from "./log-reader.js";
import { Problem } from "./problem.js";

const LOOK_SECONDS = 1;
const NEAR_END_PIXELS = 40;
const MAX_CHARACTERS = 2_000_000;

/** @param {{path: string, label: string, running: boolean, record: {total_bytes: number, truncated: boolean}}} props */
export function Log({ path, label, running, record }) {
  const place = useRef(null);
  const reader = useRef(null);
  const stuck = useRef(true); // to the end, until somebody scrolls up
  const [text, setText] = useState(null);
  const [error, setError] = useState(null);
  const begun = !running && record.truncated; // what was left out in the middle has moved what came after it
  useEffect(() => {
    reader.current = new LogReader(path);
    setText(null);
  }, [path, begun]);
  useEffect(() => {
    const stop = new AbortController();
    let busy = false;
    const look = async () => {
      if (busy) return;
      busy = true;
      const mine = reader.current;
      try {
        const more = await mine.more(stop.signal);
        if (mine === reader.current) setText((old) => ((old ?? "") + more).slice(-MAX_CHARACTERS));
        setError(null);
      } catch (failure) {
        if (failure.name !== "AbortError") setError(failure);
      }
      busy = false;
    };
    look();
    const timer = running ? setInterval(() => document.hidden || look(), LOOK_SECONDS * 1000) : null;
    return () => {
      clearInterval(timer);
      stop.abort();
    };
  }, [path, running, begun]);
  useLayoutEffect(() => {
    if (stuck.current) place.current.scrollTop = place.current.scrollHeight;
  }, [text]);
  const scrolled = () => {
    const { scrollHeight, scrollTop, clientHeight } = place.current;
    stuck.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PIXELS;
  };
  const showAll = async () => {
    stuck.current = false;
    setText(await reader.current.all(new AbortController().signal));
    place.current.scrollTop = 0;
  };
  const first = reader.current?.first ?? 0;
  return html`<div>
    <pre class="log" ref=${place} tabindex="0" role="region" aria-label=${label} onScroll=${scrolled}>${
      text === null ? "" : text || (running ? "Nothing printed so far." : "Nothing was printed.")
    }</pre>
    <div class="log-foot">
      <span class="number">${bytes(reader.current?.next || record.total_bytes)}</span>
      ${running && html`<span>followed while it runs</span>`}
      ${record.truncated && html`<span>Its middle was left out: ${bytes(record.total_bytes)} were printed.</span>`}
      ${first > 0 && html`<button type="button" class="link" onClick=${showAll}>Show it from the beginning</button>`}
      <span class="grow"></span>
      <a href=${`/api/v1${path}`} download>Download</a>
    </div>
    <${Problem} error=${error} />
  </div>`;
}
