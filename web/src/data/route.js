// The address after the hash: what is shown, so that every view and event has a link.
import { signal } from "@preact/signals";

/** The run under which the server has logs that belong to no run. */
export const NO_RUN = "-";
export const TABS = ["conversation", "tasks", "journal", "commits", "receipt", "charts"];

/** @returns {{page: string, run?: string, tab?: string, log?: string, thread?: string, item?: string, seq?: number, task?: number | string, commit?: string, query?: string}} */
export function parseRoute(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  const values = new URLSearchParams(query);
  if (parts[0] === "run" && parts[1]) return runRoute(parts.slice(1), values);
  if (parts[0] === "search") return { page: "search", query: values.get("q") ?? "", run: values.get("run") ?? "", task: values.get("task") ?? "" };
  if (["inbox", "new"].includes(parts[0])) return { page: parts[0] };
  return { page: "board" };
}

function runRoute([run, section, ...rest], values) {
  const base = { page: "run", run, filter: values.get("filter") ?? "" };
  if (section === "log") return { ...base, tab: "conversation", log: rest[0], ...pairs(rest.slice(1)) };
  if (section === "task") return { ...base, tab: "tasks", task: Number(rest[0]) };
  if (section === "journal") return { ...base, tab: "journal", seq: rest[0] === undefined ? undefined : Number(rest[0]) };
  if (section === "commits") return { ...base, tab: "commits", commit: rest[0] };
  return { ...base, tab: TABS.includes(section) ? section : "conversation" };
}

function pairs(parts) {
  const found = {};
  for (let place = 0; place + 1 < parts.length; place += 2)
    if (["thread", "item"].includes(parts[place])) found[parts[place]] = parts[place + 1];
  return found;
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const link = (...parts) => `#/${parts.map((part) => encodeURIComponent(String(part))).join("/")}`;
export const logLink = (run, log, thread, item) =>
  link("run", run, "log", log, ...(thread ? ["thread", thread] : []), ...(item === undefined ? [] : ["item", item]));

export const searchLink = (words, { run, task }) => `#/search?${Object.entries({ q: words, run, task }).filter(([name, value]) => name === "q" || value).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&")}`;

export const route = signal(parseRoute(location.hash));
addEventListener("hashchange", () => (route.value = parseRoute(location.hash)));

export const go = (hash) => {
  location.hash = hash;
};
/** Change the address without a new entry in the browser's history. */
export const replaceRoute = (hash) => {
  history.replaceState(null, "", hash);
  route.value = parseRoute(hash);
};
