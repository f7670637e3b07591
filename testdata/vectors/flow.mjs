// The pure half of draft SEP-3193 in JavaScript: reading labels and policies, deciding,
// canonical URIs, and the refusal. The rule numbers are those of docs/rules.md.
import { isIPv6 } from "node:net";
import { NotStrict, read, sameFolded } from "./strict.mjs";

const STATES = ["user", "host", "verified", "tofu", "unverified"];
export const DEFAULT = ["self", "user", "host", "verified"];
const LABEL_MEMBERS = ["contributors", "complete"];
const CONTRIBUTOR_MEMBERS = ["assurance", "principal", "publisher"];
const MAX_CONTRIBUTORS = 256;
const MAX_BYTES = 64 * 1024;
const MAX_STRING = 2 * 1024;
const MAX_DEPTH = 8;
const MAX_TOKENS = 4096;
const KEY = "io.modelcontextprotocol/flowPolicyViolation";

const isObject = (v) => v instanceof Map;
const size = (s) => Buffer.byteLength(s, "utf8");

// ---- canonical URIs (U1 to U3) ----

const TAIL = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*$/;

// canonical returns the form of a URI that is compared, or null for one that is unusable.
export function canonical(uri) {
  if (uri.length > MAX_STRING) return null;
  const http = /^(https?):\/\/([^/?#]*)(.*)$/is.exec(uri);
  const out = http ? canonicalHTTP(http) : canonicalURN(uri);
  return out === null || out.length > MAX_STRING ? null : out;
}

function canonicalHTTP([, written, authority, tail]) {
  const scheme = written.toLowerCase();
  const parts = /^(\[[^\]]*\]|[^:[\]]*)(?::([0-9]*))?$/.exec(authority);
  if (!parts || !TAIL.test(tail)) return null;
  const host = parts[1].toLowerCase();
  if (host.startsWith("[")) {
    const address = host.slice(1, -1);
    if (address.includes("%") || !isIPv6(address)) return null; // no zones (U2)
  } else if (!host.split(".").every((label) => /^[a-z0-9_-]+$/.test(label))) {
    return null;
  }
  let port = parts[2];
  if (port !== undefined && (!/^[1-9][0-9]{0,4}$/.test(port) || Number(port) > 65535)) return null;
  if (port === { http: "80", https: "443" }[scheme]) port = undefined;
  return `${scheme}://${host}${port === undefined ? "" : `:${port}`}${tail.startsWith("/") ? "" : "/"}${tail}`;
}

function canonicalURN(uri) {
  const urn = /^urn:([a-z0-9][a-z0-9-]{0,30}[a-z0-9]):([^/?].*)$/is.exec(uri);
  if (!urn || !TAIL.test(urn[2])) return null;
  return `urn:${urn[1].toLowerCase()}:${urn[2]}`;
}

// ---- the label (L1 to L9) ----

const LEAST = { assurance: "unverified", unusable: [] };

// readLabel reads the bytes of a label; null means that there is none. It never throws.
export function readLabel(text) {
  const unreadable = (name) => ({ class: name, complete: false, contributors: [LEAST] });
  if (text === null) return unreadable("absent");
  try {
    if (text.length > MAX_BYTES) return unreadable("malformed");
    const label = read(text, MAX_DEPTH);
    if (label === null) return unreadable("absent");
    const list = isObject(label) ? label.get("contributors") : undefined;
    if (!Array.isArray(list) || list.length === 0 || list.length > MAX_CONTRIBUTORS) return unreadable("malformed");
    budget(label);
    unambiguous(label, LABEL_MEMBERS);
    const contributors = list.map(contributor);
    const complete = label.get("complete") === true;
    if (!complete) contributors.push(LEAST); // L6
    return { class: complete ? "ok" : "incomplete", complete, contributors };
  } catch (e) {
    if (e instanceof NotStrict) return unreadable("malformed");
    throw e;
  }
}

function contributor(entry) {
  unambiguous(entry, CONTRIBUTOR_MEMBERS);
  if (!isObject(entry)) return LEAST; // L3
  const c = { assurance: "unverified", unusable: [] };
  if (STATES.includes(entry.get("assurance"))) c.assurance = entry.get("assurance"); // L4
  for (const member of ["principal", "publisher"]) {
    if (!entry.has(member)) continue;
    const value = entry.get(member);
    if (typeof value === "string" && canonical(value) !== null) c[member] = value;
    else c.unusable.push(member); // L5
  }
  return c;
}

// budget refuses a string that is too long, wherever it stands (L7).
function budget(value) {
  if (typeof value === "string" && size(value) > MAX_STRING) throw new NotStrict("too long");
  if (Array.isArray(value)) value.forEach(budget);
  if (!isObject(value)) return;
  for (const [name, member] of value) {
    budget(name);
    budget(member);
  }
}

// unambiguous refuses names that a folding reader takes for one another or for a known member,
// here and in everything below (L8). In a label the contributors have known members of their own.
function unambiguous(value, known = []) {
  if (Array.isArray(value)) value.forEach((entry) => unambiguous(entry));
  if (!isObject(value)) return;
  const names = [...value.keys()];
  names.forEach((name, i) => {
    if (known.includes(name)) return;
    if ([...known, ...names.slice(0, i)].some((other) => sameFolded(other, name))) throw new NotStrict("folded");
  });
  for (const [name, member] of value) if (!(known === LABEL_MEMBERS && name === "contributors")) unambiguous(member);
}

// ---- policies (P1 to P6) ----

// token says what a token means, or what is wrong with it.
function token(text) {
  if (text === "self" || STATES.includes(text)) return { kind: text === "self" ? "self" : "state", key: text };
  if (text.startsWith("publisher:")) return uriToken("publisher", text.slice("publisher:".length));
  if (/^(?:https?|urn):/i.test(text)) return uriToken("principal", text);
  const vendor = /^([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+):([!-~]+)$/.exec(text);
  if (vendor && vendor[1].split(".").every((label) => !/^-|-$/.test(label)) && !text.endsWith("\n")) {
    return { kind: "vendor", key: text, prefix: vendor[1], value: vendor[2] };
  }
  return { fault: "unknown-token" };
}

function uriToken(kind, uri) {
  const key = canonical(uri);
  if (uri.includes("*")) return { fault: "never-matches" };
  if (key !== null) return { kind, key };
  if (uri === "") return { fault: "missing" };
  if (size(uri) > MAX_STRING) return { fault: "over-limit" };
  return { fault: /^(?!https?:|urn:)[a-z][a-z0-9+.-]*:/i.test(uri) ? "unsupported" : "unusable-uri" };
}

// tokens reads a list: the texts, and every mistake with its place.
function tokens(list) {
  if (list.length > MAX_TOKENS) return { acceptFrom: [], faults: [{ path: "acceptFrom", reason: "over-limit" }] };
  const acceptFrom = [];
  const faults = [];
  const seen = new Set();
  list.forEach((text, i) => {
    let fault = "wrong-type";
    if (typeof text === "string") {
      acceptFrom.push(text);
      const meaning = token(text);
      const same = `${meaning.kind} ${meaning.key}`;
      fault = meaning.fault ?? (seen.has(same) ? "duplicate" : undefined);
      if (!meaning.fault) seen.add(same);
    }
    if (fault) faults.push({ path: `acceptFrom[${i}]`, reason: fault });
  });
  return { acceptFrom, faults };
}

// list reads what holds the tokens, without members that nobody knows.
function list(policy) {
  if (!isObject(policy)) return { faults: [{ path: "", reason: "wrong-type" }] };
  if (!policy.has("acceptFrom")) return { faults: [{ path: "acceptFrom", reason: "missing" }] };
  const entries = policy.get("acceptFrom");
  return Array.isArray(entries) ? tokens(entries) : { faults: [{ path: "acceptFrom", reason: "wrong-type" }] };
}

// readPolicy reads a policy as the server of its author does: every mistake counts.
export function readPolicy(text) {
  let policy;
  try {
    policy = read(text, MAX_DEPTH);
  } catch (e) {
    if (!(e instanceof NotStrict)) throw e;
    return { faults: [{ path: "", reason: e.message === "duplicate" ? "duplicate" : "wrong-type" }] };
  }
  if (policy === null) return { absent: true, faults: [] };
  const { faults } = list(policy);
  if (isObject(policy)) {
    for (const name of [...policy.keys()].filter((n) => n !== "acceptFrom").sort()) faults.push({ path: name, reason: "unknown-member" });
  }
  return { faults };
}

// readPublished reads a policy as a host does: what cannot be read is the default, and what
// cannot be understood is inert.
export function readPublished(policy) {
  if (policy === null) return { acceptFrom: DEFAULT, byDefault: true, faulty: false };
  const { acceptFrom, faults } = list(policy);
  return { acceptFrom: acceptFrom ?? DEFAULT, byDefault: acceptFrom === undefined, faulty: faults.length > 0 };
}

// ---- deciding (P1, P2, P3, P7, P9) ----

function matches(text, c, self, vendor) {
  const t = token(text);
  const principal = c.principal === undefined ? null : canonical(c.principal);
  switch (t.kind) {
    case "self": return principal !== null && principal === canonical(self);
    case "state": return c.assurance === t.key;
    case "principal": return principal === t.key;
    case "publisher": return c.publisher !== undefined && canonical(c.publisher) === t.key;
    case "vendor": return Boolean(vendor[t.prefix]?.[t.value]?.includes(c.principal));
    default: return false;
  }
}

// decide says whether every policy accepts every contributor.
export function decide({ self, fallback = DEFAULT, policies, vendor, label }) {
  if (policies.length === 0) return { accepted: false, rejected: once(label.contributors), acceptFrom: fallback };
  for (const acceptFrom of policies.map((p) => p ?? fallback)) {
    const rejected = label.contributors.filter((c) => !acceptFrom.some((text) => matches(text, c, self, vendor)));
    if (rejected.length > 0) return { accepted: false, rejected: once(rejected), acceptFrom };
  }
  return { accepted: true };
}

// once returns the violation set: equal entries once, in label order.
function once(contributors) {
  const entries = new Map();
  for (const { assurance, principal } of contributors) {
    const key = `${assurance} ${principal === undefined ? "" : canonical(principal)}`;
    if (!entries.has(key)) entries.set(key, principal === undefined ? { assurance } : { assurance, principal });
  }
  return [...entries.values()];
}

// ---- the refusal (X2 to X4) ----

// refusal builds the error object.
export function refusal(rejected, acceptFrom, code, show = "full") {
  let shown = rejected;
  if (show === "without-principals") shown = once(rejected.map(({ assurance }) => ({ assurance })));
  const detail = show === "key-only" ? { rejected: [], acceptFrom: [] } : { rejected: shown, acceptFrom };
  return { code: code || 403, message: "Request rejected by flow policy", data: { [KEY]: detail } };
}

// recognise tells a refusal from another error, by the key alone.
export function recognise(text) {
  const scan = lenient(text);
  const data = scan.get("data");
  if (!isObject(data) || !data.has(KEY)) return { refusal: false };
  const detail = data.get(KEY);
  const unreadable = { refusal: true, readable: false };
  try {
    read(text, 64);
  } catch {
    return unreadable;
  }
  if (!isObject(detail)) return unreadable;
  const [rejected, acceptFrom] = [detail.get("rejected"), detail.get("acceptFrom")];
  if (!Array.isArray(rejected) || !Array.isArray(acceptFrom) || !acceptFrom.every((t) => typeof t === "string")) return unreadable;
  const isText = (v) => v === undefined || typeof v === "string";
  if (!rejected.every((r) => isObject(r) && typeof r.get("assurance") === "string" && isText(r.get("principal")))) return unreadable;
  const entries = rejected.map((r) => (r.has("principal") ? { assurance: r.get("assurance"), principal: r.get("principal") } : { assurance: r.get("assurance") }));
  return { refusal: true, readable: true, rejected: entries, acceptFrom };
}

// lenient reads JSON whose names may be there twice, and takes the last one.
function lenient(text) {
  const asMap = (_, v) => (v && typeof v === "object" && !Array.isArray(v) ? new Map(Object.entries(v)) : v);
  return JSON.parse(text.toString("utf8"), asMap);
}

// codeAllowed says whether a refusal may have a code (X3).
export function codeAllowed(code) {
  return Number.isInteger(code) && Math.abs(code + 0.5) < 2 ** 31 && !(code >= -32768 && code <= -32000) && code !== -32800;
}
