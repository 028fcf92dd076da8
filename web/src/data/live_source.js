// The server's API: requests with the token of this page's address.

export class RequestFailed extends Error {
  constructor(status, message, remedy = "") {
    super(message);
    this.status = status;
    this.remedy = remedy;
  }
}

const enc = encodeURIComponent;
// A request that takes longer than this is better tried again; the largest answers take well under a second.
const LIMIT_MS = 30_000;

export function liveSource(token) {
  const headers = { Authorization: `Bearer ${token}` };

  async function get(path) {
    const answer = await fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(LIMIT_MS) }).catch(unreachable);
    return read(answer);
  }

  async function act(body) {
    const answer = await fetch("/api/actions", {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    }).catch(unreachable);
    return read(answer);
  }

  async function image(href) {
    const answer = await fetch(href, { headers }).catch(unreachable);
    if (!answer.ok) throw new RequestFailed(answer.status, "The image cannot be loaded.");
    return URL.createObjectURL(await answer.blob());
  }

  const runPath = (run) => `/api/runs/${enc(run)}`;
  const logPath = (run, log) => `${runPath(run)}/logs/${enc(log)}/items`;
  return {
    canAct: true,
    act,
    image,
    board: () => get("/api/board"),
    run: (run) => get(runPath(run)),
    diff: (run, commit) => get(`${runPath(run)}/commits/${enc(commit)}/diff`),
    journal: (run, from, count) => get(`${runPath(run)}/journal?from=${from}&count=${count}`),
    at: (run, seq) => get(`${runPath(run)}/at/${seq}`),
    items: (run, log, { thread, start, count, filter }) =>
      get(`${logPath(run, log)}?start=${start}&count=${count}${thread ? `&thread=${enc(thread)}` : ""}${filter ? `&filter=${enc(filter)}` : ""}`),
    item: (run, log, id) => get(`${logPath(run, log)}/${enc(id)}`),
    raw: (run, log, id) => get(`${logPath(run, log)}/${enc(id)}/raw`),
    search: (query, { run, task }) => get(`/api/search?q=${enc(query)}${run ? `&run=${enc(run)}` : ""}${task ? `&task=${enc(task)}` : ""}`),
    stream: (path, last, abort) =>
      fetch(path, { headers: { ...headers, Accept: "text/event-stream", ...(last ? { "Last-Event-ID": last } : {}) }, cache: "no-store", signal: abort }),
  };
}

async function read(answer) {
  const text = await answer.text();
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    document = text;
  }
  if (answer.ok) return document;
  const said = typeof document === "object" && document ? document : {};
  const message = said.message || said.error || `The server answered with ${answer.status}.`;
  throw new RequestFailed(answer.status, answer.status === 401 ? "The link's token is not valid. Open the link that bridle watch prints." : message, said.remedy);
}

function unreachable(error) {
  throw new RequestFailed(0, error?.name === "TimeoutError" ? "The server did not answer in time." : "The server is not running. Start it again with: bridle watch");
}
