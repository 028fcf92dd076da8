// The lines of the log that an item comes from, on request.
import { useState } from "preact/hooks";
import { isExport, source } from "../data/source.js";
import { pretty } from "../data/visible_text.js";
import { html } from "../html.js";
import { Code } from "../parts/code.js";

export function RawEvent({ item, list }) {
  const [raw, setRaw] = useState(null);
  if (isExport) return null;
  const load = async () => {
    try {
      const answer = await source.raw(list.run, list.log, item.id);
      setRaw(typeof answer === "string" ? answer : (answer.lines ?? []).map(pretty).join("\n") || pretty(answer.raw ?? answer));
    } catch (error) {
      setRaw(error.message);
    }
  };
  return raw === null ? html`<button type="button" class="quiet" onClick=${load}>Show the raw event</button>` : html`<${Code} text=${raw} language="json" label="raw event" />`;
}
