/** The dashboard: its frame, its pages, the prompt for a token. */

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import "./app.css";
import { drawn } from "./chart";
import { shownText } from "./editor";
import { CampaignPage } from "./pages/campaign";
import { Campaigns } from "./pages/campaigns";
import { Doctor } from "./pages/doctor";
import { Now } from "./pages/now";
import { Compare, ResultPage, Results } from "./pages/results";
import { RunPage, shownFeed } from "./pages/run";
import { StartPage } from "./pages/start";
import { Title } from "./parts";
import { usePoll } from "./poll";
import { route, to } from "./route";
import { call, forgetToken, hasToken, keepToken, reachable, sentence, tokenWanted } from "./server";
import { useSignal } from "./signal";
import { tableDrawn } from "./streams";
import { type Theme, theme } from "./theme";

const PAGES: [string, string][] = [
  ["now", "Now"],
  ["start", "Start"],
  ["campaigns", "Campaigns"],
  ["results", "Results"],
  ["doctor", "Doctor"],
];

function Page({ parts: [page, id] }: { parts: string[] }) {
  switch (page) {
    case undefined:
    case "now":
      return <Now />;
    case "runs":
      return id ? <RunPage key={id} id={id} /> : <Now />;
    case "start":
      return <StartPage kind={id} />;
    case "campaigns":
      return id ? <CampaignPage key={id} id={id} /> : <Campaigns />;
    case "results":
      return id ? <ResultPage key={id} id={id} /> : <Results />;
    case "compare":
      return <Compare key={id} ids={id ?? ""} />;
    case "doctor":
      return <Doctor />;
    default:
      return (
        <>
          <Title name="No such page" />
          <p>
            Page '{page}' does not exist. <a href={to("now")}>Go to the start page</a>
          </p>
        </>
      );
  }
}

/** Which entry of the menu a page belongs to. */
function section(page: string | undefined): string {
  if (page === "compare") return "results";
  return page === undefined || page === "runs" ? "now" : page;
}

function Top({ parts }: { parts: string[] }) {
  const here = section(parts[0]);
  return (
    <header class="top">
      <a class="brand" href={to("now")}>
        <img src="icon.svg" width="24" height="24" alt="" /> Eagre
      </a>
      <nav aria-label="Pages">
        {PAGES.map(([page, name]) => (
          <a key={page} href={to(page)} aria-current={here === page ? "page" : undefined}>
            {name}
          </a>
        ))}
        <a href="docs/">Docs</a>
      </nav>
      <div class="who">
        <Who />
        <Look />
      </div>
    </header>
  );
}

function Who() {
  const who = usePoll<{ name: string; role: string }>("whoami", 0);
  if (!who.value) return null;
  return (
    <>
      <span class="muted">
        {who.value.name} ({who.value.role})
      </span>
      {hasToken() && (
        <button type="button" onClick={forgetToken}>
          Sign out
        </button>
      )}
    </>
  );
}

/** The switch between light and dark. */
function Look() {
  const now = useSignal(theme);
  return (
    <select aria-label="Colours" value={now} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
      <option value="system">◐ system</option>
      <option value="light">☀ light</option>
      <option value="dark">☾ dark</option>
    </select>
  );
}

/** Reports that the server is unreachable, and polls until it is back. */
function Connection() {
  const good = useSignal(reachable);
  useEffect(() => {
    if (good) return undefined;
    const timer = setInterval(() => call("GET", "whoami").catch(() => undefined), 1_000);
    return () => clearInterval(timer);
  }, [good]);
  return (
    <div role="status" aria-live="polite">
      {!good && <p class="banner">⚠ The server does not respond. Retrying; the values shown are from before.</p>}
    </div>
  );
}

function TokenPrompt({ reason, done }: { reason: string; done: () => void }) {
  const [token, setToken] = useState("");
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  const enter = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    keepToken(token.trim());
    try {
      await call("GET", "whoami");
      done();
    } catch (error) {
      setWrong(sentence(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main id="main" class="narrow">
      <section class="panel" aria-label="Sign in">
        <h1>Token required</h1>
        <p class="muted">{wrong ? "" : `${reason} `}The token stays in this window and is forgotten when it is closed.</p>
        <form onSubmit={enter}>
          <div class="row end">
            <input type="text" name="username" autocomplete="username" value="eagre" hidden />
            <label class="grow">
              Token
              <input type="password" autocomplete="current-password" ref={field} value={token} onInput={(event) => setToken(event.currentTarget.value)} />
            </label>
            <button class="main" type="submit" disabled={busy || !token.trim()}>
              Enter
            </button>
          </div>
        </form>
        {wrong && (
          <p class="note bad" role="alert">
            ✕ {wrong}
          </p>
        )}
      </section>
    </main>
  );
}

function Version() {
  const version = usePoll<{ version: string; api: string; dpdk: string | null }>("version", 0);
  if (!version.value) return null;
  const { version: own, dpdk } = version.value;
  return (
    <footer>
      Eagre {own}
      {dpdk && `, ${dpdk}`}
    </footer>
  );
}

function App() {
  const parts = useSignal(route);
  const wanted = useSignal(tokenWanted);
  const [asking, setAsking] = useState(false);
  useEffect(() => {
    if (wanted !== null) setAsking(true);
  }, [wanted]);
  if (asking || wanted !== null) return <TokenPrompt reason={wanted ?? ""} done={() => setAsking(false)} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.querySelector<HTMLElement>("h1")?.focus())}>
        Skip to the page
      </a>
      <Connection />
      <Top parts={parts} />
      <main id="main">
        <Page parts={parts} />
      </main>
      <Version />
    </>
  );
}

/** Figures for measurements of the page; nothing here reads them. */
Object.assign(window, {
  eagre: () => ({
    received: shownFeed.current?.received ?? 0,
    charts: drawn.charts,
    tables: tableDrawn.times,
    rows: tableDrawn.rows,
    rings: shownFeed.current?.streams?.capacity ?? 0,
    profile: shownText.current,
    editor: shownText.isEditor,
  }),
});

render(<App />, document.getElementById("app")!);
