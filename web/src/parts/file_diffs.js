// The changed files of a commit, or of a working copy, each with its diff.
import { useMemo, useState } from "preact/hooks";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Diff, rowsOfLines } from "./diff.js";

// A longer diff opens when it is wanted.
const OPEN_LINES = 400;

export const FileDiffs = ({ files }) => (files.length ? html`<div class="file-diffs">${files.map((file) => html`<${FileDiff} key=${file.path} file=${file} />`)}</div>` : html`<p class="muted">No file is different.</p>`);

function FileDiff({ file }) {
  const hunks = file.hunks ?? [];
  const rows = useMemo(() => hunks.flatMap((hunk) => [[null, hunk.header, null, hunk.header, "gap"], ...rowsOfLines(hunk.lines)]), [file]);
  const [isOpen, setOpen] = useState(rows.length <= OPEN_LINES);
  const [added, removed] = [rows.filter((row) => ["add", "change"].includes(row[4])).length, rows.filter((row) => ["del", "change"].includes(row[4])).length];
  return html`<section class="file-diff">
    <button type="button" class="fold" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}><span class="chevron" aria-hidden="true"></span><span class="path">${file.old_path && file.old_path !== file.path ? `${visible(file.old_path)} → ` : ""}${visible(file.path)}</span><span class="tail">${file.status && html`<span class="fact">${visible(file.status)}</span>`}<span class="plus">+${added}</span><span class="minus">−${removed}</span></span></button>
    ${isOpen && (rows.length ? html`<${Diff} rows=${rows} path=${file.path} />` : html`<p class="muted">${file.is_binary ? "A binary file." : "No line is different: only its name or its mode."}</p>`)}
    ${file.omitted > 0 || file.omitted === true ? html`<p class="cut">The diff is longer than what is shown. All of it: git show</p>` : null}
  </section>`;
}
