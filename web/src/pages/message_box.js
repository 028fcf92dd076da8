// A message that continues a session, through the same command as in a terminal.
import { useState } from "preact/hooks";
import { act } from "../data/actions.js";
import { nextSession } from "../data/next_session.js";
import { html } from "../html.js";

export function MessageBox({ run, log }) {
  const [text, setText] = useState("");
  const [isBusy, setBusy] = useState(false);
  const send = async (event) => {
    event?.preventDefault();
    if (!text.trim() || isBusy) return;
    setBusy(true);
    const open = nextSession();
    if (await act({ action: "message", run, session: log.session_id, agent: log.agent ?? undefined, text }, "The message was sent.")) {
      setText("");
      open();
    }
    setBusy(false);
  };
  const keys = (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && send(event);
  return html`<form class="message-box" onSubmit=${send}>
    <label class="sr" for="message">Message that continues this session</label>
    <textarea id="message" rows="2" placeholder="Continue this session with a message" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${keys}></textarea>
    <button type="submit" class="primary" disabled=${isBusy || !text.trim()}>Send</button>
  </form>`;
}
