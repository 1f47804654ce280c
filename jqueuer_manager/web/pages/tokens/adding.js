/** Making a token, and showing it the one time that it is shown. */
import { send } from "../../api.js";
import { announce } from "../../parts/announce.js";
import { Dialog } from "../../parts/dialog.js";
import { html, useRef, useState } from "../../ui.js";

const ROLES = {
  viewer: "looks at everything",
  submitter: "submits and changes their own",
  admin: "changes everything, makes tokens",
};

/**
 * Ask what token is to be made.
 * @param {{onMade: (made: object) => void, onClose: () => void}} props `onMade` takes it once the question is gone: two dialogs would fight for the focus
 */
export function AddToken({ onMade, onClose }) {
  const [wish, setWish] = useState({ name: "", role: "submitter", expires: "", note: "" });
  const gone = useRef(false);
  const made = useRef(null);
  const change = (event) => setWish({ ...wish, [event.target.name]: event.target.value });
  const act = async () => {
    const expires = wish.expires.trim();
    made.current = await send("POST", "/tokens", { ...wish, name: wish.name.trim(), note: wish.note.trim(), expires: expires || null });
    if (gone.current) onMade(made.current);
  };
  const close = () => {
    gone.current = true;
    onClose();
    if (made.current) onMade(made.current);
  };
  const text = (name, words, more) => html`<div class="field">
    <label for=${`token-${name}`}>${words}</label>
    <input id=${`token-${name}`} name=${name} value=${wish[name]} onInput=${change} autocomplete="off" spellcheck="false" ...${more} />
  </div>`;
  return html`<${Dialog} title="Add a token" action="Add" act=${act} onClose=${close}>
    ${text("name", "User", { required: true, maxlength: 64, "aria-describedby": "token-name-help" })}
    <p id="token-name-help" class="help">Who has a token already may get another one: they own the same experiments.</p>
    <div class="field">
      <label for="token-role">Role</label>
      <select id="token-role" name="role" value=${wish.role} onChange=${change}>
        ${Object.entries(ROLES).map(([role, may]) => html`<option value=${role} selected=${role === wish.role}>${role}: ${may}</option>`)}
      </select>
    </div>
    ${text("expires", "Expires after", { placeholder: "never", "aria-describedby": "token-expires-help" })}
    <p id="token-expires-help" class="help">As in <code>90d</code> or <code>12h</code>; empty for a token that lasts until it is removed.</p>
    ${text("note", "Note", { maxlength: 200, placeholder: "what it is for" })}
  <//>`;
}

/** @param {{made: {token: string, name: string, role: string}, onClose: () => void}} props */
export function NewToken({ made, onClose }) {
  const field = useRef(null);
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    const done = await copyFrom(field.current);
    setCopied(done);
    announce(done ? "The token was copied" : "The token is selected: copy it by the keyboard");
  };
  return html`<${Dialog} title=${`The token of ${made.name}`} action="Done" onClose=${onClose}>
    <p>This is the only time it is shown: keep it, or give it to ${made.name} by a way that nobody else reads.</p>
    <div class="field">
      <label for="new-token">Token (${made.role})</label>
      <div class="copied-from">
        <input id="new-token" class="mono" ref=${field} readonly value=${made.token} onFocus=${(event) => event.target.select()} />
        <button type="button" onClick=${copy}>${copied ? "Copied" : "Copy"}</button>
      </div>
    </div>
  <//>`;
}

/** Put a field's text into the clipboard; pages that did not come by HTTPS or from this machine have only the old way. */
async function copyFrom(field) {
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    return true;
  } catch {
    return document.execCommand("copy");
  }
}
