/** Users and their tokens, for administrators: who may do what, new tokens, and withdrawing them. */
import { now, send } from "../api.js";
import { duration, iso, moment } from "../format.js";
import { useAsked } from "../live.js";
import { announce } from "../parts/announce.js";
import { Dialog } from "../parts/dialog.js";
import { Waiting } from "../parts/problem.js";
import { useTitle } from "../parts/title.js";
import { ANYBODY } from "../session.js";
import { html, useRef, useState } from "../ui.js";
import { AddToken, NewToken } from "./tokens/adding.js";

const LOOK_SECONDS = 30;

/** @param {{me: {name: string, role: string, token: {id: string} | null}}} props */
export function TokensPage({ me }) {
  useTitle("Users and tokens");
  const [version, setVersion] = useState(0);
  const { data, error } = useAsked(me.role === "admin" ? "/tokens" : null, LOOK_SECONDS, version);
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState([]);
  const [removing, setRemoving] = useState(null);
  const add = useRef(null);
  if (me.role !== "admin") return html`<h1>Users and tokens</h1><p>Only administrators see them.</p>`;
  const take = (token) => {
    setMade((others) => [...others, token]);
    setVersion((number) => number + 1);
  };
  const answered = (removed) => {
    setRemoving(null);
    if (!removed) return;
    setVersion((number) => number + 1);
    add.current?.focus(); // the button that was pressed goes with its row
  };
  return html`
    <div class="title-row">
      <h1>Users and tokens</h1>
      <span class="grow"></span>
      <button type="button" class="primary" ref=${add} onClick=${() => setAdding(true)}>Add a token</button>
    </div>
    <p class="faint small">A user is a name on tokens, and a token does what its role may. Tokens that are settings of the manager are not listed.</p>
    ${me.name === ANYBODY && html`<p class="notice">This manager lets everybody in without a token: what is made here counts once it asks for one.</p>`}
    ${data ? html`<${Table} tokens=${data.tokens} own=${me.token?.id} onRemove=${setRemoving} />` : html`<${Waiting} error=${error} />`}
    ${adding && html`<${AddToken} onMade=${take} onClose=${() => setAdding(false)} />`}
    ${made.length > 0 && html`<${NewToken} key=${made[0].id} made=${made[0]} onClose=${() => setMade(([, ...others]) => others)} />`}
    ${removing && html`<${RemoveToken} token=${removing} own=${removing.id === me.token?.id} onClose=${answered} />`}
  `;
}

function Table({ tokens, own, onRemove }) {
  if (tokens.length === 0) return html`<p class="empty">There are no tokens yet.</p>`;
  const byName = [...tokens].sort((one, other) => one.name.localeCompare(other.name) || one.created_at - other.created_at);
  return html`<table class="rows stack tokens">
    <caption class="unseen">Tokens by user</caption>
    <thead>
      <tr><th scope="col">User</th><th scope="col">Role</th><th scope="col">Note</th><th scope="col">Made</th><th scope="col">Expires</th>
        <th scope="col">Id</th><th scope="col"><span class="unseen">Commands</span></th></tr>
    </thead>
    <tbody>${byName.map((token) => html`<${Row} key=${token.id} token=${token} own=${token.id === own} onRemove=${onRemove} />`)}</tbody>
  </table>`;
}

function Row({ token, own, onRemove }) {
  const { id, name, role, note, created_at: made, expires_at: expires } = token;
  return html`<tr>
    <th scope="row" class="break">${name}${own && html` <span class="faint small">(yours)</span>`}</th>
    <td data-label="Role">${role}</td>
    <td data-label="Note" class="break">${note}</td>
    <td data-label="Made" class="number nowrap" title=${iso(made)}>${moment(made)}</td>
    <td data-label="Expires" class="number nowrap" title=${iso(expires)}>${expires === null ? "never" : `in ${duration(Math.max(0, expires - now()))}`}</td>
    <td data-label="Id" class="nowrap"><code>${id}</code></td>
    <td class="right"><button type="button" aria-label=${`Remove the token ${id} of ${name}`} onClick=${() => onRemove(token)}>Remove</button></td>
  </tr>`;
}

/** @param {{token: object, own: boolean, onClose: (removed: boolean) => void}} props */
function RemoveToken({ token, own, onClose }) {
  const { id, name, role, note } = token;
  const removed = useRef(false);
  const act = async () => {
    await send("DELETE", `/tokens/${encodeURIComponent(id)}`);
    announce(`The token ${id} of ${name} was removed`);
    removed.current = true;
  };
  return html`<${Dialog} title="Remove the token?" action="Remove the token" danger act=${act} onClose=${() => onClose(removed.current)}>
    <p>The token <code>${id}</code> of ${name} (${role}${note && `, ${note}`}) is worth nothing from then on, for programs and browsers alike. ${name}'s experiments stay.</p>
    ${own && html`<p class="notice">You logged in with this one: you will be logged out.</p>`}
  <//>`;
}
