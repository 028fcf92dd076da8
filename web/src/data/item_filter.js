// The filter of a conversation, as the server reads it: tool:NAME, error, kind:KIND, text:WORD, joined by commas.

/** @returns {Array<[string, string]>} */
export function parseFilter(filter) {
  return (filter ?? "")
    .split(",")
    .filter(Boolean)
    .map((part) => {
      const [name, ...rest] = part.split(":");
      return [name, decodeURIComponent(rest.join(":"))];
    });
}

export const formatFilter = (tests) => tests.map(([name, value]) => (value ? `${name}:${encodeURIComponent(value)}` : name)).join(",");

export const matches = (item, tests) => tests.every(([name, value]) => TESTS[name]?.(item, value) ?? true);

const FAILED = new Set(["error", "denied", "interrupted"]);
const TESTS = {
  tool: (item, value) => item.type === "call" && item.name === value,
  kind: (item, value) => item.type === value,
  error: (item) => FAILED.has(item.state) || ["failure", "process_end"].includes(item.type) || item.failed === true,
  text: (item, value) =>
    [item.text, item.summary, item.input, item.output, item.raw].some((text) => typeof text === "string" && text.toLowerCase().includes(value.toLowerCase())),
};
