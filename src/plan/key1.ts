/**
 * What a plan asks of Deno's permissions, before it is printed as flags or as a permission set.
 *
 * @module
 */
import { ControlError } from "../errors.ts";
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";
import { denyNet } from "./deny_net.ts";
import { absolute, askedEndpoints, type Places, type Plan } from "./plan.ts";

/** What only the launch knows, or only a print for people wants. */
export interface Key1Options {
  /** Keeps `${project}` and the registry's placeholder: the print is then the same on every machine. */
  readonly portable?: boolean;
  /** Further paths that the host itself reads, such as its ends of the FIFOs. Absolute. */
  readonly extraRead?: readonly string[];
  /** Further paths that the host itself writes. Absolute. */
  readonly extraWrite?: readonly string[];
  /** What the host starts in the place of the plan's programs: the launcher's wrappers. Absolute. Default: the programs. */
  readonly run?: readonly string[];
  /** Further `host:port`s that the host connects to at start, and gives up before the agent starts. */
  readonly extraNet?: readonly string[];
  /** `host:port` of the proxy that the plan names, as the launcher read it from the variable. */
  readonly proxyAddress?: string;
  /** Addresses that the proxy's name resolves to: cut out of the denied blocks as well. */
  readonly proxyResolved?: readonly string[];
}

/** The permissions of the host: what is not listed is not granted. Each list is without duplicates and in a fixed order. */
export interface Key1 {
  readonly read: readonly string[];
  readonly denyRead: readonly string[];
  readonly write: readonly string[];
  readonly denyWrite: readonly string[];
  readonly net: readonly string[];
  readonly denyNet: readonly string[];
  readonly run: readonly string[];
  readonly env: readonly string[];
}

/**
 * Derives the permissions of the host.
 *
 * Write roots need read as well: a written file is verified by its real path, and an exclusive create is a hard link.
 * Recorded answers and an offline cache need no network, so they get none.
 *
 * @throws {ControlError} If a place on this machine has a comma or a control character in its path: Deno would split it.
 */
export function key1(plan: Plan, places: Places, options: Key1Options = {}): Key1 {
  const place = (path: string): string => options.portable === true ? path : absolute(path, places);
  const cache = plan.network.cache === null ? [] : [place(plan.network.cache.dir)];
  const ca = plan.network.ca !== null && "file" in plan.network.ca ? [place(plan.network.ca.file)] : [];
  const programs = Object.values(plan.process?.commands ?? {}).map(({ path }) => place(path));
  const write = [...plan.fs.write.map(({ root }) => place(root)), ...cache, ...options.extraWrite ?? []];
  const read = [
    ...plan.fs.read.map(({ root }) => place(root)),
    ...plan.fs.write.map(({ root }) => place(root)),
    // a folder is compared by its real path, a program by its numbers
    ...(plan.process?.cwd ?? []).map(({ root }) => place(root)),
    ...programs,
    ...cache,
    ...ca,
    ...options.extraRead ?? [],
  ];
  const proxy = options.proxyAddress === undefined ? [] : [options.proxyAddress];
  const pinned = hostsOf(plan, options.portable === true);
  // with nothing to reach, nothing else is reached either
  const hosts = pinned.length > 0 ? [...pinned, ...proxy, ...options.extraNet ?? []] : [];
  return {
    read: clean(read),
    denyRead: clean(plan.fs.secret.filter(isPlace).map(place)),
    write: clean(write),
    denyWrite: clean(plan.fs.protected.filter(isPlace).map(place)),
    net: clean(hosts),
    denyNet: denyNet([...proxy, ...options.proxyResolved ?? []]),
    run: clean(options.run ?? programs),
    env: clean(plan.env),
  };
}

/** An address that leads nowhere (RFC 6666) and that a client bound to IPv4 must fail to try. */
export const IPV6_CANARY_ADDRESS = "[100::1]:443";

/** A variable that the launcher sets for the host and that no plan grants: the host must not see it. */
export const CANARY_VARIABLE = "TWOKEY_CANARY";

/** Whether an entry of `Plan.fs.protected` or `Plan.fs.secret` is a place; any other is a name at any depth. */
export function isPlace(entry: string): boolean {
  return entry.startsWith("/") || entry.startsWith("${");
}

/** `host:port` of every endpoint that is really asked, sorted. */
function hostsOf(plan: Plan, portable: boolean): string[] {
  const hosts = new Set<string>();
  for (const { url } of askedEndpoints(plan)) {
    const authority = (portable ? url : withRegistry(url)).slice("https://".length).split("/")[0] ?? "";
    hosts.add(/:\d+$/.test(authority) ? authority : `${authority}:443`);
  }
  return [...hosts].toSorted();
}

function clean(list: readonly string[]): string[] {
  for (const entry of list) {
    if (entry === "" || entry.includes(",") || /\p{Cc}/u.test(entry)) {
      throw new ControlError(
        "path_not_grantable",
        `Cannot grant ${JSON.stringify(entry)}: a comma or control character would split it into other grants`,
      );
    }
  }
  return [...new Set(list)];
}
