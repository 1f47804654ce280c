/** uPlot in a component: it is loaded when first needed, follows its place's width and the theme, and is fed in place. */
import { clock } from "../format.js";
import { color, useTheme } from "../parts/theme-switch.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../ui.js";

let loading = null;

function library() {
  loading ??= import("../vendor/uplot-1.6.32.js").then((module) => module.default);
  return loading;
}

/**
 * A chart over time.
 * @param {object} props
 * @param {(uPlot: any) => object} props.options made anew when the theme changes
 * @param {Array<Array<number | null>>} props.data columns, the times first
 * @param {string} props.label what the chart shows, in words
 * @param {{min: number, max: number}} props.range of the times
 */
export function TimeChart({ options, data, label, range }) {
  const place = useRef(null);
  const chart = useRef(null);
  const newest = useRef(null);
  newest.current = { data, range };
  const theme = useTheme();
  const [UPlot, setUPlot] = useState(null);
  useEffect(() => {
    library().then((found) => setUPlot(() => found));
  }, []);
  useLayoutEffect(() => {
    if (!UPlot) return undefined;
    const size = () => ({ width: place.current.clientWidth, height: place.current.clientHeight });
    const [common, own] = [base(newest), options(UPlot)];
    const settings = { ...common, ...own, scales: { ...common.scales, ...own.scales }, ...size() };
    chart.current = new UPlot(settings, newest.current.data, place.current);
    const observer = new ResizeObserver(() => chart.current.setSize(size()));
    observer.observe(place.current);
    return () => {
      observer.disconnect();
      chart.current.destroy();
      chart.current = null;
    };
  }, [UPlot, theme]);
  useEffect(() => chart.current?.setData(data), [data, range.min, range.max]);
  return html`<div class="chart" ref=${place} role="img" aria-label=${label}></div>`;
}

/** What all charts have in common. */
function base(newest) {
  return {
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: "experiment" } },
    padding: [8, 12, 0, 0],
    scales: { x: { time: false, range: () => [newest.current.range.min, newest.current.range.max] } },
  };
}

/** The axis of the time: clock times, as close together as they fit. */
export function timeAxis() {
  return {
    ...axis(),
    size: 30,
    space: 76,
    incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800],
    values: (chart, splits) => splits.map((at) => clock(at, chart.scales.x.max - chart.scales.x.min)),
  };
}

/** An axis of whole numbers. */
export function countAxis() {
  return { ...axis(), size: 48, space: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6] };
}

function axis() {
  const line = { stroke: color("line"), width: 1 };
  return { stroke: color("faint"), font: "12px system-ui, sans-serif", grid: line, ticks: { ...line, size: 4 } };
}

/** A vertical line at a time, with a word. */
export function mark(chart, at, word, stroke, dash = []) {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  const x = Math.round(chart.valToPos(at, "x", true));
  if (x < bbox.left || x > bbox.left + bbox.width) return;
  ctx.save();
  ctx.strokeStyle = stroke;
  ctx.fillStyle = stroke;
  ctx.lineWidth = 1.5 * ratio;
  ctx.setLineDash(dash.map((length) => length * ratio));
  ctx.beginPath();
  ctx.moveTo(x, bbox.top);
  ctx.lineTo(x, bbox.top + bbox.height);
  ctx.stroke();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textBaseline = "bottom";
  const room = bbox.left + bbox.width - x > ctx.measureText(word).width + 8 * ratio;
  ctx.textAlign = room ? "left" : "right";
  ctx.fillText(word, x + (room ? 5 : -5) * ratio, bbox.top + bbox.height - 6 * ratio);
  ctx.restore();
}
