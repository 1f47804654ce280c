/** A question in a dialog of the browser's own: it keeps the focus in, and Escape closes it. */
import { html, useEffect, useId, useRef, useState } from "../ui.js";
import { Problem } from "./problem.js";

/**
 * Ask before something is done, or show something until it was seen; while it is being done there is no way back.
 * @param {{title: string, action: string, danger?: boolean, act?: () => Promise<unknown>, onClose: () => void, children: unknown}} props
 *   `act` does it; the dialog closes when that has succeeded, and shows the error otherwise; without it there is nothing to go back from
 */
export function Dialog({ title, action, danger = false, act, onClose, children }) {
  const dialog = useRef(null);
  const heading = useId();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  useEffect(() => dialog.current.showModal(), []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await act?.();
      dialog.current?.close();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const stay = (event) => busy && event.preventDefault(); // who insists gets out: browsers ask once
  return html`<dialog ref=${dialog} aria-labelledby=${heading} onCancel=${stay} onClose=${onClose}>
    <form onSubmit=${submit}>
      <h2 id=${heading}>${title}</h2>
      ${children}
      <${Problem} error=${error} />
      <div class="buttons end">
        ${act && html`<button type="button" disabled=${busy} onClick=${() => dialog.current.close()}>Back</button>`}
        <button type="submit" class=${danger ? "danger" : "primary"} disabled=${busy}>${action}</button>
      </div>
    </form>
  </dialog>`;
}
