/**
 * The addresses that key 1 refuses although a granted name may resolve to them.
 *
 * @module
 */
import { canonicalHost, parseCidr, parseIpv4, SPECIAL_IPV4 } from "../authority/host.ts";

/** The one IPv6 entry that Deno accepts: blocks of IPv6 addresses cannot be written as a flag. */
const IPV6_LOOPBACK = "[::1]";

/**
 * Lists the private and special IPv4 blocks and `[::1]`, in ascending order, without the addresses in `except`.
 *
 * @param except Hosts (`127.0.0.1`, `[::1]`, `localhost`), with or without a port. An address is cut out of its block by
 * splitting the block; the rest stays denied. A name other than `localhost` cuts nothing out.
 */
export function denyNet(except: readonly string[]): string[] {
  const addresses = new Set<number>();
  let ipv6Loopback = true;
  for (const entry of except) {
    const host = canonicalHost(entry.replace(/:\d+$/, ""))?.host;
    if (host === "localhost") addresses.add(0x7f000001);
    if (host === "localhost" || host === IPV6_LOOPBACK) ipv6Loopback = false;
    const address = host === undefined ? null : parseIpv4(host);
    if (address !== null) addresses.add(address);
  }
  const blocks: string[] = [];
  for (const { cidr } of SPECIAL_IPV4) {
    const { first, bits } = parseCidr(cidr);
    subtract(first, bits, addresses, blocks);
  }
  return ipv6Loopback ? [...blocks, IPV6_LOOPBACK] : blocks;
}

/** Adds the parts of one block that hold none of the addresses, halving until each part is clean. */
function subtract(first: number, bits: number, addresses: ReadonlySet<number>, blocks: string[]): void {
  const size = 2 ** (32 - bits);
  const hit = [...addresses].some((address) => address >= first && address < first + size);
  if (!hit) {
    blocks.push(`${printIpv4(first)}/${bits}`);
  } else if (bits < 32) {
    subtract(first, bits + 1, addresses, blocks);
    subtract(first + size / 2, bits + 1, addresses, blocks);
  }
}

function printIpv4(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
