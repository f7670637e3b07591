// Runs the vectors of this directory with an implementation of its own, which was written
// from the rules and shares nothing with the one in Go. Needs Node 20 or later and nothing else:
//
//	node evaluate.mjs [directory]
//
// It prints what differs and exits with status 1 if anything does.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { policiesFor, published } from "./declared.mjs";
import { govern, patternFaults } from "./match.mjs";
import { NotStrict, read } from "./strict.mjs";
import { canonical, decide, readLabel, readPolicy, readPublished, recognise, refusal, codeAllowed } from "./flow.mjs";

const directory = process.argv[2] ?? dirname(fileURLToPath(import.meta.url));

// bytes builds a text from a string or from its parts.
function bytes(text) {
  if (text === undefined || text === null) return null;
  const parts = Array.isArray(text) ? text : [text];
  return Buffer.concat(parts.map((part) => {
    if (typeof part === "string") return Buffer.from(part, "utf8");
    return part.base64 === undefined ? Buffer.from(part.repeat.repeat(part.times)) : Buffer.from(part.base64, "base64");
  }));
}

const string = (text) => bytes(text)?.toString("latin1") ?? null;
const latin = (s) => (s === undefined ? undefined : Buffer.from(s, "utf8").toString("latin1"));

// without leaves out members that are not there, so that values compare.
const without = (object) => Object.fromEntries(Object.entries(object).filter(([, v]) => v !== undefined));

const latinPatterns = (v) => v.patterns.map((p) => ({ kind: p.kind, pattern: string(p.pattern) }));

// asMaps reads a value of the vectors as the wire is read.
const asMaps = (value) => read(Buffer.from(JSON.stringify(value)), 64);

// Each kind says what is got and what is wanted.
const kinds = {
  labels(v) {
    const got = readLabel(bytes(v.label));
    const contributors = got.contributors.map((c) => without({
      assurance: c.assurance, principal: latin(c.principal), publisher: latin(c.publisher),
      unusable: c.unusable.length ? c.unusable : undefined,
    }));
    const want = v.want.contributors.map((c) => without({
      ...c, principal: string(c.principal) ?? undefined, publisher: string(c.publisher) ?? undefined,
    }));
    const repeated = Array.from({ length: v.want.repeats ?? 1 }, () => want).flat();
    return [
      { class: got.class, complete: got.complete, contributors },
      { class: v.want.class, complete: v.want.complete, contributors: repeated },
    ];
  },

  policies(v) {
    const { absent, faults } = readPolicy(bytes(v.policy));
    const got = { author: absent ? { faults, absent } : { faults } };
    const want = { author: v.author };
    if (v.published) {
      const { acceptFrom, byDefault, faulty } = readPublished(read(bytes(v.policy), 64));
      got.published = { acceptFrom, default: byDefault, faulty };
      want.published = v.published;
    }
    return [got, want];
  },

  decisions(v) {
    const policies = v.policies.map((p) => p?.acceptFrom ?? v.default?.acceptFrom);
    const got = decide({ self: v.self, fallback: v.default?.acceptFrom, policies, vendor: v.vendor ?? {}, label: readLabel(bytes(v.label)) });
    if (v.base !== undefined) got.answer = v.base && got.accepted;
    return [got, v.want];
  },

  targets(v) {
    const policies = policiesFor(v.server, v.target);
    const label = readLabel(bytes(v.label));
    return [decide({ self: v.server.self, fallback: v.server.default?.acceptFrom, policies, vendor: {}, label }), v.want];
  },

  patterns(v) {
    return [patternFaults(latinPatterns(v)), v.faults];
  },

  resources(v) {
    const { patterns, byDefault, refused } = govern(latinPatterns(v), string(v.uri));
    const { atLeast, ...want } = v.want;
    const got = without({ refused, patterns, default: want.default === undefined ? undefined : byDefault });
    if (atLeast) [got.patterns, want.patterns] = [patterns.filter((i) => atLeast.includes(i)), atLeast];
    return [got, want];
  },

  published(v) {
    const declarations = v.declaration ? [asMaps(v.declaration)] : [];
    const kind = v.kind === "template" ? "resource" : v.kind;
    const [first] = published(asMaps(v.hello), kind, declarations, v.request);
    const got = first ? { governed: true, acceptFrom: first.acceptFrom } : { governed: false };
    return [first?.faulty ? { ...got, faulty: true } : got, v.want];
  },

  uris(v) {
    // As Latin-1, so that each byte is a character and nothing is repaired.
    return [canonical(string(v.uri)), string(v.canonical)];
  },

  equality(v) {
    const [a, b] = [canonical(string(v.a)), canonical(string(v.b))];
    return [a !== null && a === b, v.equal];
  },

  refusals(v) {
    return [refusal(v.rejected, v.acceptFrom, v.code, v.show), v.error];
  },

  recognise(v) {
    return [recognise(bytes(v.error)), v.want];
  },

  codes(v) {
    return [codeAllowed(v.code), v.allowed];
  },

  modes(v) {
    const known = ["", "enforce", "report", "off"];
    return [known.includes(v.server) ? v.target || v.server || "enforce" : null, v.want];
  },
};

let ran = 0;
let differ = 0;
for (const [kind, run] of Object.entries(kinds)) {
  const file = JSON.parse(readFileSync(join(directory, `${kind}.json`), "utf8"));
  if (file.format !== 1 || file.kind !== kind || file.count !== file.vectors.length || file.count === 0) {
    console.log(`${kind}.json: not the file that was expected`);
    differ++;
    continue;
  }
  for (const v of file.vectors) {
    let got;
    let want;
    try {
      [got, want] = run(v);
    } catch (e) {
      if (!(e instanceof NotStrict)) throw e;
      got = String(e);
    }
    ran++;
    if (isDeepStrictEqual(got, want)) continue;
    differ++;
    console.log(`${v.id}: ${v.about}\n- ${JSON.stringify(want)}\n+ ${JSON.stringify(got)}`);
  }
}
console.log(`${ran} vectors, ${differ} differ`);
process.exitCode = differ === 0 ? 0 : 1;
