/**
 * Hosts in one canonical spelling, and the classes of IPv4 addresses.
 *
 * @module
 */

/** A host made canonical. */
export interface CanonicalHost {
  readonly host: string;
  readonly kind: "name" | "ipv4" | "ipv6";
}

/** A block of IPv4 addresses that are not part of the public Internet. */
export interface SpecialBlock {
  readonly cidr: string;
  readonly what: string;
}

/** Every IPv4 block that a granted host must not resolve into, in ascending order. */
export const SPECIAL_IPV4: readonly SpecialBlock[] = Object.freeze([
  { cidr: "0.0.0.0/8", what: "this network" },
  { cidr: "10.0.0.0/8", what: "private" },
  { cidr: "100.64.0.0/10", what: "carrier-grade NAT" },
  { cidr: "127.0.0.0/8", what: "loopback" },
  { cidr: "169.254.0.0/16", what: "link-local, cloud metadata" },
  { cidr: "172.16.0.0/12", what: "private" },
  { cidr: "192.0.0.0/24", what: "protocol assignments" },
  { cidr: "192.168.0.0/16", what: "private" },
  { cidr: "198.18.0.0/15", what: "benchmarks" },
  { cidr: "224.0.0.0/4", what: "multicast" },
  { cidr: "240.0.0.0/4", what: "reserved, broadcast" },
]);

/**
 * Makes a host canonical: lower case, internationalised names in their ASCII form, one trailing dot off, every spelling
 * of an IPv4 address as four decimal numbers, IPv6 in brackets. `null` for what is no host: an empty label, a wildcard,
 * a port, credentials, a path, an IPv6 address without brackets.
 */
export function canonicalHost(text: string): CanonicalHost | null {
  // decide before the URL parser does: it would accept `a/b`, `u@h` and `h:1` as more than a host
  if (text === "" || /[\s/\\?#@*%,]/.test(text)) return null;
  const bracketed = text.startsWith("[") && text.endsWith("]");
  if (!bracketed && text.includes(":")) return null;
  const bare = text.endsWith(".") ? text.slice(0, -1) : text;
  const parsed = URL.parse(`https://${bare}/`);
  if (parsed === null || parsed.port !== "" || parsed.pathname !== "/") return null;
  const host = parsed.hostname;
  if (bracketed) return { host, kind: "ipv6" };
  if (parseIpv4(host) !== null) return { host, kind: "ipv4" };
  if (host === "" || host.length > 253 || host.split(".").some((label) => label === "" || label.length > 63)) {
    return null;
  }
  return { host, kind: "name" };
}

/** Reads four decimal numbers as one unsigned 32-bit number; `null` for anything else. */
export function parseIpv4(text: string): number | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return null;
  let value = 0;
  for (const part of match.slice(1)) {
    const byte = Number(part);
    if (byte > 255 || (part.length > 1 && part.startsWith("0"))) return null;
    value = value * 256 + byte;
  }
  return value;
}

/**
 * Whether an IPv6 address belongs to the public Internet: global unicast without what is set aside in it (protocol
 * assignments and tunnels, which may lead to an IPv4 address of any kind, and documentation). Anything that is no address
 * is not.
 */
export function isPublicIpv6(text: string): boolean {
  const [first = 0, second = 0] = ipv6Start(text) ?? [];
  if (first < 0x2000 || first > 0x3fff) return false;
  if (first === 0x2001) return second >= 0x200 && second !== 0xdb8;
  return first !== 0x2002 && !(first === 0x3fff && second < 0x1000);
}

/** The first two groups of an IPv6 address; `null` for what is none. */
function ipv6Start(text: string): readonly [number, number] | null {
  const host = URL.parse(`https://[${text}]/`)?.hostname;
  if (host === undefined) return null;
  // canonical now: the longest run of zeros is left out, no group has a leading one
  const [head = ""] = host.slice(1, -1).split("::");
  const [first = 0, second = 0] = head === "" ? [] : head.split(":").map((group) => parseInt(group, 16));
  return [first, second];
}

/** Reads `a.b.c.d/bits`. Only for the constants of this module and what is made from them. */
export function parseCidr(cidr: string): { readonly first: number; readonly bits: number } {
  const [address = "", bits = "32"] = cidr.split("/");
  return { first: parseIpv4(address) ?? 0, bits: Number(bits) };
}
