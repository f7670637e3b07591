// Judges documents by the published JSON Schemas with ajv. Reads {"dir": …, "documents":
// [{"schema": …, "value": …}]} from standard input and prints one boolean for each document.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";

const { dir, documents } = JSON.parse(readFileSync(0, "utf8"));
// Not strict: a keyword such as maxLength stands without a type where any value may be.
const ajv = new Ajv2020({ strict: false });
for (const name of readdirSync(dir).filter((name) => name.endsWith(".schema.json"))) {
  // The files refer to each other by name.
  ajv.addSchema(JSON.parse(readFileSync(join(dir, name), "utf8")), name);
}
process.stdout.write(JSON.stringify(documents.map(({ schema, value }) => ajv.validate(schema + ".schema.json", value))));
