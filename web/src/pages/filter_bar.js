// The filter of a conversation: words, a tool, errors only; and folding of everything.
import { useEffect, useState } from "preact/hooks";
import { formatFilter, parseFilter } from "../data/item_filter.js";
import { isNarrow } from "../data/preferences.js";
import { html } from "../html.js";
import { everything, setEverything } from "../items/unfolded.js";

// Typing pauses for this long before the server is asked.
const PAUSE_MS = 250;

export function FilterBar({ filter, onChange, list }) {
  const tests = parseFilter(filter);
  const valueOf = (name) => tests.find(([known]) => known === name)?.[1];
  const [words, setWords] = useState(valueOf("text") ?? "");
  const change = (name, value) => onChange(formatFilter([...tests.filter(([known]) => known !== name), ...(value === undefined ? [] : [[name, value]])]));
  useEffect(() => {
    const timer = setTimeout(() => words !== (valueOf("text") ?? "") && change("text", words || undefined), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [words]);
  const tools = useTools(list, valueOf("tool"));
  const hasErrors = tests.some(([name]) => name === "error");
  return html`<div class="filter-bar" role="search" aria-label="Filter this conversation">
    <label class="sr" for="filter-words">Find in this conversation</label>
    <input id="filter-words" type="search" placeholder=${isNarrow.value ? "Find" : "Find in this conversation"} value=${words} onInput=${(event) => setWords(event.target.value)} />
    <label class="sr" for="filter-tool">Tool</label>
    <select id="filter-tool" value=${valueOf("tool") ?? ""} onChange=${(event) => change("tool", event.target.value || undefined)}><option value="">All tools</option>${tools.map((name) => html`<option value=${name}>${name}</option>`)}</select>
    <button type="button" aria-pressed=${hasErrors} onClick=${() => change("error", hasErrors ? undefined : "")}>Errors</button>
    <button type="button" aria-pressed=${everything.value === true} onClick=${() => setEverything(everything.value ? null : true)}>Unfold all</button>
    ${filter && html`<span class="matches" role="status">${list?.total ?? 0} found</span><button type="button" class="quiet" onClick=${() => (setWords(""), onChange(""))}>Clear</button>`}
  </div>`;
}

function useTools(list, chosen) {
  const [tools, setTools] = useState([]);
  list?.version.value;
  useEffect(() => {
    const found = new Set([...tools, ...(chosen ? [chosen] : [])]);
    list?.items.forEach((item) => item?.type === "call" && item.name && found.add(item.name));
    if (found.size !== tools.length) setTools([...found].sort());
  }, [list?.version.value, list]);
  return tools;
}
