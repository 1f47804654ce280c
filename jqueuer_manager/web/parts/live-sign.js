/** Whether what is shown is true now. */
import { html } from "../ui.js";

const WORDS = {
  waiting: "connecting",
  live: "live",
  asking: "every 5 s",
  lost: "the manager does not answer",
};

/** @param {{how: keyof typeof WORDS}} props */
export function LiveSign({ how }) {
  return html`<span class="live" data-how=${how}><span class="dot" aria-hidden="true"></span>${WORDS[how]}</span>`;
}
