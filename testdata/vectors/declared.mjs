// What a server declares and publishes, in JavaScript: which policies govern a request to it (P4,
// P5, R1 to R4), also as a host reads them (H5, D1, D2).
import { DEFAULT, readPublished } from "./flow.mjs";
import { govern } from "./match.mjs";

const POLICY = "io.modelcontextprotocol/flowPolicy";
const EXTENSION = "io.modelcontextprotocol/flow";

const latin1 = (s) => Buffer.from(s, "utf8").toString("latin1");

// policiesFor returns the lists of tokens that govern a target; undefined is the default.
export function policiesFor(server, { kind, name }) {
  if (kind !== "resource") return [server[`${kind}s`]?.[name]?.acceptFrom];
  const declared = [["exact", server.resources], ["template", server.templates], ["prefix", server.prefixes]].flatMap(
    ([of, list]) => Object.entries(list ?? {}).map(([pattern, policy]) => ({ kind: of, pattern: latin1(pattern), policy })));
  const found = govern(declared, latin1(name));
  const policies = found.patterns.map((i) => declared[i].policy?.acceptFrom);
  return found.byDefault ? [...policies, undefined] : policies;
}

// member follows names into Maps.
const member = (value, ...names) => names.reduce((v, name) => (v instanceof Map ? v.get(name) : undefined), value);

// announced is the default of a server that says it has policies, or undefined.
export function announced(hello) {
  const flow = member(hello, "capabilities", "flow") ?? member(hello, "capabilities", "extensions", EXTENSION);
  if (member(flow, "policy") !== true) return undefined;
  return readPublished(member(flow, "default") ?? null).acceptFrom;
}

// own is the policy that a declaration has of its own, which may be faulty, or undefined.
function own(declaration, fallback) {
  const policy = member(declaration, "flowPolicy") ?? member(declaration, "_meta", POLICY) ?? null;
  if (policy === null) return undefined;
  const { acceptFrom, byDefault, faulty } = readPublished(policy);
  return { acceptFrom: byDefault ? (fallback ?? DEFAULT) : acceptFrom, faulty };
}

// published returns the policies that govern a request, by the declarations of its kind: "tool",
// "prompt" or "resource", which has those of templates too.
export function published(hello, kind, declarations, request) {
  const fallback = announced(hello);
  const policies = (declaration) => own(declaration, fallback) ?? { acceptFrom: fallback, faulty: false };
  let found;
  let byDefault;
  if (kind === "resource") {
    const patterns = declarations.map((d) =>
      d.has("uri") ? { kind: "exact", pattern: latin1(d.get("uri")) } : { kind: "template", pattern: latin1(d.get("uriTemplate")) });
    const matched = govern(patterns, latin1(request));
    found = matched.patterns.map((i) => declarations[i]);
    byDefault = matched.byDefault;
  } else {
    found = declarations.filter((d) => d.get("name") === request);
    byDefault = found.length === 0;
  }
  const all = found.map(policies);
  if (byDefault) all.push({ acceptFrom: fallback, faulty: false });
  return all.filter((policy) => policy.acceptFrom !== undefined);
}
