// Charts of a run, drawn by hand; each has its figures as a table for screen readers and for those who prefer it.
import { count, duration, money } from "../data/amounts.js";
import { visible } from "../data/visible_text.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";
import { BarChart, LineChart } from "../parts/svg_charts.js";

export function Charts({ document }) {
  const { cost = [], tokens = [], checks = [], time = [] } = document.charts ?? {};
  if (!cost.length && !tokens.length && !checks.length && !time.length) return html`<${Empty} title="Nothing to draw yet" text="Charts appear after the first iteration." />`;
  const title = (task) => visible(document.card.tasks?.find((one) => one.number === task)?.title ?? task) || "the run itself";
  return html`<div class="charts">
    ${cost.length > 0 && html`<${LineChart} title="Cost over time" unit=${money} points=${cost.map((point) => ({ at: point.at, value: point.usd, group: title(point.task) }))} limit=${document.card.limits?.max_cost_usd} />`}
    ${tokens.length > 0 && html`<${LineChart} title="Tokens over time" unit=${count} points=${tokens.map((point) => ({ at: point.at, value: (point.input ?? 0) + (point.output ?? 0), group: title(point.task) }))} />`}
    ${checks.length > 0 && html`<${BarChart} title="Checks by iteration" unit=${count} bars=${checks.map((check) => ({ name: `${title(check.task)}, iteration ${check.iteration}`, parts: [["passed", check.passed, "ok"], ["failed", check.failed, "bad"]] }))} />`}
    ${time.length > 0 && html`<${BarChart} title="Where the time went" unit=${duration} bars=${time.map((one) => ({ name: title(one.task), parts: [["model", one.model, "run"], ["tools", one.tools, "warn"], ["harness", one.harness, "idle"]] }))} />`}
  </div>`;
}
