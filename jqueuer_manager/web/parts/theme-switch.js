/** Light, dark, or as the system has it; charts are told, since a canvas does not know style sheets. */
import { html, useEffect, useState } from "../ui.js";

const CHANGED = "jqueuer-theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const SIGNS = { system: "◐", light: "☀", dark: "☾" };

/** A button that goes through the three. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme || "system");
  const choose = () => {
    const next = NEXT[theme];
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("jqueuer-theme", next);
    } catch {
      // not kept where storage is forbidden, but applied
    }
    setTheme(next);
    dispatchEvent(new Event(CHANGED));
  };
  const label = `Theme: ${theme}`;
  return html`<button type="button" class="quiet round" onClick=${choose} aria-label=${label} title=${label}>
    <span aria-hidden="true">${SIGNS[theme]}</span>
  </button>`;
}

/** A number that changes with the theme. */
export function useTheme() {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const update = () => setVersion((number) => number + 1);
    system.addEventListener("change", update);
    addEventListener(CHANGED, update);
    return () => {
      system.removeEventListener("change", update);
      removeEventListener(CHANGED, update);
    };
  }, []);
  return version;
}

let probe = null;

/** A colour of the style sheet, as it is now, in a form that a canvas takes. */
export function color(name) {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}
