// Holds Beckon's signatures against the public reference implementation of MA2H
// (https://github.com/autnmy/ma2h-protocol), in both directions. It needs Node 20
// and a checkout of that repository, in which "npm ci" was run:
//
//	export MA2H_REFERENCE=/somewhere/ma2h-protocol/reference MA2H_SECRET=any-text
//	reference() { (cd "$MA2H_REFERENCE" && node --import tsx "$OLDPWD/examples/agent_reference.mjs" "$@"); }
//
//	go run examples/agent_signed.go sign | reference check
//	reference sign | go run examples/agent_signed.go verify
//	reference serve 9000 https://agent.example.com/ma2h    # an agent for a real hub's pushes
//	reference drain http://127.0.0.1:8420                  # and for its directives
//
// "check" has the reference's agent accept each line, and refuse it after each
// change of one byte in anything that the signature covers. "sign" has the
// reference's hub sign. "serve" and "drain" (which reads BECKON_TOKEN and
// BECKON_AGENT) print what the reference's agent makes of what a hub sends, and
// do the same changes to it.
import { createServer } from "node:http";
import { once } from "node:events";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const from = (file) => import(pathToFileURL(join(process.env.MA2H_REFERENCE, "src", file)).href);
const { Agent } = await from("client.ts");
const { Hub } = await from("hub.ts");
const { sealState } = await from("state-seal.ts");

const key = process.env.MA2H_SECRET;
if (!key) throw new Error("set MA2H_SECRET");
const sealKey = Buffer.alloc(32, 7);

// run has a fresh agent deal with what was signed: null if it acts on it.
function run({ kind, callback_url, agent, signature, body }) {
  let parsed;
  try {
    parsed = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(body)));
  } catch (e) {
    return `not JSON: ${e.message}`;
  }
  const a = new Agent({
    callbackUrl: callback_url ?? "", callbackKey: key, sealKey, windowSeconds: 300, ...(agent ? { agentId: `agent:${agent}` } : {}),
  });
  let result;
  try {
    result = kind === "directive" ? a.receiveDirective(parsed, signature) : a.onResume(parsed, signature);
  } catch (e) {
    return `it throws: ${e.message}`;
  }
  return result.acted ? null : `${result.disposition}: ${result.reason}`;
}

// covered is what a signature covers of a body, under the names to count by.
function covered(kind, body) {
  let b;
  try {
    b = JSON.parse(body);
  } catch {
    return null;
  }
  if (typeof b !== "object" || b === null || Array.isArray(b)) return null;
  if (kind === "directive") {
    const { ma2h_version, id, from, to, title, body, priority, tags, context } = b;
    return { ma2h_version, id, from, to, title, body, priority, tags, context };
  }
  const { ma2h_version, in_reply_to, resolution, resolution_id, response, state } = b;
  const { value, comment, actor, ...rest } = response ?? {};
  return { ma2h_version, "in_reply_to (id)": in_reply_to, resolution, resolution_id, value, comment, actor, "rest of response": response ? rest : null, state };
}

// Changes, by what was changed; and what should not have been accepted.
const refused = new Map();
const wrong = [];

function expectRefusal(what, line) {
  if (run(line) === null) wrong.push(`${line.kind} ${line.name} is accepted with another ${what}`);
  else refused.set(what, (refused.get(what) ?? 0) + 1);
}

function changes(line) {
  const flip = (text, set, what) => {
    const bytes = Buffer.from(text);
    for (let i = 0; i < bytes.length; i++) {
      for (const bit of [1, 8]) {
        const changed = Buffer.from(bytes);
        changed[i] ^= bit;
        what ? expectRefusal(what, set(changed.toString("latin1"))) : set(changed);
      }
    }
  };
  if (line.callback_url) flip(line.callback_url, (v) => ({ ...line, callback_url: v }), "callback URL");
  for (const part of ["t", "jti", "v1"]) {
    const [, before, text, after] = new RegExp(`^(.*[ ,]?\\b${part}=)([^,]*)(.*)$`).exec(line.signature);
    // The last two bits of a signature carry nothing (RFC 4648 §3.5), and no
    // verifier may look at them (spec §9.2).
    const last = part === "v1" ? text.slice(-1) : "";
    flip(text.slice(0, text.length - last.length), (v) => ({ ...line, signature: before + v + last + after }), `signature ${part}`);
  }
  const was = covered(line.kind, line.body);
  flip(line.body, (bytes) => {
    const text = bytes.toString("utf8");
    const now = covered(line.kind, text);
    if (now === null) return expectRefusal("syntax", { ...line, body: bytes });
    const what = Object.keys(was).find((k) => !isDeepStrictEqual(was[k], now[k]));
    if (what) expectRefusal(what, { ...line, body: bytes });
  });
}

function take(line) {
  const reason = run(line);
  if (reason === null) changes(line);
  else wrong.push(`${line.kind} ${line.name} is refused: ${reason}`);
  return reason;
}

function report() {
  const total = [...refused.values()].reduce((a, b) => a + b, 0);
  console.log(`refused ${total} changes of one byte: ${[...refused].map(([k, n]) => `${k} ${n}`).join(", ")}`);
  for (const w of wrong.slice(0, 20)) console.log(w);
  console.log(wrong.length === 0 ? "nothing is wrong" : `${wrong.length} things are wrong`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

async function check() {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  const lines = text.split("\n").filter(Boolean).map((l) => JSON.parse(l));
  for (const line of lines) take(line);
  const count = (kind) => lines.filter((l) => l.kind === kind).length;
  console.log(`the reference was given ${count("response")} responses and ${count("directive")} directives`);
  report();
}

// sign has the reference's hub play every ending of asks and tasks, and hand out
// directives.
function sign() {
  const print = (line) => console.log(JSON.stringify(line));
  const agent = "deploybot/dev-team";
  const url = "https://agent.example.com/ma2h/resume?job=a%2Fb&x=%C3%BC";
  const text = "Ünïcode <b>&\u2028 🚀 \"quoted\" \\ \u001f";
  const form = { z: 1e21, a: -0, m: 0.1, t: 1e-7, big: 9007199254740991, é: "é🚀", yes: true, list: [1, [2.5, { k: "v" }]] };
  const states = { "no state": undefined, "an empty state": {}, state: { resume: { step: 3, ratio: -0.001 }, "a<b": "<&>\u2028", "": null }, "a sealed state": { sealed: sealState({ step: 3 }, sealKey) } };
  const actor = "human:alice";
  const endings = {
    answered: (hub, id) => hub.resolve(id, { actor, resolution: "answered", value: "hold", comment: text }),
    "with a form": (hub, id) => hub.resolve(id, { actor, resolution: "answered", value: form }),
    declined: (hub, id) => hub.resolve(id, { actor, resolution: "declined", comment: "Not now." }),
    cancelled: (hub, id) => hub.cancel(id, agent),
    expired: (hub, id) => hub.expire(id, Date.now() + 120_000),
    completed: (hub, id) => hub.resolve(id, { actor, resolution: "completed", checklist: [{ text: "Dräin", done: true }, { text: "Boot", done: false }] }),
    dismissed: (hub, id) => hub.resolve(id, { actor, resolution: "dismissed", comment: text }),
  };
  let n = 0;
  for (const version of ["0.3", "0.4", "0.5"]) {
    for (const [ending, end] of Object.entries(endings)) {
      for (const [name, state] of Object.entries(states)) {
        const hub = new Hub({
          signingKey: key,
          onDeliver: (p) => print({ kind: "response", name: `${version} ${ending}, ${name}`, callback_url: p.callback.url, signature: p.signature, body: JSON.stringify(p.response) }),
        });
        const callback = { mode: "push", url, auth: { scheme: "hmac", secret_ref: "env:K" } };
        const task = ending === "completed" || ending === "dismissed";
        const input = ending === "with a form";
        const { id } = hub.submit({
          ma2h_version: version, type: task ? "task" : "ask", created_at: new Date().toISOString(), title: text.slice(0, 20),
          agent: { id: agent, run_id: "run_1", runtime: "cli" }, idempotency_key: `k${n++}`, expires_at: new Date(Date.now() + 60_000).toISOString(),
          ...(state === undefined ? {} : { state }),
          ...(task
            ? { action: { instructions: "Do it.", allowed_resolvers: [actor], callback } }
            : {
                request: {
                  ...(input
                    ? { mode: "input", schema: { type: "object", properties: { m: { type: "number" } } } }
                    : { mode: "select", options: [{ value: "ship", label: "Ship" }, { value: "hold", label: "Hold" }], default_on_expire: "hold" }),
                  allowed_resolvers: [actor], callback,
                },
              }),
        });
        end(hub, id);
      }
    }
  }
  const hub = new Hub({ signingKey: key });
  hub.setAgentOwner(agent, actor);
  const parts = [{ kind: "text", text: "log" }, { kind: "data", data: form, metadata: { k: 1 } }, { kind: "file", file: { uri: "https://example.com/a?b=c" } }];
  for (const author of [actor, "system:ops"]) {
    for (let fields = 0; fields < 16; fields++) {
      hub.sendDirective({
        from: author, to: `agent:${agent}`, title: "Päuse <deploys> \u2028🚀",
        ...(fields & 1 ? { body: text } : {}), ...(fields & 2 ? { priority: "urgent" } : {}),
        ...(fields & 4 ? { tags: ["incident", "a<b", ""] } : {}), ...(fields & 8 ? { context: parts } : {}),
      });
    }
  }
  for (let batch; (batch = hub.drainInbox(agent)).length > 0; ) {
    for (const d of batch) print({ kind: "directive", name: d.directive.id, agent, signature: d.signature, body: JSON.stringify(d.directive) });
  }
}

// serve is the reference's agent at the end of a real hub's pushes. It ends after
// as many as it is told to take.
async function serve(port, url, most) {
  let taken = 0;
  const server = createServer(async (req, res) => {
    const chunks = [];
    for await (const c of req) chunks.push(c);
    const line = { kind: "response", name: `push ${++taken}`, callback_url: url, signature: req.headers["ma2h-signature"] ?? "", body: Buffer.concat(chunks).toString("utf8") };
    const reason = take(line);
    console.log(`${req.method} ${req.headers["content-type"]}: ${reason ?? "accepted"}: ${line.body}`);
    res.writeHead(reason === null ? 200 : 401).end();
    if (taken === Number(most)) {
      server.close();
      server.closeIdleConnections();
    }
  });
  server.listen(Number(port), "127.0.0.1");
  await once(server, "close");
  report();
}

// drain is the reference's agent at a real hub's mailbox.
async function drain(hub) {
  const headers = { authorization: `Bearer ${process.env.BECKON_TOKEN}`, "content-type": "application/json" };
  const got = await (await fetch(`${hub}/v1/inbox`, { headers })).json();
  const ids = [];
  for (const { directive, signature } of got.messages) {
    const line = { kind: "directive", name: directive.id, agent: process.env.BECKON_AGENT, signature, body: JSON.stringify(directive) };
    console.log(`${directive.id}: ${take(line) ?? "accepted"}: ${line.body}`);
    ids.push(directive.id);
  }
  if (ids.length > 0 && wrong.length === 0) {
    const acked = await fetch(`${hub}/v1/inbox/ack`, { method: "POST", headers, body: JSON.stringify({ ids, note: "Read by the reference." }) });
    console.log(`acked: ${await acked.text()}`);
  }
  report();
}

const [command, ...args] = process.argv.slice(2);
const commands = { check, sign, serve, drain };
if (!commands[command]) throw new Error("say check, sign, serve or drain");
await commands[command](...args);
