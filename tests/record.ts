// deno-lint-ignore-file no-console -- a command of its own
/**
 * Brings the recorded answers of the demonstration up to date with `deno.lock`: `deno task record`.
 *
 * What is recorded for a locked version stays; what is missing is asked for, from the registry with the npm client as
 * this machine configures it, from OSV itself. Where OSV cannot be reached an answer of its shape stands in, and the
 * file's note says so.
 *
 * @module
 */
import { readDenoLock } from "../policies/supply-chain-review/review/packages.ts";
import { canonical, type Json, type JsonObject } from "../src/json.ts";

const ROOT = new URL("../", import.meta.url);
const NPM = "fixtures/supply_chain/npm.json";
const OSV = "fixtures/supply_chain/osv.json";
const OSV_URL = "https://api.osv.dev/v1/query";

/** How long OSV may take to be reached, in milliseconds. */
const OSV_MS = 10_000;

/** The note of a file with answers that nobody gave. */
const HAND_MADE =
  "OSV was not reachable where this file was made. Its answers are written by hand in the shape of the " +
  "service's: {} for a version of which its authors know no advisory. They say nothing of what OSV knows today";

interface Exchange {
  readonly request: { readonly method: string; readonly url: string; readonly body?: JsonObject };
  readonly response: { readonly status: number; readonly headers: JsonObject; readonly body: Json };
}

interface Recording {
  readonly version: 1;
  readonly note?: string;
  readonly recorded: string;
  readonly exchanges: readonly Exchange[];
}

/** One locked version. */
export interface Locked {
  readonly name: string;
  readonly version: string;
  readonly integrity: string | null;
}

/** Every npm package of this repository's lock. */
export async function lockedPackages(): Promise<readonly Locked[]> {
  return readDenoLock(JSON.parse(await Deno.readTextFile(new URL("deno.lock", ROOT)))).entries;
}

/** The address that `npm.metadata` asks for a package, with the placeholder of the registry. */
export function packumentUrl(name: string): string {
  return `https://<npm-registry>/${name.replace("/", "%2f")}`;
}

async function readRecording(path: string): Promise<Recording> {
  try {
    return JSON.parse(await Deno.readTextFile(new URL(path, ROOT)));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { version: 1, recorded: today(), exchanges: [] };
  }
}

async function writeRecording(path: string, recording: Recording): Promise<void> {
  await Deno.mkdir(new URL(".", new URL(path, ROOT)), { recursive: true });
  await Deno.writeTextFile(new URL(path, ROOT), `${JSON.stringify(recording, null, 2)}\n`);
}

async function recordNpm(locked: readonly Locked[]): Promise<void> {
  const before = await readRecording(NPM);
  const known = new Map(before.exchanges.map((exchange) => [exchange.request.url, exchange]));
  const exchanges: Exchange[] = [];
  let asked = 0;
  for (const [name, entries] of Map.groupBy(locked, ({ name }) => name)) {
    const recorded = known.get(packumentUrl(name));
    if (recorded !== undefined && entries.every((entry) => holds(recorded.response.body, entry))) {
      exchanges.push(recorded);
      continue;
    }
    asked++;
    exchanges.push({
      request: { method: "GET", url: packumentUrl(name) },
      response: {
        status: 200,
        headers: { "content-type": "application/vnd.npm.install-v1+json" },
        body: await packument(name, entries.map(({ version }) => version)),
      },
    });
  }
  exchanges.sort((a, b) => a.request.url < b.request.url ? -1 : 1);
  await writeRecording(NPM, { version: 1, recorded: asked > 0 ? today() : before.recorded, exchanges });
  console.log(`${NPM}: ${exchanges.length} packages, ${asked} asked for`);
}

function holds(body: Json, { version, integrity }: Locked): boolean {
  const { versions } = body as { versions?: Record<string, { dist?: { integrity?: string } }> };
  return versions?.[version]?.dist?.integrity === integrity;
}

/** The abbreviated form of a packument, cut down to some versions. */
async function packument(name: string, versions: readonly string[]): Promise<Json> {
  const manifests: Record<string, Json> = {};
  let tags: Json = {};
  let modified: Json = null;
  for (const version of versions) {
    const { stdout, success } = await new Deno.Command("npm", {
      args: ["view", `${name}@${version}`, "--json"],
      stderr: "inherit",
    }).output();
    if (!success) throw new Error(`Cannot record ${name}@${version}: npm view failed`);
    const view = JSON.parse(new TextDecoder().decode(stdout));
    tags = view["dist-tags"];
    modified = view.time?.modified ?? modified;
    manifests[version] = abbreviated(name, view);
  }
  return { name, "dist-tags": tags, versions: manifests, ...(modified === null ? {} : { modified }) };
}

/** The fields that the abbreviated form keeps of one version. */
function abbreviated(name: string, view: Record<string, Json>): Json {
  const { integrity, shasum } = view.dist as { integrity: string; shasum: string };
  const scripts = (view.scripts ?? {}) as JsonObject;
  const kept = ["deprecated", "dependencies", "optionalDependencies", "peerDependencies", "engines", "os", "cpu"];
  const runs = ["preinstall", "install", "postinstall"].some((script) => Object.hasOwn(scripts, script));
  const file = `${name.slice(name.indexOf("/") + 1)}-${String(view.version)}.tgz`;
  return {
    name,
    version: view.version ?? null,
    ...Object.fromEntries(kept.flatMap((key) => view[key] === undefined ? [] : [[key, view[key]]])),
    ...(runs ? { hasInstallScript: true } : {}),
    dist: { tarball: `https://<npm-registry>/${name}/-/${file}`, shasum, integrity },
  };
}

async function recordOsv(locked: readonly Locked[]): Promise<void> {
  const before = await readRecording(OSV);
  const known = new Map(before.exchanges.map((exchange) => [canonical(exchange.request.body), exchange]));
  const exchanges: Exchange[] = [];
  let reachable = true;
  let asked = 0;
  for (const { name, version } of locked) {
    const body = { package: { ecosystem: "npm", name }, version };
    const recorded = before.note === undefined ? known.get(canonical(body)) : undefined;
    if (recorded !== undefined) {
      exchanges.push(recorded);
      continue;
    }
    const answer: Json | undefined = reachable ? await askOsv(body) : undefined;
    if (answer === undefined) reachable = false;
    else asked++;
    exchanges.push({
      request: { method: "POST", url: OSV_URL, body },
      response: { status: 200, headers: { "content-type": "application/json" }, body: answer ?? {} },
    });
  }
  const recorded = asked > 0 || before.exchanges.length === 0 ? today() : before.recorded;
  await writeRecording(OSV, { version: 1, ...(reachable ? {} : { note: HAND_MADE }), recorded, exchanges });
  console.log(`${OSV}: ${exchanges.length} versions, ${asked} asked for${reachable ? "" : "; OSV was not reachable"}`);
}

/** The service's answer; `undefined` where it cannot be reached. */
async function askOsv(body: JsonObject): Promise<Json | undefined> {
  try {
    const response = await fetch(OSV_URL, {
      method: "POST",
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(OSV_MS),
    });
    return response.ok ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

if (import.meta.main) {
  const locked = await lockedPackages();
  await recordNpm(locked);
  await recordOsv(locked);
}
