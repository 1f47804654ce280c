/** Logging in with a token. */
import { useTitle } from "../parts/title.js";
import { Problem } from "../parts/problem.js";
import { logIn } from "../session.js";
import { html, useEffect, useRef, useState } from "../ui.js";

/** @param {{onLogin: () => unknown}} props */
export function LoginPage({ onLogin }) {
  useTitle("Log in");
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await logIn(field.current.value.trim());
      await onLogin();
    } catch (failure) {
      setError(failure);
      field.current.select();
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="login card" onSubmit=${submit}>
    <h1>Log in</h1>
    <label for="token">Token</label>
    <input id="token" ref=${field} type="password" autocomplete="current-password" required spellcheck="false"
      aria-describedby="token-help" aria-invalid=${error ? "true" : undefined} />
    <${Problem} error=${error} />
    <button type="submit" class="primary" disabled=${busy}>Log in</button>
    <p id="token-help" class="help">
      An administrator makes tokens: <code>jqueuer token add NAME --role submitter</code>. After <code>jqueuer serve</code> on
      this machine, yours is in <code>.jqueuer/token</code>.
    </p>
  </form>`;
}
