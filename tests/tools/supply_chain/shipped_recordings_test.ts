import assert from "node:assert/strict";
import { canonical } from "../../../src/json.ts";
import { loadFixtures } from "../../../src/plan/fixtures.ts";
import { withRegistry } from "../../../src/tools/supply_chain/npm_registry.ts";

const ROOT = new URL("../../../", import.meta.url);
const FOLDER = "fixtures/supply_chain";

async function read(path: string): Promise<{ file: string; text: string }> {
  return { file: path, text: await Deno.readTextFile(new URL(path, ROOT)) };
}

Deno.test("the shipped recordings answer for every npm package that this repository locks", async () => {
  const set = loadFixtures([await read(`${FOLDER}/osv.json`), await read(`${FOLDER}/npm.json`)]);
  const { npm } = JSON.parse((await read("deno.lock")).text) as { npm: Record<string, { integrity: string }> };
  const missing: string[] = [];
  for (const [key, { integrity }] of Object.entries(npm)) {
    const [, name = "", version = ""] = /^(@?[^@]+)@([^_]+)/.exec(key) ?? [];
    const query = canonical({ package: { ecosystem: "npm", name }, version });
    if (set.find("POST", "https://api.osv.dev/v1/query", query) === undefined) missing.push(`osv ${name}@${version}`);
    const url = withRegistry(`https://<npm-registry>/${name.replace("/", "%2f")}`);
    const packument = set.find("GET", url, "");
    if (packument === undefined) missing.push(`npm ${name}`);
    else assert.equal(JSON.parse(packument.reply.text).versions[version]?.dist.integrity, integrity, key);
  }
  assert.deepEqual(missing, []);
});
