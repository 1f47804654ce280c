/** The document's title, which is what a tab shows and a screen reader reads first. */
import { useEffect } from "../ui.js";

/** Set it while a page is shown. */
export function useTitle(title) {
  useEffect(() => {
    document.title = title ? `${title} · JQueuer` : "JQueuer";
  }, [title]);
}
