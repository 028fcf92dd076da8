// Everything that acts: a request to the server, which starts the same bridle command, and its answer as a message.
import { toast } from "./announcements.js";
import { source } from "./source.js";
import { loadBoard, loadRun, run } from "./store.js";

/** Act and say what came of it, in these words or the command's own; returns whether it succeeded. */
export async function act(body, words = "") {
  try {
    const answer = await source.act(body);
    toast(words || answer.message || "Done.", { kind: "ok" });
    return true;
  } catch (error) {
    toast(error.message, { kind: "error", remedy: error.remedy });
    return false;
  } finally {
    void loadBoard();
    if (run.peek()) void loadRun(run.peek().card.run);
  }
}

export async function copy(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    toast(what, { kind: "ok" });
  } catch {
    toast("The browser does not allow copying here.", { kind: "error", remedy: text });
  }
}
