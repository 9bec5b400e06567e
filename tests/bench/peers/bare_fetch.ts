/**
 * The peer of a network tool: `fetch` with one client, the same requests through the same proxy, the body read and
 * parsed. No policy, no gate, no schema, no record, no border between processes.
 * Arguments: proxy URL, file of the authority, warm-up, calls. Prints the microseconds of a call.
 *
 * @module
 */
const [proxy = "", caFile = "", warmUp = "0", count = "0"] = Deno.args;
const client = Deno.createHttpClient({ proxy: { url: proxy }, caCerts: [await Deno.readTextFile(caFile)] });
let n = 0;

async function callMany(calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) {
    const response = await fetch("https://api.osv.dev/v1/query", {
      client,
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ package: { ecosystem: "npm", name: "bench" }, version: `1.0.${n++}` }),
    });
    const answer = JSON.parse(await response.text());
    if (answer.vulns.length !== 1) throw new Error("Cannot measure: the answer is wrong");
  }
}

await callMany(Number(warmUp));
const start = performance.now();
await callMany(Number(count));
const us = (performance.now() - start) * 1000 / Number(count);
await Deno.stdout.write(new TextEncoder().encode(`${JSON.stringify({ us })}\n`));
