// The page: chooses the view of the address and keeps the data fresh.
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { startConnection } from "./data/connection.js";
import { link, NO_RUN, replaceRoute, route } from "./data/route.js";
import { isExport, source } from "./data/source.js";
import { board, loadBoard } from "./data/store.js";
import { html } from "./html.js";
import { Board } from "./pages/board.js";
import { Inbox } from "./pages/needs.js";
import { NewSession } from "./pages/new_session.js";
import { RunPage } from "./pages/run.js";
import { Search } from "./pages/search.js";
import { SessionPage } from "./pages/sessions.js";
import { startKeyboard } from "./parts/keyboard.js";
import { Shell } from "./parts/shell.js";

const PAGES = { board: Board, inbox: Inbox, search: Search, new: NewSession, run: RunPage };
const TITLES = { board: "Runs", inbox: "Needs you", search: "Search", new: "Sessions" };

function App() {
  const { page, run } = route.value;
  const Page = page === "run" && run === NO_RUN ? SessionPage : PAGES[page];
  const title = TITLES[page] ?? board.value?.runs.find((card) => card.run === run)?.plan ?? "Session";
  const waiting = board.value?.needs?.length ?? 0;
  useEffect(() => {
    document.title = `${waiting ? `(${waiting}) ` : ""}${title} · bridle`;
  }, [title, waiting]);
  return html`<${Shell}><${Page} /><//>`;
}

/** A file with one run opens at that run, not at a list of one. */
async function openOnlyRun() {
  const { runs } = await source.board();
  if (runs.length === 1) replaceRoute(link("run", runs[0].run));
}

void loadBoard();
if (isExport && !location.hash) void openOnlyRun();
startConnection();
startKeyboard();
render(html`<${App} />`, document.getElementById("app"));
