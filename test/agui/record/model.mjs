// A scripted language model behind the providers' own HTTP clients: a fetch() that answers the streaming
// messages call with the next scripted turn. Everything above the model's wire is stock code.

/** One content block: {text: [pieces]}, {thinking: [pieces]}, {tool: name, id, args: [pieces]} or {fail: message}. */
export function scriptedFetch(turns) {
  let next = 0;
  return async () => {
    const turn = turns[next++];
    if (!turn) throw new Error(`the script has ${turns.length} turns and the agent asked for one more`);
    return new Response(encode(turn), {
      status: 200,
      headers: { "content-type": "text/event-stream", "request-id": `req_${next}` },
    });
  };
}

function encode(turn) {
  let out = "";
  const send = (event) => (out += `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send({
    type: "message_start",
    message: {
      id: "msg_scripted", type: "message", role: "assistant", model: "claude-sonnet-4-5", content: [],
      stop_reason: null, stop_sequence: null, usage: { input_tokens: 12, output_tokens: 1 },
    },
  });
  let stop = "end_turn";
  for (const [index, block] of turn.entries()) {
    if (block.fail) {
      send({ type: "error", error: { type: "overloaded_error", message: block.fail } });
      return out;
    }
    if (block.tool) stop = "tool_use";
    send({ type: "content_block_start", index, content_block: opening(block) });
    for (const delta of deltas(block)) send({ type: "content_block_delta", index, delta });
    if (block.open) continue; // the turn breaks off inside this block
    send({ type: "content_block_stop", index });
  }
  send({ type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 40 } });
  send({ type: "message_stop" });
  return out;
}

function opening(block) {
  if (block.text) return { type: "text", text: "" };
  if (block.thinking) return { type: "thinking", thinking: "", signature: "" };
  return { type: "tool_use", id: block.id, name: block.tool, input: {} };
}

function deltas(block) {
  if (block.text) return block.text.map((text) => ({ type: "text_delta", text }));
  if (block.thinking)
    return [
      ...block.thinking.map((thinking) => ({ type: "thinking_delta", thinking })),
      { type: "signature_delta", signature: "c2lnbmVk" },
    ];
  return block.args.map((partial_json) => ({ type: "input_json_delta", partial_json }));
}
