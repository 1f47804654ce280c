/** What its owner and administrators may do to an experiment. */
import { experimentPath, send } from "../../api.js";
import { duration, many } from "../../format.js";
import { announce } from "../../parts/announce.js";
import { Dialog } from "../../parts/dialog.js";
import { go } from "../../router.js";
import { html, useState } from "../../ui.js";
import { ended } from "../../words.js";

/** Buttons for what the state allows; each asks before it does what cannot be taken back. */
export function Commands({ experiment, onDone }) {
  const [asked, setAsked] = useState(null);
  const { state, jobs, settled } = experiment;
  const path = experimentPath(experiment.id);
  const command = async (name) => {
    await send("POST", `${path}/${name}`);
    announce(`${experiment.name}: ${name}`);
    onDone();
  };
  const remove = async () => {
    await send("DELETE", path);
    announce(`${experiment.name}: deleted`);
    go("/", { replace: true });
  };
  const dialog = (name, title, action, text, danger = false) => ({ name, title, action, text, danger, act: () => command(name) });
  const active = ["running", "paused", "finishing"].includes(state);
  const again = jobs.failed + jobs.cancelled;
  const ask = {
    pause: dialog("pause", "Pause it?", "Pause", "Running jobs finish, no new ones start, its containers are released."),
    cancel: dialog("cancel", "Cancel it?", "Cancel the experiment",
      `${many(jobs.queued, "queued job")} will be cancelled and ${many(jobs.running, "running job")} stopped. What is done stays.`, true),
    retry: dialog("retry", "Try again?", "Retry",
      again ? `${many(again, "failed or cancelled job")} will be queued again.` : "The post command will run again."),
    delete: { title: "Delete it?", action: "Delete for good", danger: true, act: remove,
      text: `What is known of ${experiment.name} is lost, and nothing but a backup brings it back: ${many(jobs.total, "job")} with every attempt, what they printed, their outputs, and all decisions.` },
  };
  const button = (name, words, kind = "") => html`<button type="button" class=${kind} onClick=${() => setAsked(name)}>${words}</button>`;
  return html`<div class="buttons" role="group" aria-label="Commands">
      ${state === "paused" && html`<${Resume} onResume=${() => command("resume")} />`}
      ${active && button("change", "Change deadline")}
      ${state === "running" && button("pause", "Pause")}
      ${active && button("cancel", "Cancel")}
      ${(state === "failed" || state === "cancelled") && settled && button("retry", jobs.failed || !again ? "Retry failed" : "Retry cancelled", "primary")}
      ${ended(state) && settled && button("delete", "Delete")}
    </div>
    ${asked && ask[asked] && html`<${Dialog} ...${ask[asked]} onClose=${() => setAsked(null)}><p>${ask[asked].text}</p><//>`}
    ${asked === "change" && html`<${Change} experiment=${experiment} onDone=${onDone} onClose=${() => setAsked(null)} />`}`;
}

function Resume({ onResume }) {
  const [error, setError] = useState(null);
  return html`<button type="button" class="primary" title=${error?.message} onClick=${() => onResume().catch(setError)}>Resume</button>
    ${error && html`<span role="alert">${error.message}</span>`}`;
}

function Change({ experiment, onDone, onClose }) {
  const { deadline_at: deadline, created_at: created, containers } = experiment;
  const [wish, setWish] = useState({
    deadline: deadline === null ? "" : duration(deadline - created).replace(" ", ""),
    min: String(containers.minimum),
    max: String(containers.maximum),
  });
  const [before] = useState(wish);
  const act = async () => {
    const limits = {};
    if (wish.min !== before.min) limits.min = Number(wish.min);
    if (wish.max !== before.max) limits.max = Number(wish.max);
    await send("PATCH", experimentPath(experiment.id), {
      ...(wish.deadline !== before.deadline ? { deadline: wish.deadline } : {}),
      ...(Object.keys(limits).length ? { containers: limits } : {}),
    });
    announce(`${experiment.name}: changed`);
    onDone();
  };
  const field = (name, words, more) => html`<div class="field">
    <label for=${`change-${name}`}>${words}</label>
    <input id=${`change-${name}`} value=${wish[name]} required=${name !== "deadline"} autocomplete="off"
      onInput=${(event) => setWish({ ...wish, [name]: event.target.value.trim() })} ...${more} />
  </div>`;
  return html`<${Dialog} title="Change deadline and containers" action="Change" act=${act} onClose=${onClose}>
    ${field("deadline", "Deadline", { "aria-describedby": "change-help" })}
    <p id="change-help" class="help">From the start, as in <code>2h</code> or <code>1h30m</code>; or a moment with its zone, as in <code>2030-12-31T18:00:00+01:00</code>.</p>
    <div class="fields">
      ${field("min", "Fewest containers", { type: "number", min: 0, max: 10000 })}
      ${field("max", "Most containers", { type: "number", min: 1, max: 10000 })}
    </div>
  <//>`;
}
