/** The page as a whole: who is logged in, the head, and the page that the address names. */
import { onLoggedOut } from "./api.js";
import { ExperimentPage } from "./pages/experiment.js";
import { JobPage } from "./pages/job.js";
import { ListPage } from "./pages/list.js";
import { LoginPage } from "./pages/login.js";
import { SubmitPage } from "./pages/submit.js";
import { TokensPage } from "./pages/tokens.js";
import { ThemeSwitch } from "./parts/theme-switch.js";
import { Problem } from "./parts/problem.js";
import { go, route, useAddress } from "./router.js";
import { ANYBODY, logOut, whoAmI } from "./session.js";
import { html, render, useEffect, useRef, useState } from "./ui.js";

const RETRY_SECONDS = 5;
const PAGES = { list: ListPage, experiment: ExperimentPage, job: JobPage, submit: SubmitPage, tokens: TokensPage };

function App() {
  const address = useAddress();
  const where = route(address.path);
  const [me, setMe] = useState(undefined);
  const [error, setError] = useState(null);
  const main = useRef(null);
  const place = useRef(address.path);

  const look = async () => {
    try {
      setMe(await whoAmI());
      setError(null);
    } catch (failure) {
      setError(failure);
      setTimeout(look, RETRY_SECONDS * 1000);
    }
  };
  useEffect(() => {
    onLoggedOut(() => setMe(null));
    look();
  }, []);
  useEffect(() => {
    if (place.current === address.path) return;
    place.current = address.path;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true }); // who reads with the ears begins at the new page
  }, [address.path]);
  useEffect(() => {
    if (me === null && where.page !== "login") {
      go(`/login?next=${encodeURIComponent(address.path + location.search)}`, { replace: true });
    }
  }, [me, where.page]);

  const leave = async () => {
    try {
      await logOut();
      setMe(null);
    } catch (failure) {
      setError(failure);
      setTimeout(look, RETRY_SECONDS * 1000);
    }
  };
  const loggedIn = () => look().then(() => go(nextOf(address.query), { replace: true }));
  return html`
    <a class="skip" href="#main">To the content</a>
    <${Head} me=${me} page=${where.page} onLeave=${leave} />
    <main id="main" tabindex="-1" ref=${main}>
      ${error
        ? html`<${Problem} error=${error} />`
        : where.page === "login"
          ? html`<${LoginPage} onLogin=${loggedIn} />`
          : me && html`<${Page} where=${where} address=${address} me=${me} />`}
    </main>
  `;
}

function Page({ where, address, me }) {
  const Found = PAGES[where.page];
  if (!Found) return html`<h1>There is no such page</h1><p><a href="/">To the experiments</a></p>`;
  return html`<${Found} key=${`${where.id}/${where.job}`} ...${where} address=${address} me=${me} />`;
}

function Head({ me, page, onLeave }) {
  const at = (name) => (page === name ? "page" : undefined);
  return html`<header class="head">
    <a class="brand" href="/"><img src="/static/icon.svg" alt="" width="22" height="22" />JQueuer</a>
    ${me
      ? html`<nav aria-label="Pages">
          <a href="/" aria-current=${at("list")}>Experiments</a>
          ${me.role !== "viewer" && html`<a href="/submit" aria-current=${at("submit")}>Submit</a>`}
          ${me.role === "admin" && html`<a href="/tokens" aria-current=${at("tokens")}>Users</a>`}
        </nav>`
      : html`<span class="grow"></span>`}
    <span class="right">
      ${me && html`<span class="who" title=${`role: ${me.role}`}>${me.name}<span class="faint"> · ${me.role}</span></span>`}
      ${me && me.name !== ANYBODY && html`<button type="button" class="quiet" onClick=${onLeave}>Log out</button>`}
      <${ThemeSwitch} />
    </span>
  </header>`;
}

function nextOf(query) {
  const next = query.get("next") || "/";
  return next.startsWith("/") && !next.startsWith("//") && !next.startsWith("/\\") ? next : "/"; // nowhere but here
}

render(html`<${App} />`, document.getElementById("app"));
