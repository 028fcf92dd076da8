// The commits of a run and their diffs.
import { useEffect, useState } from "preact/hooks";
import { clock } from "../data/amounts.js";
import { route } from "../data/route.js";
import { source } from "../data/source.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";
import { FileDiffs } from "../parts/file_diffs.js";

export function Commits({ document }) {
  const { commits, card } = document;
  if (!commits.length) return html`<${Empty} title="No commits yet" text="Bridle commits a task's work when its checks pass." />`;
  return html`<ol class="commits">${commits.map((commit, place) => html`<${Commit} key=${commit.commit} run=${card.run} commit=${commit} isFirst=${place === 0 && commits.length === 1} />`)}</ol>`;
}

function Commit({ run, commit, isFirst }) {
  const isChosen = route.value.commit !== undefined && commit.commit.startsWith(route.value.commit);
  const [isOpen, setOpen] = useState(isChosen || isFirst);
  const files = commit.files ?? [];
  useEffect(() => {
    if (isChosen) setOpen(true);
  }, [isChosen]);
  const sum = (name) => files.reduce((total, file) => total + (file[name] ?? 0), 0);
  return html`<li class="commit">
    <button type="button" class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><span class="chevron" aria-hidden="true"></span><code>${commit.short ?? commit.commit.slice(0, 8)}</code><span class="title">${visible(commit.subject)}</span><span class="tail"><span class="plus">+${sum("added")}</span><span class="minus">−${sum("removed")}</span><span class="fact">${clock(commit.author_at)}</span></span></button>
    ${isOpen && html`<div class="inner"><${Trailers} trailers=${commit.trailers} /><${LazyDiff} load=${() => source.diff(run, commit.commit)} id=${commit.commit} /></div>`}
  </li>`;
}

const Trailers = ({ trailers }) => {
  const names = Object.keys(trailers ?? {});
  return names.length ? html`<dl class="values trailers">${names.map((name) => html`<div><dt>${visible(name)}</dt><dd>${visible(trailers[name])}</dd></div>`)}</dl>` : null;
};

export function LazyDiff({ load, id }) {
  const [diff, setDiff] = useState(null);
  const [error, setError] = useState(null);
  useEffect(() => {
    let isGone = false;
    setDiff(null);
    load().then((found) => !isGone && setDiff(found), (problem) => !isGone && setError(problem));
    return () => (isGone = true);
  }, [id]);
  if (error) return html`<p class="muted">${error.message}</p>`;
  return diff ? html`<${FileDiffs} files=${diff.files ?? []} />` : html`<div class="skeleton"></div>`;
}
