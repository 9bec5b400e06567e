/**
 * Makes a throw-away CA and a server certificate with nothing but WebCrypto: no program, no committed key.
 *
 * @module
 */

/** Key and certificates of a test server, as PEM text. */
export interface TestCertificates {
  readonly caPem: string;
  readonly certPem: string;
  readonly keyPem: string;
}

const DAY_MS = 86_400_000;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256" } as const;

// Object identifiers in their DER form
const ECDSA_SHA256 = [0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME = [0x06, 0x03, 0x55, 0x04, 0x03];
const BASIC_CONSTRAINTS = [0x06, 0x03, 0x55, 0x1d, 0x13];
const KEY_USAGE = [0x06, 0x03, 0x55, 0x1d, 0x0f];
const ALT_NAMES = [0x06, 0x03, 0x55, 0x1d, 0x11];
const TRUE = [0x01, 0x01, 0xff];

/** Makes a CA and a certificate that it signed for `hosts`; both hold for two days. */
export async function makeCertificates(hosts: readonly string[]): Promise<TestCertificates> {
  const ca = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const server = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const issuer = name("twokey test CA");
  const caDer = await certificate(
    { issuer, subject: issuer, key: ca.publicKey },
    [
      extension(BASIC_CONSTRAINTS, sequence(TRUE), true),
      extension(KEY_USAGE, [0x03, 0x02, 0x01, 0x06], true), // keyCertSign, cRLSign
    ],
    ca.privateKey,
  );
  const names = sequence(...hosts.map((host) => tlv(0x82, [...new TextEncoder().encode(host)])));
  const certDer = await certificate(
    { issuer, subject: name("twokey test server"), key: server.publicKey },
    [extension(BASIC_CONSTRAINTS, sequence(), true), extension(ALT_NAMES, names, false)],
    ca.privateKey,
  );
  const keyDer = new Uint8Array(await crypto.subtle.exportKey("pkcs8", server.privateKey));
  return {
    caPem: pem("CERTIFICATE", caDer),
    certPem: pem("CERTIFICATE", certDer),
    keyPem: pem("PRIVATE KEY", keyDer),
  };
}

/** RFC 5280 section 4.1. */
async function certificate(
  names: { readonly issuer: number[]; readonly subject: number[]; readonly key: CryptoKey },
  extensions: readonly number[][],
  signer: CryptoKey,
): Promise<Uint8Array> {
  const spki = [...new Uint8Array(await crypto.subtle.exportKey("spki", names.key))];
  const serial = [0x01, ...crypto.getRandomValues(new Uint8Array(15))];
  const now = Date.now();
  const body = sequence(
    tlv(0xa0, tlv(0x02, [2])),
    tlv(0x02, serial),
    sequence(ECDSA_SHA256),
    names.issuer,
    sequence(time(now - DAY_MS), time(now + DAY_MS)),
    names.subject,
    spki,
    tlv(0xa3, sequence(...extensions)),
  );
  const raw = await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, signer, new Uint8Array(body));
  const pair = [...new Uint8Array(raw)];
  const signature = sequence(unsigned(pair.slice(0, 32)), unsigned(pair.slice(32)));
  return new Uint8Array(sequence(body, sequence(ECDSA_SHA256), tlv(0x03, [0, ...signature])));
}

function extension(id: readonly number[], value: readonly number[], critical: boolean): number[] {
  return sequence(id, critical ? TRUE : [], tlv(0x04, value));
}

function name(text: string): number[] {
  return sequence(tlv(0x31, sequence(COMMON_NAME, tlv(0x0c, [...new TextEncoder().encode(text)]))));
}

function time(ms: number): number[] {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.[0-9]+/g, "").slice(2);
  return tlv(0x17, [...new TextEncoder().encode(text)]);
}

/** A DER integer: no leading zeros, and one where the first bit would make it negative. */
function unsigned(bytes: readonly number[]): number[] {
  const start = bytes.findIndex((byte) => byte !== 0);
  const short = start < 0 ? [0] : bytes.slice(start);
  return tlv(0x02, (short[0] ?? 0) >= 0x80 ? [0, ...short] : short);
}

function sequence(...parts: readonly (readonly number[])[]): number[] {
  return tlv(0x30, parts.flat());
}

function tlv(tag: number, value: readonly number[]): number[] {
  const { length } = value;
  if (length < 0x80) return [tag, length, ...value];
  if (length < 0x100) return [tag, 0x81, length, ...value];
  return [tag, 0x82, length >> 8, length & 0xff, ...value];
}

function pem(label: string, der: Uint8Array): string {
  const lines = btoa(String.fromCharCode(...der)).match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
