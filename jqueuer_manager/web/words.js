/** What the page says in sentences: is it going to make it, and what went wrong; pure functions. */
import { duration, many, moment, percent } from "./format.js";

/** All states of a job, in the order in which bars and legends show them. */
export const JOB_STATES = ["accomplished", "running", "failed", "cancelled", "queued"];

/** Whether an experiment has ended. */
export function ended(state) {
  return state === "accomplished" || state === "failed" || state === "cancelled";
}

/** Jobs that have their outcome. */
export function done(jobs) {
  return jobs.accomplished + jobs.failed + jobs.cancelled;
}

/**
 * The answer to “is it going to make it?”.
 * @param {object} experiment as the API describes it
 * @param {number} now
 * @returns {{tone: "good" | "unsure" | "bad" | "plain", answer: string, because: string}}
 */
export function verdict(experiment, now) {
  const { state, deadline_at: deadline, forecast } = experiment;
  if (ended(state)) return outcome(experiment);
  const left = deadline === null ? null : deadline - now;
  if (state === "paused") return { tone: "plain", answer: "It is paused.", because: `No job starts until it is resumed.${ofDeadline(left)}` };
  if (state === "finishing") return { tone: "plain", answer: "Nearly there.", because: `All jobs have ended; the post command runs.${ofDeadline(left)}` };
  if (left !== null && left <= 0) {
    const rest = forecast ? ` It ends at about ${moment(forecast.finish_at)}.` : "";
    return { tone: "bad", answer: "No: its deadline has passed.", because: `That was ${duration(-left)} ago.${rest}` };
  }
  if (!forecast) {
    const waiting = experiment.waits_for || "There is no forecast yet.";
    return { tone: "plain", answer: experiment.waits_for ? "It waits." : "Too early to say.", because: `${sentence(waiting)}${ofDeadline(left)}` };
  }
  const range = `It ends at about ${moment(forecast.finish_at)}, with 95 % by ${moment(forecast.p95_at)}.`;
  if (forecast.probability === null) {
    return { tone: "plain", answer: `Done in about ${duration(Math.max(0, forecast.finish_at - now))}.`, because: `${range} It has no deadline.` };
  }
  return { ...chance(forecast.probability), because: `${percent(forecast.probability)} in time. ${range}` };
}

function chance(probability) {
  if (probability >= 0.95) return { tone: "good", answer: "Yes, it makes it." };
  if (probability >= 0.8) return { tone: "good", answer: "Very probably." };
  if (probability >= 0.6) return { tone: "unsure", answer: "Probably." };
  if (probability >= 0.4) return { tone: "unsure", answer: "It could go either way." };
  if (probability >= 0.1) return { tone: "bad", answer: "Probably not." };
  return { tone: "bad", answer: "No, not as it goes now." };
}

function outcome({ state, deadline_at: deadline, finished_at: finished, created_at: created, reason }) {
  const took = finished === null ? "" : `It took ${duration(finished - created)}.`;
  if (state === "cancelled") return { tone: "plain", answer: "It was cancelled.", because: [took, sentence(reason)].filter(Boolean).join(" ") };
  if (state === "failed") return { tone: "bad", answer: "It failed.", because: [sentence(reason), took].filter(Boolean).join(" ") };
  if (deadline === null || finished === null) return { tone: "good", answer: "It is done.", because: took };
  const early = deadline - finished;
  if (early >= 0) return { tone: "good", answer: "It made it.", because: `Done ${duration(early)} before its deadline. ${took}` };
  return { tone: "bad", answer: "Done, but too late.", because: `It ended ${duration(-early)} after its deadline. ${took}` };
}

function ofDeadline(left) {
  if (left === null) return "";
  return left > 0 ? ` Its deadline is in ${duration(left)}.` : ` Its deadline passed ${duration(-left)} ago.`;
}

/** A phrase with a capital and a full stop; nothing stays nothing. */
export function sentence(phrase) {
  if (!phrase) return "";
  const text = phrase[0].toUpperCase() + phrase.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/**
 * The chance in a few words, for a list.
 * @param {object | null | undefined} forecast
 */
export function chanceInWords(forecast) {
  if (!forecast) return "";
  if (forecast.probability === null) return `ends at about ${moment(forecast.finish_at)}`;
  return `makes it ${percent(forecast.probability)}`;
}

/**
 * A deadline in relation to now, or to the end.
 * @returns {string}
 */
export function timeLeft({ state, deadline_at: deadline, finished_at: finished }, now) {
  if (deadline === null) return "no deadline";
  if (ended(state)) {
    const early = deadline - (finished ?? deadline);
    if (state !== "accomplished") return "";
    return early >= 0 ? `met, ${duration(early)} before` : `missed by ${duration(-early)}`;
  }
  const left = deadline - now;
  return left >= 0 ? `${duration(left)} left` : `passed ${duration(-left)} ago`;
}

/** The jobs of an experiment in words, for readers of a bar. */
export function jobsInWords(jobs) {
  const parts = JOB_STATES.filter((state) => jobs[state] > 0).map((state) => `${jobs[state]} ${state}`);
  return `${many(jobs.total, "job")}: ${parts.join(", ") || "none"}`;
}

/**
 * Whether a user may change an experiment, as the manager would have it.
 * @param {{name: string, role: string} | null} me
 * @param {{owner: string}} experiment
 */
export function mayChange(me, experiment) {
  if (!me) return false;
  return me.role === "admin" || (me.role === "submitter" && experiment.owner !== "" && experiment.owner === me.name);
}

/** Why an attempt or a job ended as it did. */
export function reasonOf({ reason, exit_code: code, state, outcome: how }) {
  if (reason) return reason;
  if (code !== null && code !== undefined && code !== 0) return `exit code ${code}`;
  return how || state || "";
}
