// What is shown where there is nothing to show, or where something failed: always with what to do.
import { html } from "../html.js";

export const Empty = ({ title, text, commands = [], children }) => html`<div class="empty">
  <h2>${title}</h2><p>${text}</p>${commands.length > 0 && html`<pre tabindex="0">${commands.join("\n")}</pre>`}${children}
</div>`;

export const Problem = ({ error, title = "This cannot be shown" }) => html`<div class="page"><div class="empty problem" role="alert"><h2>${title}</h2><p>${error.message}</p>${error.remedy && html`<p>${error.remedy}</p>`}<p><a href="#/">Back to the board</a></p></div></div>`;
