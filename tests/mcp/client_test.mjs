// SPDX-License-Identifier: MIT
//
// Every tool of `rochound mcp` through the clients of the protocol's own packages, on a software GPU.
//
// usage: client_test.mjs --modules FOLDER --rochound PATH --hipcc PATH --source app.hip --generation handshake|modern
//
// handshake: @modelcontextprotocol/sdk, which begins with initialize; modern: @modelcontextprotocol/client with
// protocol 2026-07-28. Both see the same server.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: Object.fromEntries(["modules", "rochound", "hipcc", "source", "generation"].map((name) => [name, { type: "string" }])),
});
const GPU = "rx6800xt";
const modern = options.generation === "modern";
const load = (file) => import(pathToFileURL(path.join(options.modules, "@modelcontextprotocol", file)));
const { Client } = await load(modern ? "client/dist/index.mjs" : "sdk/dist/esm/client/index.js");
const { StdioClientTransport } = await load(modern ? "client/dist/stdio.mjs" : "sdk/dist/esm/client/stdio.js");
const schemas = modern ? undefined : await load("sdk/dist/esm/types.js");

const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "mcp-client-")));
const inside = (name) => path.join(folder, name);

async function connect(...more) {
  const client = new Client({ name: "test", version: "1" }, modern ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {});
  const transport = new StdioClientTransport({
    command: options.rochound, args: ["mcp", "--folder", folder, ...more], env: process.env, stderr: "inherit",
  });
  await client.connect(transport);
  return { client, transport };
}

function call(client, name, args, settings = {}) {
  const request = { name, arguments: args };
  const all = { timeout: 600_000, ...settings };
  return modern ? client.callTool(request, all) : client.callTool(request, schemas.CallToolResultSchema, all);
}

// structuredContent of a call that works.
async function ask(client, name, args, settings) {
  const result = await call(client, name, args, settings);
  assert.ok(!result.isError, `${name} ${JSON.stringify(args)}: ${result.content[0].text}`);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  assert.ok(result.content[0].text.length < 48 * 1024, `${name} answers with ${result.content[0].text.length} bytes`);
  return result.structuredContent;
}

async function fails(client, name, args, part) {
  const result = await call(client, name, args);
  assert.ok(result.isError, `${name} ${JSON.stringify(args)} works`);
  assert.match(result.content[0].text, part);
}

const steps = {
  async readers() {
    const { client } = await connect();
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name), ["explain", "query", "show", "doctor"]);
    assert.ok(tools.every((tool) => tool.annotations.readOnlyHint));
    assert.match(client.getInstructions(), /--allow-run/);
    await assert.rejects(call(client, "run", { program: ["true"] }), /--allow-run/);
    await fails(client, "show", { path: "/etc/passwd" }, /outside/);
    await client.close();
  },

  async record({ client }) {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((tool) => tool.name),
      ["explain", "query", "show", "doctor", "run", "capture", "replay", "probe", "profile", "judge"]);
    const ran = await ask(client, "run", { program: ["./app"], softgpu: GPU });
    assert.equal(ran.result.trace, inside("trace.rpd"));
    assert.equal(ran.exitCode, 0);
    assert.ok(ran.result.output.length > 0);
    await fails(client, "run", { program: ["./nothing"] }, /nothing/);
    await fails(client, "run", { program: ["./app"], output: "/tmp/outside.rpd" }, /outside/);
  },

  async explain({ client }) {
    const before = fs.readFileSync(inside("trace.rpd"));
    const top = await ask(client, "explain", { question: "top", traces: ["trace.rpd"] });
    assert.equal(top.result.question, "top");
    assert.match(JSON.stringify(top), /scale/);
    await ask(client, "explain", { traces: ["trace.rpd"] });
    await ask(client, "explain", { question: "callstack", traces: ["trace.rpd"] });
    assert.ok(before.equals(fs.readFileSync(inside("trace.rpd"))), "explain wrote into the trace");
    await fails(client, "explain", { question: "nonsense", traces: ["trace.rpd"] }, /is none of/);
    await fails(client, "explain", { traces: ["app.hip"] }, /rochound explain/);
  },

  async query({ client }) {
    const count = await ask(client, "query", { traces: ["trace.rpd"], sql: "select count(*) as calls from api" });
    const calls = count.result.tables.rows.rows[0].calls;
    assert.ok(calls > 20, `${calls} calls`);
    // All rows, page by page, and each once.
    const seen = [];
    const args = { traces: ["trace.rpd"], sql: "select id from rocpd_api order by id" };
    let page = await ask(client, "query", { ...args, limit: 7 });
    for (;;) {
      seen.push(...page.result.tables.rows.rows.map((row) => row.id));
      if (!page.nextCursor) break;
      page = await ask(client, "query", { ...args, limit: 7, cursor: page.nextCursor });
    }
    assert.equal(seen.length, Math.min(calls, 1000));
    assert.deepEqual(seen, [...new Set(seen)].sort((a, b) => a - b));
    const large = await ask(client, "query", { traces: ["trace.rpd"], sql: "select range as n from range(100000)" });
    assert.equal(large.total, 1000);
    // Read-only, whatever it says.
    const before = fs.readFileSync(inside("trace.rpd"));
    const names = fs.readdirSync(folder).sort();
    for (const sql of [`copy (select 1) to '${inside("made.csv")}'`, `copy (select 1) to '${inside("trace.rpd")}'`,
      `copy (select 1) to '${inside("trace.rpd")}' (use_tmp_file false)`, `copy (select 1) to '${inside("trace.rpd-wal")}'`,
      `attach '${inside("made.db")}'`, "select * from read_text('/etc/passwd')", `select * from '${inside("secret.csv")}'`,
      "delete from rocpd_api", "install httpfs", "--csv", "--help", "--", ""])
      await fails(client, "query", { traces: ["trace.rpd"], sql }, /./);
    assert.deepEqual(fs.readdirSync(folder).sort(), names);
    assert.ok(before.equals(fs.readFileSync(inside("trace.rpd"))), "a query wrote into the trace");
  },

  async capture({ client }) {
    const kept = await ask(client, "capture", { program: ["./app"], kernel: "^scale$", output: "scale.bundle", softgpu: GPU });
    assert.equal(kept.result.bundle, inside("scale.bundle"));
    const launch = await ask(client, "show", { path: "scale.bundle" });
    assert.match(JSON.stringify(launch.result), /scale/);
    await fails(client, "capture", { program: ["./app"], kernel: "^scale$", output: "scale.bundle", softgpu: GPU }, /there already/);
  },

  async show({ client }) {
    const kernels = await ask(client, "show", { path: "app" });
    assert.match(JSON.stringify(kernels.result), /scale/);
    const args = { path: "app", kernel: "gemm", disassembly: true };
    const page = await ask(client, "show", args);
    assert.ok(page.total > 50 && page.nextCursor, `${page.total} entries`);
    const next = await ask(client, "show", { ...args, cursor: page.nextCursor });
    assert.notDeepEqual(next.result, page.result);
    await fails(client, "show", { path: "app", kernel: "gemm", cursor: page.nextCursor }, /other arguments/);
  },

  async replay({ client }) {
    const once = await ask(client, "replay", { action: "run", bundle: "scale.bundle", softgpu: GPU });
    assert.equal(once.result.verdict, "equal");
    await ask(client, "replay", { action: "check", bundle: "scale.bundle", softgpu: GPU });
  },

  async judge({ client }) {
    const verdict = await ask(client, "judge", { bundles: ["scale.bundle"], candidate: "app", softgpu: GPU, rounds: 1, as: "float" });
    assert.equal(verdict.result.verdict, "rejected");
    assert.equal(verdict.result.reason, "no-difference");
    assert.equal(verdict.exitCode, 3);
  },

  async profile({ client }) {
    const found = await ask(client, "profile", { replay: "scale.bundle", gpu: GPU });
    assert.match(JSON.stringify(found.result), /scale/);
    const worth = await ask(client, "profile", { trace: "trace.rpd", output: "worth" });
    assert.ok(worth.result !== undefined && fs.existsSync(inside("worth/dag.json")));
    await fails(client, "profile", {}, /needs one of/);
  },

  async probe({ client }) {
    await ask(client, "probe", {
      action: "build", program: [options.hipcc, "-O3", "--offload-arch=gfx1030", "small.hip", "-o", "probed"],
    });
    const found = await ask(client, "probe", { action: "run", program: ["./probed"], analyzer: "memory", keep: "messages", softgpu: GPU });
    assert.ok(found.result.entries.length > 0);
    const messages = await ask(client, "probe", { action: "read", folder: "messages", limit: 1 });
    assert.ok(messages.nextCursor && messages.result.entries.length === 1, JSON.stringify(messages).slice(0, 1000));
  },

  async doctor({ client }) {
    const machine = await ask(client, "doctor", { files_only: true });
    assert.ok(Array.isArray(machine.result.findings) && [0, 1, 3].includes(machine.exitCode));
    const ran = await ask(client, "doctor", { ran: "trace.rpd" });
    assert.ok(Array.isArray(ran.result.findings));
  },

  async progressAndCancellation({ client }) {
    const told = [];
    const stop = new AbortController();
    const program = ["sh", "-c", "echo $$ > pid; sleep 300 & echo $! >> pid; wait"];
    const started = call(client, "run", { program, output: "long.rpd" }, {
      signal: stop.signal,
      onprogress: (progress) => {
        told.push(progress);
        if (told.length === 3) stop.abort("enough");
      },
    });
    await assert.rejects(started);
    assert.ok(told.length >= 3);
    assert.ok(told.every((one, i) => i === 0 || one.progress > told[i - 1].progress));
    assert.ok(told.every((one) => typeof one.message === "string"));
    const processes = fs.readFileSync(inside("pid"), "utf8").trim().split("\n").map(Number);
    assert.equal(processes.length, 2);
    const isThere = (pid) => {
      try {
        return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
      } catch {
        return false;
      }
    };
    for (let i = 0; i < 100 && processes.some(isThere); ++i) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual(processes.filter(isThere), [], "processes of the cancelled call go on");
    await ask(client, "show", { path: "app" });  // the server goes on
  },
};

const SMALL = `#include <hip/hip_runtime.h>
__global__ void strided(float* at) { at[threadIdx.x * 33] += 1; }
int main() {
  float* at = nullptr;
  if (hipMalloc(&at, 64 * 33 * sizeof(float)) != hipSuccess) return 1;
  strided<<<1, 64>>>(at);
  return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
`;

try {
  fs.writeFileSync(inside("small.hip"), SMALL);
  fs.writeFileSync(inside("secret.csv"), "a\nsecret\n");
  execFileSync(options.hipcc, ["-O3", "--offload-arch=gfx1030", options.source, "-o", inside("app")], { stdio: "inherit" });
  fs.copyFileSync(options.source, inside("app.hip"));
  const all = await connect("--allow-run");
  for (const [name, step] of Object.entries(steps)) {
    const start = Date.now();
    await step(all);
    console.log(`${name}: ${((Date.now() - start) / 1000).toFixed(1)} s`);
  }
  const start = Date.now();
  await all.client.close();
  assert.ok(Date.now() - start < 10_000, "the server does not end with its input");
  console.log(`${Object.keys(steps).length} steps, all as they should be`);
} finally {
  fs.rmSync(folder, { recursive: true, force: true });
}
