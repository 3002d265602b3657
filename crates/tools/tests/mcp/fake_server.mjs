// A small MCP server over stdio that misbehaves on request. The first argument is the
// mode.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const mode = process.argv[2] ?? "plain";
const anything = { type: "object" };
const tool = (name, more = {}) => ({ name, description: `It is ${name}.`, inputSchema: anything, ...more });
const silent = [];
const cancelled = [];
let changed = false;

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const text = (id, words, more = {}) => send({ id, result: { content: [{ type: "text", text: words }], ...more } });

function list() {
  if (mode === "bad") {
    const long = "x".repeat(60);
    return [
      tool("good"),
      tool("not-an-object", { inputSchema: { type: "string" } }),
      tool("remote", { inputSchema: { type: "object", $ref: "https://example.com/schema.json" } }),
      { name: "no-schema" },
      tool(long),
      tool(process.argv[3]),
    ];
  }
  const names = ["echo", "crash", "huge", "garbage", "silent", "cancelled", "fail", "refuse", "env", "child", "pid", "change"];
  const marked = [
    tool("drop", { annotations: { destructiveHint: true } }),
    tool("look", { annotations: { readOnlyHint: true } }),
  ];
  return [...names.map((name) => tool(name)), ...marked, ...(changed ? [tool("added")] : [])];
}

const calls = {
  echo: (id, { words }) => text(id, words),
  crash: () => {
    process.stderr.write(`the pump broke, and my key is ${process.env.KEY}\n`, () => process.exit(7));
  },
  huge: (id, { bytes }) => text(id, "x".repeat(bytes)),
  garbage: (id) => {
    process.stdout.write('hello from a print statement\n{"half": \n\u0000\u0001\n[1,2\n\n');
    text(id, "still here");
  },
  silent: (id) => silent.push(id),
  look: () => {},
  cancelled: (id) => text(id, String(silent.filter((call) => cancelled.includes(call)).length)),
  fail: (id) => text(id, "It did not work.", { isError: true }),
  refuse: (id) => send({ id, error: { code: -32000, message: "I do not want to" } }),
  env: (id) => text(id, JSON.stringify(process.env)),
  child: (id) => text(id, String(spawn("sleep", ["1000"], { stdio: "ignore" }).pid)),
  pid: (id) => text(id, String(process.pid)),
  change: (id) => {
    changed = true;
    send({ method: "notifications/tools/list_changed" });
    text(id, "changed");
  },
};

const requests = {
  initialize: (id, params) =>
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "fake", version: "1" },
      },
    }),
  "tools/list": (id) => send({ id, result: { tools: list() } }),
  "tools/call": (id, params) => calls[params.name](id, params.arguments ?? {}),
};

if (mode === "dies") {
  process.stderr.write("no licence found\n", () => process.exit(3));
} else {
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, method, params } = JSON.parse(line);
    if (method === "notifications/cancelled") cancelled.push(params.requestId);
    if (mode !== "mute") requests[method]?.(id, params);
  });
}
