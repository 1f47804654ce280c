/** Numbers, durations and moments as people read them; pure functions. */

const DAY = 86_400;

/**
 * A duration in its two largest units.
 * @param {number | null | undefined} seconds
 * @returns {string} such as `1h 30m`, `45s`, `0.31s`; `–` where there is none
 */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const size = Math.abs(seconds);
  if (size < 10) return `${trimmed(size, size < 1 ? 2 : 1)}s`;
  const whole = Math.round(size);
  const parts = [
    [Math.floor(whole / DAY), "d"],
    [Math.floor((whole % DAY) / 3600), "h"],
    [Math.floor((whole % 3600) / 60), "m"],
    [whole % 60, "s"],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(" ");
}

function trimmed(number, digits) {
  return String(Number(number.toFixed(digits)));
}

/**
 * A moment by the clock of whoever looks; with its day where that is not today.
 * @param {number | null | undefined} at seconds since the epoch
 * @returns {string}
 */
export function moment(at) {
  if (at === null || at === undefined) return "–";
  const date = new Date(at * 1000);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return date.toDateString() === new Date().toDateString() ? time : `${day(date)} ${time.slice(0, 5)}`;
}

/** A moment without seconds, for axes of charts that span more than a few minutes. */
export function clock(at, spanSeconds) {
  const date = new Date(at * 1000);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  if (spanSeconds > 2 * DAY) return `${day(date)} ${time}`;
  return spanSeconds < 600 ? `${time}:${two(date.getSeconds())}` : time;
}

/** A moment in full, for `title` and `datetime`. */
export function iso(at) {
  return at === null || at === undefined ? "" : new Date(at * 1000).toISOString();
}

function day(date) {
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

/**
 * A size in bytes.
 * @param {number} size
 * @returns {string} such as `1.4 MB`
 */
export function bytes(size) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let rest = size;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? rest : trimmed(rest, 1)} ${units[unit]}`;
}

/** A count with thin spaces between thousands. */
export function count(number) {
  return String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** `1 job`, `2 jobs`. */
export function many(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/**
 * A probability in percent that never claims certainty.
 * @param {number} probability 0 … 1
 * @returns {string} such as `97 %`, `> 99 %`, `< 1 %`
 */
export function percent(probability) {
  if (probability > 0.99) return "> 99 %";
  if (probability < 0.01) return "< 1 %";
  return `${Math.round(probability * 100)} %`;
}
