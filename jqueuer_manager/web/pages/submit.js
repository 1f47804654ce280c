/** Submitting: write, drop or fill in a description; it is checked and quoted before it can be sent. */
import { sendText } from "../api.js";
import { announce } from "../parts/announce.js";
import { Faults, Problem } from "../parts/problem.js";
import { useTitle } from "../parts/title.js";
import { experimentAddress, go } from "../router.js";
import { html, useEffect, useRef, useState } from "../ui.js";
import { EXAMPLE, mediaTypeOf } from "./submit/description.js";
import { Form } from "./submit/form.js";
import { InputFiles } from "./submit/inputs.js";
import { QuoteCard } from "./submit/quote.js";

const TYPING_MILLISECONDS = 500;
const KEPT = "jqueuer-description";

/** @param {{me: object}} props */
export function SubmitPage({ me }) {
  useTitle("Submit");
  const [text, setText] = useState(kept);
  const [source, setSource] = useState("");
  const [way, setWay] = useState("text");
  const check = useQuote(me.role === "viewer" ? "" : text, source);
  const [sending, setSending] = useState({ busy: false, error: null });
  const editor = useRef(null);
  const key = useRef(null);
  const change = (next, from = source) => {
    setText(next);
    setSource(from);
    setSending({ busy: false, error: null });
    key.current = crypto.getRandomValues(new Uint32Array(4)).join("-"); // one text is submitted once, however often it is sent
    keep(next);
  };
  const submit = async () => {
    setSending({ busy: true, error: null });
    try {
      const query = source ? `?${new URLSearchParams({ source })}` : "";
      key.current ??= crypto.getRandomValues(new Uint32Array(4)).join("-");
      const made = await sendText(`/experiments${query}`, text, mediaTypeOf(source, text), { "Idempotency-Key": key.current });
      keep("");
      announce("Submitted");
      go(experimentAddress(made.id));
    } catch (error) {
      setSending({ busy: false, error });
    }
  };
  const toLine = (line) => {
    setWay("text");
    requestAnimationFrame(() => selectLine(editor.current, line));
  };
  const ready = check.quote !== null && !check.busy && !sending.busy;
  if (me.role === "viewer") {
    return html`<h1>Submit</h1><p class="empty">Your token may look only. An administrator can give you a submitter's.</p>`;
  }
  return html`
    <h1>Submit an experiment</h1>
    <div class="submit">
      <div class="pile">
        <div class="card pile">
          <div class="card-head">
            <div class="tabs" role="group" aria-label="How to describe it">
              <button type="button" aria-pressed=${way === "text"} onClick=${() => setWay("text")}>Description</button>
              <button type="button" aria-pressed=${way === "form"} onClick=${() => setWay("form")}>Form</button>
            </div>
            <span class="grow"></span>
            ${source && html`<span class="faint small break">from ${source}</span>`}
          </div>
          <${Drop} onFile=${(name, content) => { change(content, name); setWay("text"); }} />
          ${way === "form"
            ? html`<${Form} onText=${(made) => change(made, "")} />`
            : html`<div class="field">
                <label for="description">Description, in YAML or JSON</label>
                <textarea id="description" class="text mono" ref=${editor} spellcheck="false" autocapitalize="off" value=${text}
                  placeholder=${EXAMPLE} aria-describedby="check" onInput=${(event) => change(event.target.value)}></textarea>
                ${!text && html`<p><button type="button" class="link" onClick=${() => change(EXAMPLE, "")}>Begin with this example</button></p>`}
              </div>`}
        </div>
        <${InputFiles} />
      </div>
      <aside aria-label="Check and submit">
        <${QuoteCard} check=${check} empty=${!text.trim()}>
          ${check.error && (check.error.faults.length
            ? html`<div class="problem"><${Faults} faults=${check.error.faults} onLine=${toLine} /></div>`
            : html`<${Problem} error=${check.error} />`)}
        <//>
        <${Problem} error=${sending.error} onLine=${toLine} />
        <button type="button" class="primary" id="submit" disabled=${!ready} onClick=${submit}>
          ${sending.busy ? "Submitting…" : check.quote && !check.quote.feasible ? "Submit all the same" : "Submit"}
        </button>
      </aside>
    </div>
  `;
}

/** The quote of a text, asked for when typing pauses. */
function useQuote(text, source) {
  const [state, setState] = useState({ quote: null, error: null, busy: false });
  useEffect(() => {
    if (!text.trim()) {
      setState({ quote: null, error: null, busy: false });
      return undefined;
    }
    setState((old) => ({ ...old, busy: true }));
    let stopped = false;
    const timer = setTimeout(async () => {
      const query = source ? `?${new URLSearchParams({ source })}` : "";
      try {
        const quote = await sendText(`/quotes${query}`, text, mediaTypeOf(source, text));
        if (!stopped) setState({ quote, error: null, busy: false });
      } catch (error) {
        if (!stopped) setState({ quote: null, error, busy: false });
      }
    }, TYPING_MILLISECONDS);
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [text, source]);
  return state;
}

function Drop({ onFile }) {
  const [over, setOver] = useState(false);
  const take = async (file) => file && onFile(file.name, await file.text());
  return html`<div class="drop" data-over=${over}
    onDragOver=${(event) => { event.preventDefault(); setOver(true); }}
    onDragLeave=${() => setOver(false)}
    onDrop=${(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer.files[0]); }}>
    <label for="file">Drop a YAML or JSON file here, or choose one</label>
    <input id="file" type="file" accept=".yaml,.yml,.json,.jsonl,.ndjson" onChange=${(event) => take(event.target.files[0])} />
  </div>`;
}

function selectLine(editor, line) {
  if (!editor) return;
  const lines = editor.value.split("\n");
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  editor.focus();
  editor.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
  editor.scrollTop = Math.max(0, (line - 5) * (editor.scrollHeight / Math.max(1, lines.length)));
}

function kept() {
  try {
    return sessionStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

function keep(text) {
  try {
    sessionStorage.setItem(KEPT, text.length < 1_000_000 ? text : "");
  } catch {
    // what cannot be kept is not; a reload then begins anew
  }
}
