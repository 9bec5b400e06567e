// The official MCP client with the official file system server, reading one file again and again.
// node mcp_client.mjs <node_modules> <folder> <file> <warm-up> <calls> <at once> [stay]
import process from "node:process";

const [modules, folder, file, warmUp, calls, atOnce, stay] = process.argv.slice(2);
const { Client } = await import(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/index.js`);
const { StdioClientTransport } = await import(`${modules}/@modelcontextprotocol/sdk/dist/esm/client/stdio.js`);

const client = new Client({ name: "bench", version: "1.0.0" });
const server = `${modules}/@modelcontextprotocol/server-filesystem/dist/index.js`;
await client.connect(
  new StdioClientTransport({ command: process.execPath, args: [server, folder], stderr: "ignore" }),
);

async function read() {
  const { isError, content } = await client.callTool({ name: "read_text_file", arguments: { path: file } });
  if (isError || !content[0].text.startsWith("0123")) throw new Error("Cannot compare: the server did not read");
}

async function readMany(count) {
  for (let done = 0; done < count; done += Number(atOnce)) {
    if (atOnce === "1") await read();
    else await Promise.all(Array.from({ length: Number(atOnce) }, read));
  }
}

await readMany(Number(warmUp));
const start = performance.now();
await readMany(Number(calls));
const elapsedMs = performance.now() - start;
process.stdout.write(`${JSON.stringify({ us: elapsedMs * 1000 / Number(calls) })}\n`);
if (stay === "stay") await new Promise((resolve) => process.stdin.on("end", resolve).resume());
await client.close();
