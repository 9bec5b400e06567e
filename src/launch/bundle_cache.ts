/**
 * Finished bundles on disk. Whatever is wrong with one, it is only a miss.
 *
 * Trust: a bundle is code that will run as the agent, so it is believed only in a folder that nobody else can write:
 * the user's own, closed to others. The digests in it find torn files and changed modules, not forgery.
 *
 * @module
 */
import { sha256 } from "../json.ts";
import type { AgentBundle } from "./agent_bundle.ts";
import { readModule } from "./module_file.ts";
import { isOwnAndClosed } from "./state_dir.ts";

/** Longest cache file that is read, in bytes. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Loads a bundle whose modules are all still what they were. Requires permission to read the folder and the project.
 *
 * @param dir Absolute path of the cache.
 * @param bundle.key Hexadecimal digest of all that decides what comes out, beside the modules' texts.
 * @param bundle.project Real absolute path of the project.
 * @param bundle.packageRoots Folders inside of which the files of packages lie.
 */
export async function loadBundle(
  dir: string,
  bundle: { readonly key: string; readonly project: string; readonly packageRoots: readonly string[] },
): Promise<AgentBundle | undefined> {
  try {
    if (!await isOwnFolder(dir)) return undefined;
    const path = `${dir}/${bundle.key}.json`;
    const info = await Deno.lstat(path);
    if (!info.isFile || info.size > MAX_BYTES || !isOwnAndClosed(info)) return undefined;
    const value: unknown = JSON.parse(await Deno.readTextFile(path));
    if (!isBundle(value) || await sha256(value.code) !== value.digest) return undefined;
    const checks = await Promise.all(value.modules.map(async (module) => {
      const roots = module.packaged === undefined ? [bundle.project] : bundle.packageRoots;
      const root = roots.find((folder) => module.path.startsWith(folder + "/"));
      if (root === undefined) return false;
      const file = await readModule(root, module.path.slice(root.length + 1));
      return file.sha256 === module.sha256;
    }));
    return checks.length > 0 && checks.every(Boolean)
      ? { code: value.code, modules: value.modules, digest: value.digest }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Stores a bundle, readable for the user alone; a folder that is not closed, or cannot be written, is left as it is. */
export async function storeBundle(
  dir: string,
  { key, bundle }: { readonly key: string; readonly bundle: AgentBundle },
): Promise<void> {
  const temporary = `${dir}/${key}.${crypto.randomUUID()}.tmp`;
  try {
    if (!await isOwnFolder(dir)) return;
    await Deno.writeTextFile(temporary, JSON.stringify(bundle), { createNew: true, mode: 0o600 });
    await Deno.rename(temporary, `${dir}/${key}.json`);
  } catch {
    await Deno.remove(temporary).catch(() => {}); // the cache saves time only
  }
}

async function isOwnFolder(dir: string): Promise<boolean> {
  const info = await Deno.lstat(dir);
  return info.isDirectory && isOwnAndClosed(info);
}

function isBundle(value: unknown): value is AgentBundle {
  return typeof value === "object" && value !== null && "code" in value && typeof value.code === "string" &&
    "digest" in value && typeof value.digest === "string" && "modules" in value && Array.isArray(value.modules) &&
    value.modules.every((item: unknown) =>
      typeof item === "object" && item !== null && "path" in item && typeof item.path === "string" &&
      "sha256" in item && typeof item.sha256 === "string" &&
      (!("packaged" in item) || typeof item.packaged === "string")
    );
}
