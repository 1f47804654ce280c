/** The history of an experiment as columns for charts, continued by what comes in live. */

/**
 * A point of the history from a live experiment.
 * @param {object} experiment as the API describes it
 * @param {number} at
 */
export function pointOf(experiment, at) {
  const { jobs, containers } = experiment;
  return {
    at,
    queued: jobs.queued,
    running: jobs.running,
    accomplished: jobs.accomplished,
    failed: jobs.failed,
    cancelled: jobs.cancelled,
    wanted: containers.wanted,
    requested: containers.requested,
    starting: containers.starting,
    idle: containers.running - containers.busy,
    busy: containers.busy,
    draining: containers.draining,
  };
}

/** The same points with one more, unless it is not newer than the last. */
export function continued(points, point) {
  const last = points.at(-1);
  return last && last.at >= point.at ? points : [...points, point];
}

/** One column. @param {object[]} points @param {(point: object) => number | null} value */
export function column(points, value) {
  return points.map(value);
}

/**
 * The times that the charts of an experiment show: from its start to its end, or to whatever of deadline and forecast is
 * later, but never so far that what happened is a sliver.
 * @returns {{min: number, max: number}}
 */
export function timeRange(experiment, now) {
  const start = experiment.created_at;
  const deadline = experiment.deadline_at ?? 0;
  if (experiment.finished_at) {
    const end = experiment.finished_at;
    const visible = deadline - start < 4 * (end - start) ? deadline : 0;
    return padded(start, Math.max(end, visible));
  }
  const likely = experiment.forecast?.p95_at ?? now;
  const far = Math.max(now, likely);
  const visible = deadline - start < 12 * Math.max(1, far - start) ? deadline : 0;
  return padded(start, Math.max(far, visible));
}

function padded(start, end) {
  return { min: start, max: start + Math.max(2, end - start) * 1.02 };
}
