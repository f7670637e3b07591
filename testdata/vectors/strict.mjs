// A JSON reader that refuses what has more than one reading: names that are there twice, text
// that is not UTF-8, half surrogate pairs, anything after the value. Objects become Maps.

export class NotStrict extends Error {}

const SPACE = " \t\n\r";
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;

class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  fail(reason) {
    throw new NotStrict(`${reason} at ${this.at}`);
  }

  space() {
    while (this.at < this.text.length && SPACE.includes(this.text[this.at])) this.at++;
  }

  take(c) {
    if (this.text[this.at] !== c) return false;
    this.at++;
    return true;
  }

  need(c) {
    if (!this.take(c)) this.fail(`no ${c}`);
  }

  // value reads the next value, in which containers may nest depth levels.
  value(depth) {
    this.space();
    const c = this.text[this.at];
    if (c === "{" || c === "[") {
      if (depth === 0) this.fail("too deep");
      return c === "{" ? this.object(depth - 1) : this.array(depth - 1);
    }
    if (c === '"') return this.string();
    for (const [word, value] of [["true", true], ["false", false], ["null", null]]) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (!match) this.fail("no value");
    this.at = NUMBER.lastIndex;
    return Number(match[0]);
  }

  object(depth) {
    const members = new Map();
    this.need("{");
    this.space();
    if (this.take("}")) return members;
    do {
      this.space();
      const name = this.string();
      if (members.has(name)) throw new NotStrict("duplicate");
      this.space();
      this.need(":");
      members.set(name, this.value(depth));
      this.space();
    } while (this.take(","));
    this.need("}");
    return members;
  }

  array(depth) {
    const list = [];
    this.need("[");
    this.space();
    if (this.take("]")) return list;
    do {
      list.push(this.value(depth));
      this.space();
    } while (this.take(","));
    this.need("]");
    return list;
  }

  string() {
    this.need('"');
    let out = "";
    for (;;) {
      const c = this.text[this.at++];
      if (c === undefined || c < " ") this.fail("a string does not end");
      if (c === '"') break;
      out += c === "\\" ? this.escape() : c;
    }
    if (!out.isWellFormed()) this.fail("half a surrogate pair");
    return out;
  }

  escape() {
    const c = this.text[this.at++];
    if (c === "u") {
      const digits = this.text.slice(this.at, this.at + 4);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) this.fail("a bad escape");
      this.at += 4;
      return String.fromCharCode(parseInt(digits, 16));
    }
    if (!Object.hasOwn(ESCAPES, c ?? "")) this.fail("a bad escape");
    return ESCAPES[c];
  }
}

// read reads the one value in bytes. It throws a NotStrict.
export function read(bytes, depth) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new NotStrict("not UTF-8");
  }
  const reader = new Reader(text);
  const value = reader.value(depth);
  reader.space();
  if (reader.at !== text.length) throw new NotStrict("something follows");
  return value;
}

// sameFolded reports whether a reader that folds letter case, by the simple folding of
// Unicode, takes one name for the other.
export function sameFolded(a, b) {
  const literal = a.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  return new RegExp(`^${literal}$`, "iu").test(b);
}
