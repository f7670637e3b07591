// Patterns of resources and the URIs that they govern, in JavaScript (R1 to R4, and P6 for
// patterns). Texts are Latin-1 strings, each character a byte.

const MAX_URI = 8 * 1024;
const MAX_READINGS = 256;

const lower = (s) => s.replace(/[A-Z]/g, (c) => c.toLowerCase());
const parts = (uri) => /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/]*))?(.*)$/s.exec(uri);

// plain is the one spelling of what has no letter case: scheme, authority, digits of escapes. The
// authority of a file may be left out.
function plain(uri) {
  const [, scheme, authority, path] = parts(uri) ?? [];
  if (scheme === undefined) return uri;
  const host = authority ?? (lower(scheme) === "file" ? "" : undefined);
  const text = `${lower(scheme)}:${host === undefined ? "" : `//${lower(host)}`}${path}`;
  return text.replace(/%[0-9A-Fa-f]{2}/g, (escape) => escape.toUpperCase());
}

const ESCAPE = /%([0-9A-Fa-f]{2})/g;
const unescape = (s) => s.replace(ESCAPE, (_, digits) => String.fromCharCode(parseInt(digits, 16)));
const unescapeMost = (s) => s.replace(ESCAPE, (escape) => ("/\\?#;%".includes(unescape(escape)) ? escape : unescape(escape)));

// resolve follows dot segments.
function resolve(path) {
  const out = [];
  const segments = path.split("/");
  segments.forEach((segment, i) => {
    const last = i === segments.length - 1;
    if (segment === "..") out.pop();
    else if (segment !== ".") out.push(segment);
    if (last && (segment === "." || segment === "..")) out.push("");
  });
  return out.join("/");
}

// rest changes what is behind the scheme and its slashes, once with the authority kept apart and
// once, if there is one, with it as the first segment.
function rest(uri, change) {
  const [, scheme, authority, path] = parts(uri) ?? [];
  if (scheme === undefined) return [];
  if (authority === undefined) return [`${scheme}:${below(path, change)}`];
  if (authority === "") return [`${scheme}://${below(path, change)}`];
  return [`${scheme}://${authority}${below(path, change)}`, `${scheme}://${change(authority + path)}`];
}

// below changes a path and keeps it below its first slash.
const below = (path, change) => (path.startsWith("/") ? `/${change(path.slice(1))}` : path);

// asFile reads the authority of a file as nothing, and as the first segment.
function asFile(uri) {
  const [, scheme, authority, path] = parts(uri) ?? [];
  if (scheme === undefined || lower(scheme) !== "file" || !authority) return [];
  return [`file://${path}`, `file:///${authority}${path}`];
}

const STEPS = [
  (uri) => [uri.replace(/[?#].*$/s, "")],
  (uri) => [unescape(uri), unescapeMost(uri)],
  (uri) => rest(uri, resolve),
  (uri) => rest(uri, (path) => path.split("/").filter((segment) => segment !== "").join("/")),
  (uri) => rest(uri, (path) => path.replace(/\/+$/, "")),
  (uri) => [uri.replace(/\/+$/, "")],
  (uri) => [uri.replace(/;[^/]*/g, "")],
  (uri) => [uri.replaceAll("\\", "/")],
  asFile,
];

// readings returns everything that a handler may take a URI for, or null if that is too much.
export function readings(uri) {
  if (uri.length > MAX_URI) return null;
  const seen = new Set([plain(uri)]);
  for (const reading of seen) {
    for (const step of STEPS) for (const next of step(reading)) seen.add(plain(next));
    if (seen.size > MAX_READINGS) return null;
  }
  return [...seen];
}

const bare = (pattern) => plain(pattern.replace(/[?#].*$/s, ""));
const quote = (s) => s.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

// expression makes a regular expression of a template: {var} is a segment or a part of one, {+var}
// anything, and {?var} is ignored like a query.
function expression(template) {
  const pieces = plain(template).split(/(\{[^}]*\})/);
  const source = pieces.map((piece) => {
    if (!piece.startsWith("{")) return quote(piece);
    return { "+": ".*", "?": "" }[piece[1]] ?? "[^/]*";
  });
  return new RegExp(`^${source.join("")}$`, "s");
}

// tests returns the functions that say whether a reading is governed by a pattern.
function tests({ kind, pattern }) {
  if (kind === "template") return [pattern, unescape(pattern)].map((p) => (uri) => expression(p).test(uri));
  return [bare(pattern), plain(unescape(bare(pattern)))].map((p) =>
    kind === "exact" ? (uri) => uri === p : (uri) => uri.startsWith(p) || `${uri}/` === p);
}

// govern returns the indices of the patterns that govern a URI, and whether the default does too.
export function govern(patterns, uri) {
  const all = readings(uri);
  if (all === null) return { refused: true };
  const compiled = patterns.map(tests);
  const found = all.map((reading) => compiled.map((list) => list.some((test) => test(reading))));
  return {
    patterns: patterns.map((_, i) => i).filter((i) => found.some((row) => row[i])),
    byDefault: found.some((row) => !row.includes(true)),
  };
}

// fault says what is wrong with a pattern, if anything is.
function fault({ kind, pattern }) {
  if (pattern === "") return "missing";
  if (pattern.length > MAX_URI) return "over-limit";
  if (!parts(pattern) || /[\x00-\x1f\x7f]|\xef\xbf\xbd|%(?![0-9A-Fa-f]{2})/.test(pattern)) return "unusable-uri";
  if (kind !== "template") {
    if (/[{}]/.test(pattern) || (kind === "prefix" && !pattern.endsWith("/"))) return "never-matches";
    return undefined;
  }
  for (const [piece] of pattern.matchAll(/\{[^{}]*\}|[{}]/g)) {
    if (/^\{[./;&#=,!@|][^{}]*\}$/.test(piece)) return "unsupported";
    if (!/^\{[+?]?[A-Za-z0-9_.]+\}$/.test(piece)) return "unusable-uri";
  }
  return undefined;
}

// patternFaults returns every mistake in a list of patterns.
export function patternFaults(patterns) {
  const seen = new Set();
  return patterns.flatMap((p, i) => {
    const key = `${p.kind} ${p.kind === "template" ? plain(p.pattern) : bare(p.pattern)}`;
    const reason = fault(p) ?? (seen.has(key) ? "duplicate" : undefined);
    seen.add(key);
    return reason ? [{ pattern: i, reason }] : [];
  });
}
