// The document inside an exported file, with the same functions as the server's API. Nothing acts, nothing connects.
import { matches, parseFilter } from "./item_filter.js";

const missing = (what) => Promise.reject(new Error(`${what} is not in this file.`));
const found = (value, what) => (value == null ? missing(what) : Promise.resolve(value));

export function exportSource(document) {
  const logOf = (run, log) => document.logs?.[run]?.[log];

  function items(run, log, { thread, start, count, filter }) {
    const kept = logOf(run, log);
    if (!kept) return missing("This conversation");
    const tests = parseFilter(filter);
    const all = (kept.items ?? []).filter((item) => (tests.length ? matches(item, tests) : (item.thread ?? "") === (thread ?? "")));
    const from = start < 0 ? Math.max(0, all.length + start) : start;
    const { footer, todos, gauge } = kept;
    return Promise.resolve({ items: all.slice(from, from + count), start: from, total: all.length, position: 0, footer, todos, gauge, is_running: false });
  }

  function search(query, { run: onlyRun, task: onlyTask }) {
    const word = query.toLowerCase();
    const hits = [];
    for (const [run, logs] of Object.entries(document.logs ?? {}))
      for (const [log, kept] of Object.entries(logs)) {
        const task = document.runs?.[run]?.logs?.find((one) => one.log === log)?.task ?? null;
        if ((onlyRun && run !== onlyRun) || (onlyTask && task !== onlyTask)) continue;
        for (const item of kept.items ?? []) {
          const text = [item.text, item.summary, item.input, item.output, item.raw].filter(Boolean).join("\n");
          const place = word ? text.toLowerCase().indexOf(word) : -1;
          if (place >= 0 && hits.length < 200)
            hits.push({ run, log, task, item: item.id, thread: item.thread, at: item.at, snippet: text.slice(Math.max(0, place - 60), place + 120) });
        }
      }
    return Promise.resolve({ hits, truncated: hits.length === 200 });
  }

  return {
    canAct: false,
    act: () => missing("Acting"),
    image: (href) => Promise.resolve(href),
    exportedAt: document.exported_at,
    omitted: Array.isArray(document.omitted) ? document.omitted : [],
    board: () => found(document.board, "The board"),
    run: (run) => found(document.runs?.[run], "This run"),
    diff: (run, commit) => found(document.diffs?.[run]?.[commit], "This diff"),
    journal: (run, from, count) => {
      const entries = document.journal?.[run] ?? [];
      return Promise.resolve({ entries: entries.filter((entry) => entry.seq >= from).slice(0, count), count: entries.length });
    },
    at: (run, seq) => found(document.at?.[run]?.[seq], "The state at this entry"),
    items,
    item: (run, log, id) => found((logOf(run, log)?.items ?? []).find((item) => String(item.id) === String(id)), "This event"),
    raw: () => missing("The raw event"),
    search,
    stream: null,
  };
}
