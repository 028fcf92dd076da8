// Text of an agent as it may be shown: colours removed, characters that hide, move or reorder text made visible.

// Colours and cursor movements contain no text. Other sequences (titles, links) can contain any, which must not vanish.
const ESCAPES = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** @param {unknown} value */
export function visible(value) {
  const text = typeof value === "string" ? value : value == null ? "" : String(value);
  return text.replace(ESCAPES, "").replace(/\r\n?/g, "\n").replace(HIDDEN, name);
}

const name = (character) => `‹U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}›`;

/** Any JSON value as indented text; a string that holds JSON is parsed first. */
export function pretty(value) {
  if (typeof value === "string") {
    try {
      const parsed = JSON.parse(value);
      return typeof parsed === "string" ? visible(parsed) : visible(JSON.stringify(parsed, null, 2));
    } catch {
      return visible(value);
    }
  }
  return visible(JSON.stringify(value, null, 2) ?? String(value));
}

export function parsedObject(text) {
  try {
    const value = typeof text === "string" ? JSON.parse(text) : text;
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}
