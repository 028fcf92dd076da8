// Search over every run.
import { useEffect, useState } from "preact/hooks";
import { clock, plural } from "../data/amounts.js";
import { link, logLink, replaceRoute, route, searchLink } from "../data/route.js";
import { source } from "../data/source.js";
import { board } from "../data/store.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";

const PAUSE_MS = 300;
const SHORTEST = 2;

export function Search() {
  const [words, setWords] = useState(route.value.query ?? "");
  const [answer, setAnswer] = useState(null);
  const [run, setRun] = useState(route.value.run ?? "");
  const [task, setTask] = useState(route.value.task ?? "");
  useEffect(() => {
    let isGone = false;
    const timer = setTimeout(() => {
      replaceRoute(searchLink(words, { run, task }));
      if (words.trim().length < SHORTEST) return setAnswer(null);
      source.search(words.trim(), { run, task }).then((found) => !isGone && setAnswer(found), (error) => !isGone && setAnswer({ problem: error.message, hits: [] }));
    }, PAUSE_MS);
    return () => ((isGone = true), clearTimeout(timer));
  }, [words, run, task]);
  const hits = answer?.hits ?? [];
  const chooseRun = (chosen) => (setRun(chosen), tasksOf(chosen).includes(task) || setTask(""));
  return html`<div class="page search">
    <h1>Search</h1>
    <div class="search-box" role="search"><label class="sr" for="search-words">Search all conversations</label><input id="search-words" type="search" autofocus placeholder="Words in any conversation of any run" value=${words} onInput=${(event) => setWords(event.target.value)} />
      <label class="sr" for="search-run">Run</label><select id="search-run" value=${run} onChange=${(event) => chooseRun(event.target.value)}><option value="">All runs</option>${(board.value?.runs ?? []).map((card) => html`<option value=${card.run} selected=${card.run === run}>${visible(card.plan || card.run)}</option>`)}</select>
      <label class="sr" for="search-task">Task</label><select id="search-task" value=${task} onChange=${(event) => setTask(event.target.value)}><option value="">All tasks</option>${tasksOf(run).map((title) => html`<option value=${title} selected=${title === task}>${visible(title)}</option>`)}</select></div>
    <p class="muted" role="status">${answer ? (answer.problem ?? `${plural(hits.length, "hit")}${answer.truncated ? ", and more: add a word" : ""}`) : ""}</p>
    ${!answer && words.trim().length >= SHORTEST && html`<p class="muted">Searching…</p>`}
    ${!answer && words.trim().length < SHORTEST && html`<${Empty} title="Find what was said or done" text="Texts, commands, outputs and file names of every run of this repository." />`}
    <ul class="hits">${hits.map((hit) => html`<li><a href=${addressOf(hit)} data-nav><span class="line"><b>${visible(titleOf(hit.run))}</b>${hit.task != null && html`<span class="fact">${visible(hit.task)}</span>`}<span class="when">${clock(hit.at, { withDate: true })}</span></span><span class="snippet"><${Marked} text=${visible(hit.snippet)} words=${words.trim()} /></span></a></li>`)}</ul>
  </div>`;
}

const titleOf = (run) => board.value?.runs.find((card) => card.run === run)?.plan ?? (run === "-" ? "session" : run);

/** The titles of the tasks of a run, or of all runs. */
const tasksOf = (run) => [...new Set((board.value?.runs ?? []).filter((card) => !run || card.run === run).flatMap((card) => (card.tasks ?? []).map((one) => one.title)))];

/** An event, or the task or the run whose title has the words. */
function addressOf({ run, log, thread, item, task }) {
  if (log != null) return logLink(run, log, thread, item);
  const number = board.value?.runs.find((card) => card.run === run)?.tasks?.find((one) => one.title === task)?.number;
  return number == null ? link("run", run) : link("run", run, "task", number);
}

function Marked({ text, words }) {
  const parts = [];
  let rest = text;
  for (let place = 0; words && parts.length < 40 && (place = rest.toLowerCase().indexOf(words.toLowerCase())) >= 0; ) {
    parts.push(rest.slice(0, place), html`<mark>${rest.slice(place, place + words.length)}</mark>`);
    rest = rest.slice(place + words.length);
  }
  return [...parts, rest];
}
