/** When which container ran which job: one line per container, one span per attempt, drawn on a canvas. */
import { clock, duration, many } from "../format.js";
import { color, useTheme } from "../parts/theme-switch.js";
import { go, jobAddress } from "../router.js";
import { html, useEffect, useMemo, useRef, useState } from "../ui.js";

const AXIS_PIXELS = 22;
const MAX_LINES = 300;
const COLORS = { accomplished: "accomplished", cancelled: "cancelled", running: "running" };

/** @param {{id: string, spans: object[], now: number}} props */
export function Timeline({ id, spans, now }) {
  const canvas = useRef(null);
  const theme = useTheme();
  const [width, setWidth] = useState(0);
  const [hint, setHint] = useState(null);
  const layout = useMemo(() => layOut(spans, now), [spans, spans.some((span) => span.finished_at === null) ? now : 0]);
  const height = AXIS_PIXELS + layout.lines.length * layout.linePixels;
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(canvas.current.parentElement);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    if (width > 0 && layout.lines.length > 0) draw(canvas.current, width, height, layout);
  }, [width, height, layout, theme]);
  const find = (event) => spanAt(layout, width, event.offsetX, event.offsetY);
  const point = (event) => {
    const span = find(event);
    setHint(span && { span, left: Math.min(event.offsetX + 12, Math.max(0, width - 260)), top: event.offsetY + 14 });
  };
  return html`<div class="timeline">
      ${spans.length === 0 && html`<p class="waiting">No job has been started yet.</p>`}
      <canvas
        ref=${canvas}
        hidden=${spans.length === 0}
        role="img"
        aria-label=${`${many(spans.length, "attempt")} on ${many(layout.lines.length, "container")}; the table of jobs has the same in words`}
        onMouseMove=${point}
        onMouseLeave=${() => setHint(null)}
        onClick=${(event) => {
          const span = find(event);
          if (span) go(jobAddress(id, span.job));
        }}
      ></canvas>
      ${hint && html`<div class="hint" style=${{ left: `${hint.left}px`, top: `${hint.top}px` }}>
        <strong>${hint.span.job}</strong>, attempt ${hint.span.attempt}<br />${hint.span.outcome ?? "running"},
        ${" "}${duration((hint.span.finished_at ?? now) - hint.span.started_at)}<br />${hint.span.container.slice(0, 24)} on ${hint.span.node}
      </div>`}
    </div>
    <ul class="legend">
      <li><span class="key area" data-key="accomplished"></span>accomplished</li>
      <li><span class="key area" data-key="running"></span>running</li>
      <li><span class="key area" data-key="failed"></span>failed, timed out, lost</li>
      <li><span class="key area" data-key="cancelled"></span>cancelled</li>
      ${layout.left > 0 && html`<li>${many(layout.left, "container")} more not shown</li>`}
    </ul>`;
}

/** Which span is on which line, and from when to when. */
function layOut(spans, now) {
  const lines = new Map();
  for (const span of [...spans].sort((one, other) => one.started_at - other.started_at)) {
    if (!lines.has(span.container)) lines.set(span.container, []);
    lines.get(span.container).push(span);
  }
  const all = [...lines.values()];
  const shown = all.slice(-MAX_LINES);
  const from = Math.min(...spans.map((span) => span.started_at));
  const to = Math.max(from + 1, ...spans.map((span) => span.finished_at ?? now));
  const linePixels = Math.max(5, Math.min(26, Math.floor(200 / Math.max(1, shown.length))));
  return { lines: shown, left: all.length - shown.length, from, to, now, linePixels };
}

function draw(canvas, width, height, { lines, from, to, now, linePixels }) {
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  const colors = Object.fromEntries([...Object.values(COLORS), "failed", "line", "faint"].map((name) => [name, color(name)]));
  const x = (at) => ((at - from) / (to - from)) * width;
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "top";
  const marks = Math.max(2, Math.min(8, Math.floor(width / 110)));
  for (let number = 0; number < marks; number += 1) {
    const at = from + ((to - from) * number) / marks;
    context.fillStyle = colors.line;
    context.fillRect(Math.round(x(at)), 0, 1, height);
    context.fillStyle = colors.faint;
    context.fillText(clock(at, to - from), x(at) + 4, 4);
  }
  lines.forEach((spans, line) => {
    const top = AXIS_PIXELS + line * linePixels;
    for (const span of spans) {
      context.fillStyle = colors[span.outcome === null ? "running" : (COLORS[span.outcome] ?? "failed")];
      const left = x(span.started_at);
      context.fillRect(left, top + 1, Math.max(1, x(span.finished_at ?? now) - left - 0.6), linePixels - 2);
    }
  });
}

function spanAt({ lines, from, to, now, linePixels }, width, left, top) {
  const at = from + (left / width) * (to - from);
  const slack = ((to - from) * 2) / width;
  const spans = lines[Math.floor((top - AXIS_PIXELS) / linePixels)] ?? [];
  return spans.findLast((span) => span.started_at - slack <= at && at <= (span.finished_at ?? now) + slack) ?? null;
}
