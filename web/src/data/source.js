// Where the data comes from: the server, or the document inside an export. Views know only `source`.
import { exportSource } from "./export_source.js";
import { liveSource } from "./live_source.js";

const embedded = document.getElementById("bridle-data");

export const isExport = embedded !== null;
export const source = embedded ? exportSource(parse(embedded.textContent)) : liveSource(new URLSearchParams(location.search).get("token") ?? "");

function parse(text) {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return {};
  }
}
