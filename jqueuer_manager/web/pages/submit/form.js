/** A form that writes a description; what it wrote stands below it, and is what is submitted. */
import { html, useEffect, useState } from "../../ui.js";
import { describe } from "./description.js";

const EMPTY = {
  name: "", image: "", command: "", deadline: "", min: "1", max: "4", estimate: "", attempts: "3", outputs: "",
  parameters: [{ name: "", values: "" }],
};

/** @param {{onText: (text: string) => void}} props */
export function Form({ onText }) {
  const [form, setForm] = useState(EMPTY);
  const text = describe(form);
  const begun = form.command.trim() !== "";
  useEffect(() => {
    if (begun) onText(text);
  }, [begun ? text : ""]);
  const field = (name, words, more = {}, help = "") => html`<div class="field">
    <label for=${`form-${name}`}>${words}</label>
    <input id=${`form-${name}`} value=${form[name]} autocomplete="off" spellcheck="false" ...${more}
      aria-describedby=${help ? `form-${name}-help` : undefined}
      onInput=${(event) => setForm({ ...form, [name]: event.target.value })} />
    ${help && html`<p class="help" id=${`form-${name}-help`}>${help}</p>`}
  </div>`;
  const setParameter = (place, change) =>
    setForm({ ...form, parameters: form.parameters.map((one, number) => (number === place ? { ...one, ...change } : one)) });
  return html`
    <div class="fields">
      ${field("name", "Name", { placeholder: "night run" })}
      ${field("image", "Image", { placeholder: "none: local processes" })}
    </div>
    <div class="field">
      <label for="form-command">Command</label>
      <textarea id="form-command" class="mono" rows="3" spellcheck="false" value=${form.command} aria-describedby="form-command-help"
        placeholder='python3 run.py --size {{size}}' onInput=${(event) => setForm({ ...form, command: event.target.value })}></textarea>
      <p class="help" id="form-command-help">A line for <code>/bin/sh</code>; <code>${"{{name}}"}</code> stands for the value of a parameter.</p>
    </div>
    <fieldset class="pile">
      <legend>Parameters: one job for each combination</legend>
      ${form.parameters.map(
        (one, place) => html`<div class="fields" key=${place}>
          <input aria-label=${`Name of parameter ${place + 1}`} placeholder="size" value=${one.name} onInput=${(event) => setParameter(place, { name: event.target.value.trim() })} />
          <input aria-label=${`Values of parameter ${place + 1}`} placeholder="1..10, or small, large" value=${one.values} onInput=${(event) => setParameter(place, { values: event.target.value })} />
        </div>`,
      )}
      <p><button type="button" onClick=${() => setForm({ ...form, parameters: [...form.parameters, { name: "", values: "" }] })}>One more parameter</button></p>
    </fieldset>
    <div class="fields">
      ${field("deadline", "Deadline", { placeholder: "1h30m" })}
      ${field("estimate", "One job takes about", { placeholder: "5m" })}
      ${field("min", "Fewest containers", { type: "number", min: 0 })}
      ${field("max", "Most containers", { type: "number", min: 1 })}
      ${field("attempts", "Attempts per job", { type: "number", min: 1 })}
      ${field("outputs", "Outputs", { placeholder: "out/*.csv, log.txt" })}
    </div>
    ${begun && html`<details open><summary>The description that this makes</summary><pre class="description" tabindex="0">${text}</pre></details>`}
  `;
}
