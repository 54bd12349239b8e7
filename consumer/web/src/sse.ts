// Server-sent events as the WHATWG specification defines them: text in pieces of any size comes in,
// without its byte order mark, whole messages go out.

/** One stream's decoder. A message counts only once its blank line has arrived. */
export interface Decoder {
  /** Takes up text, hands each message that it completes to `take`, and stops when that returns false. Throws a RangeError for a message above the limit. */
  push(text: string, take: (event: string, data: string) => boolean): boolean;
  /** The last reconnection time the stream has named, in milliseconds; 0 if it named none. */
  retry(): number;
}

/** `limit` is how many characters one message may take. */
export function decoder(limit: number): Decoder {
  let line: string[] = []; // what has arrived of the current line; joined once, so that long lines cost what they are long
  let data: string[] = [];
  let event = "";
  let size = 0; // characters of the current message
  let retry = 0;
  let afterCR = false;

  const gather = (part: string) => {
    if (part) line.push(part);
    if ((size += part.length) > limit) throw new RangeError();
  };

  /** Ends the line, and where it was blank the message; false where `take` wants no more. */
  const endLine = (take: (event: string, data: string) => boolean): boolean => {
    const text = line.join("");
    line = [];
    if (!text) {
      const [name, lines] = [event, data];
      data = [];
      event = "";
      size = 0;
      return !lines.length || take(name, lines.join("\n"));
    }
    const [, name, value] = /^([^:]*):? ?([^]*)$/.exec(text)!;
    if (name === "data") data.push(value!);
    else if (name === "event") event = value!;
    else {
      size -= text.length; // comments of a long silence are not a long message
      if (name === "retry" && /^\d{1,9}$/.test(value!)) retry = Number(value);
    }
    return true;
  };

  const push: Decoder["push"] = (text, take) => {
    let at = 0;
    for (const ends = /\r\n?|\n/g; at < text.length; ) {
      if (afterCR) {
        afterCR = false;
        if (text[at] === "\n") { at++; continue; }
      }
      ends.lastIndex = at;
      const end = ends.exec(text);
      gather(text.slice(at, end?.index));
      if (!end) break;
      at = ends.lastIndex;
      afterCR = end[0] === "\r" && at === text.length;
      if (!endLine(take)) return false;
    }
    return true;
  };

  return { push, retry: () => retry };
}
