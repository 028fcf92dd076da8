// A new session: a prompt, a model, the tools that it may use.
import { useState } from "preact/hooks";
import { act } from "../data/actions.js";
import { nextSession } from "../data/next_session.js";
import { source } from "../data/source.js";
import { html } from "../html.js";
import { Empty } from "../parts/empty.js";
import { SessionList } from "./sessions.js";

const TOOLS = ["Read", "Glob", "Grep", "Bash", "Edit", "Write", "WebFetch", "WebSearch", "Agent", "TodoWrite"];

export function NewSession() {
  const [prompt, setPrompt] = useState("");
  const [model, setModel] = useState("");
  const [tools, setTools] = useState([]);
  const [isBusy, setBusy] = useState(false);
  if (!source.canAct) return html`<div class="page"><${Empty} title="An export cannot start anything" text="Open bridle watch in the repository." /></div>`;
  const toggle = (name) => setTools(tools.includes(name) ? tools.filter((one) => one !== name) : [...tools, name]);
  const start = async (event) => {
    event.preventDefault();
    setBusy(true);
    const open = nextSession();
    if (await act({ action: "start", prompt, model: model.trim() || undefined, allowed_tools: tools.join(",") || undefined }, "The session has started.")) {
      setPrompt("");
      open();
    }
    setBusy(false);
  };
  return html`<div class="page new-session"><h1>Sessions</h1>
    <form class="panel" onSubmit=${start} aria-label="Start a session">
      <h2>Start a session</h2>
      <label for="new-prompt">Prompt</label><textarea id="new-prompt" rows="5" required value=${prompt} onInput=${(event) => setPrompt(event.target.value)}></textarea>
      <label for="new-model">Model <span class="muted">(the agent's default if empty)</span></label><input id="new-model" type="text" value=${model} onInput=${(event) => setModel(event.target.value)} />
      <fieldset class="tools"><legend>Tools that it may use without asking <span class="muted">(none chosen: the agent's own settings)</span></legend>${TOOLS.map((name) => html`<label><input type="checkbox" checked=${tools.includes(name)} onChange=${() => toggle(name)} /> ${name}</label>`)}</fieldset>
      <div class="buttons"><button type="submit" class="primary" disabled=${isBusy || !prompt.trim()}>Start the session</button></div>
    </form>
    <${SessionList} />
  </div>`;
}
