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
import { Context, answered, prepare } from "./host.mjs";
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

// connect is a server as a host knows it.
function connect(server) {
  const of = (list) => (list ?? []).map(asMaps);
  const declarations = { tool: of(server.tools), resource: [...of(server.resources), ...of(server.templates)] };
  return { ...server, hello: asMaps(server.hello), declarations };
}

// take does one step of a host's vector, and returns what came of it and the context after it.
function take(v, context, servers, step) {
  if (step.derive) return [undefined, context.derived()];
  if (step.incomplete) context.complete = false;
  if (step.enter) {
    const { uri, assurance, publisher } = servers[step.enter];
    context.add({ principal: uri, assurance: step.assurance ?? assurance, publisher: step.publisher ?? publisher });
  }
  if (!step.method) return [undefined, context];
  const server = servers[step.server];
  const { params, ...refused } = prepare(v, context, server, step.method, step.params);
  if (!params) return [refused, context];
  return [{ outcome: answered(context, server, step.answer), params }, context];
}

// wanted is what has to come of a step: the params with the label, or what the host records.
function wanted(step) {
  if (!step.method) return undefined;
  if (!["answered", "refused-by-server"].includes(step.outcome)) {
    return without({ outcome: step.outcome, rejected: step.rejected, acceptFrom: step.acceptFrom });
  }
  const labelled = { ...step.params, _meta: { ...step.params._meta, "io.modelcontextprotocol/flowOrigin": step.label } };
  return { outcome: step.outcome, params: step.label ? labelled : step.params };
}

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

  hosts(v) {
    const servers = Object.fromEntries(v.servers.map((server) => [server.name, connect(server)]));
    let context = new Context();
    for (const who of v.start) context.add({ principal: `urn:mcp:${who}`, assurance: who });
    const got = v.steps.map((step) => {
      let came;
      [came, context] = take(v, context, servers, step);
      if (came?.rejected && !step.rejected) return { outcome: came.outcome }; // the vector leaves it open
      return came;
    });
    return [got, v.steps.map(wanted)];
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
