/** Descriptions as text: from what a form says, and of which type a text is; pure functions. */

/** What a new text can begin with. */
export const EXAMPLE = `name: hello
image: debian:stable-slim
deadline: 10m
containers: {min: 1, max: 4}
estimate: 5s
sweep:
  parameters:
    number: {from: 1, to: 20, step: 1}
  job:
    id: "job-{{number}}"
    command: [sh, -c, "echo number {{number}}; sleep 2"]
`;

/**
 * The media type of a description.
 * @param {string} name of the file it came from, or empty
 * @param {string} text
 */
export function mediaTypeOf(name, text) {
  if (/\.(jsonl|ndjson)$/i.test(name)) return "application/x-ndjson";
  return /^\s*[{[]/.test(text) ? "application/json" : "application/yaml";
}

/**
 * The description that a form says, as YAML.
 * @param {{name: string, image: string, command: string, deadline: string, min: string, max: string, estimate: string,
 *   attempts: string, outputs: string, parameters: {name: string, values: string}[]}} form
 * @returns {string}
 */
export function describe(form) {
  const lines = [];
  const add = (key, value) => value && lines.push(`${key}: ${value}`);
  add("name", quoted(form.name));
  add("image", quoted(form.image));
  add("deadline", quoted(form.deadline));
  lines.push(`containers: {min: ${form.min || 1}, max: ${form.max || 1}}`);
  add("estimate", quoted(form.estimate));
  if (form.attempts) lines.push(`on_failure: {action: requeue, max_attempts: ${form.attempts}}`);
  const outputs = words(form.outputs);
  if (outputs.length) lines.push(`outputs: [${outputs.map(quoted).join(", ")}]`);
  const parameters = form.parameters.filter((one) => one.name && one.values);
  const command = `{shell: ${quoted(form.command)}}`;
  if (parameters.length) {
    lines.push("sweep:", "  parameters:");
    parameters.forEach((one) => lines.push(`    ${quoted(one.name)}: ${valuesOf(one.values)}`));
    lines.push("  job:", `    command: ${command}`);
  } else {
    lines.push("jobs:", `  - command: ${command}`);
  }
  return `${lines.join("\n")}\n`;
}

/** `1..9` counts, by one or by `step 2`; anything else is a list. */
function valuesOf(text) {
  const range = /^\s*(-?[\d.]*\d)\s*\.\.\s*(-?[\d.]*\d)\s*(?:step\s+([\d.]+))?\s*$/.exec(text);
  if (range) return `{from: ${range[1]}, to: ${range[2]}, step: ${range[3] ?? 1}}`;
  return `[${words(text).map((word) => (/^-?\d+(\.\d+)?$/.test(word) ? word : quoted(word))).join(", ")}]`;
}

function words(text) {
  return text.split(",").map((word) => word.trim()).filter(Boolean);
}

/** Plain where YAML takes it for text anyhow, else quoted as JSON is, which is YAML too. */
function quoted(text) {
  const trimmed = text.trim();
  return !trimmed || /^[A-Za-z][\w./-]*( [\w./-]+)*$/.test(trimmed) && !/^(true|false|null)$/i.test(trimmed) ? trimmed : JSON.stringify(trimmed);
}
