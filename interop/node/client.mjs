// Drives one of the two official TypeScript SDKs through a plan and prints what it
// saw: a JSON object on each line, first what connecting gave, then one object for
// every step. It judges nothing; the Go test that runs it does.
//
// The plan comes on standard input:
//
//	{"sdk": "v1" | "v2", "version": "2026-07-28", "deadline": 30000,
//	 "url": "http://…/mcp" | "command": ["server", "-stdio"],
//	 "steps": [{"method": "tools/list", "params": {}}, …]}
//
// A method with "raw " in front is sent as it stands and its result is read with the
// SDK's schema for any result, which knows no members and drops none.

import { text } from 'node:stream/consumers';

const plan = JSON.parse(await text(process.stdin));

// Not even a hung server keeps this process, or the server that it has started.
setTimeout(() => fail(new Error(`not done after ${plan.deadline} ms`)), plan.deadline).unref();

function fail(error) {
	console.error(error);
	process.exit(1);
}

function print(object) {
	process.stdout.write(JSON.stringify(object) + '\n');
}

// load returns the parts of an SDK that this script needs, under the same names.
async function load(sdk) {
	if (sdk === 'v1') {
		const [client, http, stdio, types] = await Promise.all([
			import('@modelcontextprotocol/sdk/client/index.js'),
			import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
			import('@modelcontextprotocol/sdk/client/stdio.js'),
			import('@modelcontextprotocol/sdk/types.js'),
		]);
		return { ...client, ...http, ...stdio, anyResult: types.ResultSchema, options: {} };
	}
	const [client, stdio] = await Promise.all([
		import('@modelcontextprotocol/client'),
		import('@modelcontextprotocol/client/stdio'),
	]);
	const mode = plan.version === '2026-07-28' ? { pin: plan.version } : 'legacy';
	return {
		...client,
		...stdio,
		anyResult: client.specTypeSchemas.Result,
		options: { versionNegotiation: { mode } },
	};
}

// methods are the SDK's own for each request, with its own types for the results.
const methods = {
	'tools/list': (c, params) => c.listTools(params),
	'tools/call': (c, params) => c.callTool(params),
	'resources/list': (c, params) => c.listResources(params),
	'resources/templates/list': (c, params) => c.listResourceTemplates(params),
	'resources/read': (c, params) => c.readResource(params),
	'prompts/list': (c, params) => c.listPrompts(params),
	'prompts/get': (c, params) => c.getPrompt(params),
};

async function send(client, sdk, { method, params }) {
	if (method.startsWith('raw ')) {
		return client.request({ method: method.slice('raw '.length), params }, sdk.anyResult);
	}
	return methods[method](client, params);
}

// listen gets from a transport what a client keeps to itself: the version that was
// agreed on (v1 tells nobody else), and the server's capabilities as they arrived.
function listen(transport) {
	const heard = {};
	const next = transport.setProtocolVersion?.bind(transport);
	transport.setProtocolVersion = (version) => {
		heard.version = version;
		next?.(version);
	};
	transport.onmessage = (message) => {
		heard.capabilities ??= message.result?.capabilities;
	};
	return heard;
}

async function run() {
	const sdk = await load(plan.sdk);
	const transport = plan.url
		? new sdk.StreamableHTTPClientTransport(new URL(plan.url))
		: new sdk.StdioClientTransport({ command: plan.command[0], args: plan.command.slice(1), stderr: 'inherit' });
	const client = new sdk.Client({ name: 'interop', version: '1.0.0' }, sdk.options);
	const heard = listen(transport);
	await client.connect(transport);
	// In the second era the client listens alone while it connects, so ask once more.
	heard.capabilities ??= (await client.request({ method: 'server/discover' }, sdk.anyResult)).capabilities;
	print({
		version: client.getNegotiatedProtocolVersion?.() ?? heard.version,
		capabilities: client.getServerCapabilities(),
		received: heard.capabilities,
	});
	for (const step of plan.steps) {
		try {
			print({ result: await send(client, sdk, step) });
		} catch (e) {
			print({ error: { code: e.code, message: e.message, data: e.data }, class: e.constructor.name });
		}
	}
	await client.close();
}

run().catch(fail);
