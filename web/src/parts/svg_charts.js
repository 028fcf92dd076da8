// Two kinds of charts as SVG: a line that grows over time, and bars of several parts.
import { clock } from "../data/amounts.js";
import { html } from "../html.js";

const WIDTH = 640;
const HEIGHT = 180;
const LEFT = 68;
const BOTTOM = 22;

/** A sum that grows: each point adds its value, in the colour of its group. */
export function LineChart({ title, points, unit, limit }) {
  const sorted = [...points].filter((point) => Number.isFinite(point.at) && Number.isFinite(point.value)).sort((a, b) => a.at - b.at);
  if (!sorted.length) return null;
  const groups = [...new Set(sorted.map((point) => point.group))];
  let sum = 0;
  const sums = sorted.map((point) => ({ ...point, sum: (sum += point.value) }));
  const [from, to] = [sorted[0].at, Math.max(sorted.at(-1).at, sorted[0].at + 1)];
  const top = niceTop(sum);
  const x = (at) => LEFT + ((at - from) / (to - from)) * (WIDTH - LEFT - 8);
  const y = (value) => 8 + (1 - value / top) * (HEIGHT - BOTTOM - 8);
  const path = sums.map((point, place) => `${place ? `H${x(point.at).toFixed(1)}V` : `M${x(point.at).toFixed(1)},${y(0).toFixed(1)}V`}${y(point.sum).toFixed(1)}`).join("");
  return html`<${Chart} title=${title} text=${`${unit(sum)} in ${groups.length} ${groups.length === 1 ? "task" : "tasks"}${limit ? `, limit ${unit(limit)}` : ""}`} table=${[["time", "task", "added", "sum"], ...sums.map((point) => [clock(point.at), point.group, unit(point.value), unit(point.sum)])]} legend=${groups.map((group, place) => [group, `group-${place % 6}`])}>
    ${[0, 0.5, 1].map((part) => html`<g class="grid"><line x1=${LEFT} x2=${WIDTH - 8} y1=${y(top * part)} y2=${y(top * part)} /><text x=${LEFT - 8} y=${y(top * part) + 4} text-anchor="end">${unit(top * part)}</text></g>`)}
    <path class="line" d=${`${path}H${(WIDTH - 8).toFixed(1)}`} />
    ${sums.map((point) => html`<circle class=${`group-${groups.indexOf(point.group) % 6}`} cx=${x(point.at)} cy=${y(point.sum)} r="4"><title>${`${point.group}: ${unit(point.value)}, ${unit(point.sum)} in all`}</title></circle>`)}
    <text class="axis" x=${LEFT} y=${HEIGHT - 4}>${clock(from)}</text><text class="axis" x=${WIDTH - 8} y=${HEIGHT - 4} text-anchor="end">${clock(to)}</text>
  <//>`;
}

const BAR = 22;
const GAP = 12;
const NAMES = 210;

export function BarChart({ title, bars, unit }) {
  const total = (bar) => bar.parts.reduce((sum, [, value]) => sum + (value || 0), 0);
  const top = Math.max(...bars.map(total), 1e-9);
  const names = bars[0].parts.map(([name, , kind]) => [name, `part-${kind}`]);
  const text = bars.map((bar) => `${bar.name}: ${bar.parts.filter(([, value]) => value > 0).map(([name, value]) => `${name} ${unit(value)}`).join(", ") || "none"}`).join("; ");
  return html`<${Chart} title=${title} text=${text} height=${bars.length * (BAR + GAP) + GAP} table=${[["", ...names.map(([name]) => name)], ...bars.map((bar) => [bar.name, ...bar.parts.map(([, value]) => unit(value || 0))])]} legend=${names}>
    ${bars.map((bar, place) => {
      let left = NAMES;
      const y = GAP + place * (BAR + GAP);
      return html`<g><text class="name" x=${NAMES - 10} y=${y + BAR / 2 + 4} text-anchor="end">${short(bar.name)}</text>${bar.parts.map(([name, value, kind]) => {
        const width = ((value || 0) / top) * (WIDTH - NAMES - 70);
        const at = left;
        left += width;
        return width > 0 && html`<rect class=${`part-${kind}`} x=${at} y=${y} width=${Math.max(1.5, width - 1)} height=${BAR} rx="3"><title>${`${bar.name}: ${name} ${unit(value)}`}</title></rect>`;
      })}<text class="axis" x=${left + 6} y=${y + BAR / 2 + 4}>${unit(total(bar))}</text></g>`;
    })}
  <//>`;
}

const short = (name) => (name.length > 30 ? `${name.slice(0, 14)}…${name.slice(-14)}` : name);

function Chart({ title, text, table, legend, height = HEIGHT, children }) {
  const [head, ...rows] = table;
  return html`<figure class="chart">
    <figcaption><h2>${title}</h2><ul class="legend">${legend.map(([name, kind]) => html`<li><span class=${`key ${kind}`} aria-hidden="true"></span>${name}</li>`)}</ul></figcaption>
    <svg viewBox=${`0 0 ${WIDTH} ${height}`} role="img" aria-label=${`${title}. ${text}`}>${children}</svg>
    <details><summary>The figures</summary><div class="table" tabindex="0" role="region" aria-label=${`Figures: ${title}`}><table><thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table></div></details>
  </figure>`;
}

function niceTop(value) {
  if (!(value > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((times) => times * step).find((top) => top >= value) ?? value;
}
