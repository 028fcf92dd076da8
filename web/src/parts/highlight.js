// Highlighted code as lines of [class, text] pairs, from highlight.js' token tree; no HTML is made.
import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import makefile from "highlight.js/lib/languages/makefile";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";

const LANGUAGES = { bash, c, cpp, css, diff, dockerfile, go, ini, java, javascript, json, makefile, python, ruby, rust, sql, typescript, xml, yaml };
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language);

const BY_ENDING = {
  py: "python", pyi: "python", js: "javascript", mjs: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript",
  sh: "bash", bash: "bash", zsh: "bash", yml: "yaml", yaml: "yaml", html: "xml", svg: "xml", xml: "xml", toml: "ini", cfg: "ini",
  ini: "ini", json: "json", rs: "rust", go: "go", java: "java", c: "c", h: "c", cc: "cpp", cpp: "cpp", hpp: "cpp", css: "css",
  sql: "sql", rb: "ruby", diff: "diff", patch: "diff",
};
const PLAIN = new Set(["md", "text", "txt", "plain", "plaintext", "console", ""]);
// Longer code is shown without colours: a line of a minified file can take seconds.
const LIMIT_CHARACTERS = 30_000;

/** The language of a file by its name, or "". */
export function languageOf(path) {
  const name = String(path ?? "").split("/").pop().toLowerCase();
  if (name === "makefile") return "makefile";
  return name === "dockerfile" ? "dockerfile" : (BY_ENDING[name.split(".").pop()] ?? "");
}

/** @returns {Array<Array<[string, string]>>} */
export function highlightLines(code, language) {
  const name = String(language ?? "").toLowerCase();
  if (PLAIN.has(name) || code.length > LIMIT_CHARACTERS || !hljs.getLanguage(name)) return code.split("\n").map((line) => [["", line]]);
  try {
    return linesOf(hljs.highlight(code, { language: name, ignoreIllegals: true })._emitter.rootNode);
  } catch {
    return code.split("\n").map((line) => [["", line]]);
  }
}

function linesOf(root) {
  const lines = [[]];
  const walk = (node, scope) => {
    if (typeof node === "string") {
      node.split("\n").forEach((text, place) => {
        if (place) lines.push([]);
        if (text) lines[lines.length - 1].push([scope, text]);
      });
      return;
    }
    const own = node.scope ? `hl-${node.scope.split(/[.:]/)[0].replace(/[^\w-]/g, "")}` : scope;
    node.children.forEach((child) => walk(child, own));
  };
  walk(root, "");
  return lines;
}
