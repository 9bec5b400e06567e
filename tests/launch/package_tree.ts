/** A project with npm packages, in a temporary folder: as npm, Deno and pnpm lay them out, or in a cache of Deno's. */

/** One package: its `package.json` beside name and version, and its files. */
export interface TestPackage {
  readonly manifest?: Readonly<Record<string, unknown>>;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  /** Names that its files import. */
  readonly dependencies?: readonly string[];
}

/** Where the packages are put. */
export type Layout = "npm" | "links" | "cache";

/** A project on disk. */
export interface PackageProject {
  /** Real path. */
  readonly project: string;
  /** Real path of a cache of Deno's, outside of the project. */
  readonly denoDir: string;
  /** Real folder of a package, by `name@version`. */
  folderOf(key: string): string;
  write(path: string, content: string | Uint8Array): Promise<void>;
}

/** An integrity that a lock may name. */
export const INTEGRITY = `sha512-${"A".repeat(86)}==`;

/**
 * Runs `body` in a project with packages and a `deno.lock` that asks for each of them.
 *
 * @param packages By `name@version`; one version of each name.
 */
export async function withPackages(
  packages: Readonly<Record<string, TestPackage>>,
  options: { readonly layout?: Layout; readonly files?: Readonly<Record<string, string>> },
  body: (project: PackageProject) => Promise<void>,
): Promise<void> {
  const root = await Deno.realPath(await Deno.makeTempDir({ prefix: "twokey-packages-" }));
  const { layout = "npm", files = {} } = options;
  const project = `${root}/project`;
  const denoDir = `${root}/deno`;
  const folderOf = (key: string): string => {
    const [name, version] = split(key);
    if (layout === "cache") return `${denoDir}/npm/registry.test/${name}/${version}`;
    if (layout === "npm") return `${project}/node_modules/${name}`;
    return `${project}/node_modules/.deno/${name.replace("/", "+")}@${version}/node_modules/${name}`;
  };
  try {
    await write(project, "deno.json", "{}");
    await write(project, "deno.lock", lockOf(packages));
    await Deno.mkdir(denoDir);
    for (const [path, text] of Object.entries(files)) await write(project, path, text);
    for (const [key, { manifest = {}, files, dependencies = [] }] of Object.entries(packages)) {
      const [name, version] = split(key);
      const folder = folderOf(key);
      await write(folder, "package.json", JSON.stringify({ name, version, type: "module", ...manifest }));
      for (const [path, content] of Object.entries(files)) await write(folder, path, content);
      if (layout === "cache") {
        const versions = { [version]: { version, dist: { integrity: INTEGRITY } } };
        await write(`${denoDir}/npm/registry.test/${name}`, "registry.json", JSON.stringify({ name, versions }));
      }
      if (layout !== "links") continue;
      await link(folder, `${project}/node_modules/${name}`);
      for (const dependency of dependencies) {
        const [target = ""] = Object.keys(packages).filter((other) => split(other)[0] === dependency);
        await link(folderOf(target), `${folder.slice(0, -name.length)}${dependency}`);
      }
    }
    await body({ project, denoDir, folderOf, write: (path, content) => write(project, path, content) });
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

/** The `deno.lock` of some packages: the project asks for each of them. */
export function lockOf(packages: Readonly<Record<string, TestPackage>>): string {
  const keys = Object.keys(packages);
  return JSON.stringify({
    version: "5",
    specifiers: Object.fromEntries(keys.map((key) => [`npm:${key}`, split(key)[1]])),
    npm: Object.fromEntries(
      keys.map((key) => [key, { integrity: INTEGRITY, dependencies: packages[key]?.dependencies ?? [] }]),
    ),
    workspace: { dependencies: keys.map((key) => `npm:${key}`) },
  });
}

function split(key: string): [name: string, version: string] {
  const at = key.indexOf("@", 1);
  return [key.slice(0, at), key.slice(at + 1)];
}

async function link(target: string, path: string): Promise<void> {
  await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
  await Deno.symlink(target, path);
}

async function write(folder: string, path: string, content: string | Uint8Array): Promise<void> {
  const file = `${folder}/${path}`;
  await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
  await Deno.writeFile(file, typeof content === "string" ? new TextEncoder().encode(content) : content);
}
