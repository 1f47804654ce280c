/** The one place that says where the user interface library comes from. */
import { Fragment, h, render } from "./vendor/preact-11.2.0.js";
import htm from "./vendor/htm-3.1.1.js";

export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact-hooks-11.2.0.js";
export { Fragment, render };

/** Markup as tagged templates; whatever is put in is text, never markup. */
export const html = htm.bind(h);
