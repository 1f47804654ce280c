/** Tells screen readers what changed, politely. */
import { useEffect, useRef } from "../ui.js";

/** Say something. */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place.textContent !== text) place.textContent = text;
}

/** Say it whenever it changes, but not the first time: that stands on the page. */
export function useAnnounced(text) {
  const last = useRef(null);
  useEffect(() => {
    if (text === null) return;
    if (last.current !== null && last.current !== text) announce(text);
    last.current = text;
  }, [text]);
}
