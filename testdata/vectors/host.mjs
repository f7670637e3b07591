// The host's half in JavaScript (H1 to H7): who has contributed to a context, the label that is sent,
// and what is not sent.
import { canonical, decide, readLabel, recognise } from "./flow.mjs";
import { published } from "./declared.mjs";

const LABEL = "io.modelcontextprotocol/flowOrigin";
const RANK = ["user", "host", "verified", "tofu", "unverified"];
const SILENT = /^(?:initialize|ping|server\/discover|logging\/setLevel|resources\/unsubscribe|.*\/list|notifications\/.*)$/;

// Context is what a model is shown, and from whom.
export class Context {
  contributors = new Map();
  verified = false; // something was, whatever its server is taken for now
  complete = true;

  add({ principal, assurance, publisher }) {
    const key = canonical(principal);
    const had = this.contributors.get(key);
    const same = !had || (had.publisher && publisher && canonical(had.publisher) === canonical(publisher));
    const lower = had && RANK.indexOf(had.assurance) > RANK.indexOf(assurance) ? had.assurance : assurance;
    const entry = { principal: had?.principal ?? principal, assurance: lower };
    if (same && publisher) entry.publisher = had?.publisher ?? publisher;
    this.contributors.set(key, entry);
    if (assurance === "verified") this.verified = true;
  }

  // derived is a context with nothing in it but a summary of this one.
  derived() {
    const next = new Context();
    next.contributors = new Map(this.contributors);
    [next.verified, next.complete] = [this.verified, this.complete];
    return next;
  }

  label(isPrivate) {
    if (this.contributors.size === 0) return { contributors: [{ assurance: "unverified" }], complete: false };
    const list = [...this.contributors.values()];
    return { contributors: isPrivate ? list.map(({ assurance }) => ({ assurance })) : list, complete: this.complete };
  }
}

// subject is what a request is about: the kind of its target, and its name or URI.
function subject(method, params) {
  switch (method) {
    case "tools/call": return ["tool", params.name];
    case "prompts/get": return ["prompt", params.name];
    case "resources/read":
    case "resources/subscribe": return ["resource", params.uri];
    case "completion/complete": return params.ref.type === "ref/prompt" ? ["prompt", params.ref.name] : ["resource", params.ref.uri];
    default: return ["tool", undefined];
  }
}

// prepare returns what becomes of a request before it is sent: the params to send, or the outcome.
export function prepare(host, context, server, method, params) {
  if (SILENT.test(method)) return { params };
  const label = context.label(host.private);
  if (!host.ignoreCeiling && server.assurance === "unverified" && (context.verified || !label.complete)) {
    return { outcome: "blocked-by-ceiling" };
  }
  const [kind, name] = subject(method, params);
  const policies = published(server.hello, kind, server.declarations[kind] ?? [], name).map((p) => p.acceptFrom);
  if (!host.ignorePolicies && policies.length > 0) {
    const read = readLabel(Buffer.from(JSON.stringify(label)));
    const { accepted, rejected, acceptFrom } = decide({ self: server.uri, policies, vendor: {}, label: read });
    if (!accepted) return { outcome: "blocked-by-policy", rejected, acceptFrom };
  }
  return { params: { ...params, _meta: { ...params._meta, [LABEL]: label } } };
}

// answered takes the answer into the context, unless it is a refusal by the server.
export function answered(context, server, error) {
  if (error && recognise(Buffer.from(JSON.stringify(error))).refusal) return "refused-by-server";
  context.add({ principal: server.uri, assurance: server.assurance, publisher: server.publisher });
  return "answered";
}
