/** Input files: sent under the checksum of their content, by which a description names them. */
import { request } from "../../api.js";
import { bytes } from "../../format.js";
import { Problem } from "../../parts/problem.js";
import { html, useState } from "../../ui.js";

/** Where files are sent from, and what to write into the description for them. */
export function InputFiles() {
  const [sent, setSent] = useState([]);
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState("");
  const take = async (files) => {
    setError(null);
    try {
      for (const file of files) {
        setBusy(file.name);
        const sha256 = await checksum(file);
        await request(`/files/${sha256}`, { method: "PUT", body: file, headers: { "Content-Type": "application/octet-stream" } });
        setSent((old) => [...old.filter((one) => one.name !== file.name), { name: file.name, size: file.size, sha256 }]);
      }
    } catch (failure) {
      setError(failure);
    }
    setBusy("");
  };
  const lines = ["inputs:", ...sent.map((one) => `  - {path: ${JSON.stringify(one.name)}, sha256: ${one.sha256}}`)].join("\n");
  return html`<details class="card">
    <summary>Input files</summary>
    <div class="pile apart">
      <p class="help">Files that jobs read are sent first; the description names them by their checksum. <code>jqueuer submit</code> does both by itself.</p>
      ${globalThis.crypto?.subtle
        ? html`<label class="field">Files to send <input type="file" multiple disabled=${busy !== ""} onChange=${(event) => take([...event.target.files])} /></label>`
        : html`<p class="notice">Browsers compute checksums only on pages that came by HTTPS or from this machine.</p>`}
      ${busy && html`<p class="waiting">Sending ${busy}…</p>`}
      ${sent.length > 0 && html`
        <p>Sent: ${sent.map((one) => `${one.name} (${bytes(one.size)})`).join(", ")}. In the description:</p>
        <pre class="description" tabindex="0">${lines}</pre>`}
      <${Problem} error=${error} />
    </div>
  </details>`;
}

async function checksum(file) {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
