/** Server-sent events out of text that arrives in pieces (WHATWG HTML, 9.2.6). Knows no connection. */

export interface Message {
  name: string;
  data: string;
}

export class EventParser {
  private rest = "";
  private name = "";
  private data: string[] = [];

  /** The messages that a piece of text completes. */
  feed(text: string): Message[] {
    const lines = (this.rest + text).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    const complete: Message[] = [];
    for (const line of lines) {
      if (line !== "") this.take(line);
      else if (this.data.length) {
        complete.push({ name: this.name || "message", data: this.data.join("\n") });
        this.forget();
      } else this.forget();
    }
    return complete;
  }

  private take(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.name = value;
    if (field === "data") this.data.push(value);
  }

  private forget(): void {
    this.name = "";
    this.data = [];
  }
}
