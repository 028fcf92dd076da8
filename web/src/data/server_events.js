// Server-sent events read with fetch, as EventSource cannot send a token in a header.

/** Parse a stream of bytes; call `receive` with each event and `beat` with every sign of life. */
export async function readEvents(body, receive, beat) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    beat();
    rest += value;
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop();
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event) receive(event);
    }
  }
}

function parseBlock(block) {
  const event = { name: "message", id: undefined, data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "event") event.name = value;
    else if (field === "id") event.id = value;
    else if (field === "data") event.data += (event.data ? "\n" : "") + value;
  }
  if (!event.data) return null;
  try {
    return { ...event, data: JSON.parse(event.data) };
  } catch {
    return null;
  }
}
