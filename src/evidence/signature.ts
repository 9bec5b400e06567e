/**
 * Ed25519 signatures of manifests. Keys are PEM texts: PKCS#8 to sign, SPKI to verify.
 *
 * Trust: a private key is held as a key that cannot be exported, and no message quotes a key.
 *
 * @module
 */
import { DataError } from "../errors.ts";
import { sha256 } from "../json.ts";
import type { Signature } from "./manifest.ts";

/** Longest PEM text that is read, in characters: an Ed25519 key has some hundred. */
const MAX_PEM = 4096;

/** Signs bytes with the private key of a PEM text. @throws {DataError} `evidence_key` if it is none. */
export async function signBytes(bytes: Uint8Array<ArrayBuffer>, pem: string): Promise<Signature> {
  const der = decodePem(pem, "PRIVATE KEY");
  let key: CryptoKey;
  let publicKey: CryptoKey;
  try {
    key = await crypto.subtle.importKey("pkcs8", der, "Ed25519", false, ["sign"]);
    // The public half is only to be had through an export of the private one.
    const { kty, crv, x } = await crypto.subtle.exportKey(
      "jwk",
      await crypto.subtle.importKey("pkcs8", der, "Ed25519", true, ["sign"]),
    );
    if (x === undefined || kty === undefined || crv === undefined) throw new TypeError("no public half");
    publicKey = await crypto.subtle.importKey("jwk", { kty, crv, x }, "Ed25519", true, ["verify"]);
  } catch (cause) {
    throw wrongKey("PRIVATE KEY", cause);
  }
  const value = new Uint8Array(await crypto.subtle.sign("Ed25519", key, bytes));
  return { algorithm: "Ed25519", key_id: await keyId(publicKey), value: value.toBase64() };
}

/**
 * Checks a signature with the public key of a PEM text.
 *
 * @returns `other_key` where it names another key, so that a wrong key is not taken for a forgery.
 * @throws {DataError} `evidence_key` if the text is no public key.
 */
export async function checkSignature(
  bytes: Uint8Array<ArrayBuffer>,
  signature: Signature,
  pem: string,
): Promise<"right" | "wrong" | "other_key"> {
  let key: CryptoKey;
  try {
    key = await crypto.subtle.importKey("spki", decodePem(pem, "PUBLIC KEY"), "Ed25519", true, ["verify"]);
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw wrongKey("PUBLIC KEY", cause);
  }
  if (await keyId(key) !== signature.key_id) return "other_key";
  const value = Uint8Array.fromBase64(signature.value);
  return await crypto.subtle.verify("Ed25519", key, value, bytes) ? "right" : "wrong";
}

async function keyId(publicKey: CryptoKey): Promise<string> {
  return await sha256(new Uint8Array(await crypto.subtle.exportKey("spki", publicKey)));
}

function decodePem(pem: string, label: "PRIVATE KEY" | "PUBLIC KEY"): Uint8Array<ArrayBuffer> {
  const body = new RegExp(`^\\s*-----BEGIN ${label}-----\\s+([A-Za-z0-9+/=\\s]+)-----END ${label}-----\\s*$`).exec(
    pem.slice(0, MAX_PEM),
  )?.[1];
  if (body === undefined) throw wrongKey(label);
  try {
    return Uint8Array.fromBase64(body.replaceAll(/\s/g, ""));
  } catch (cause) {
    throw wrongKey(label, cause);
  }
}

function wrongKey(label: string, cause?: unknown): DataError {
  const isPrivate = label === "PRIVATE KEY";
  return new DataError(
    "evidence_key",
    `Cannot ${isPrivate ? "sign" : "verify"} the bundle: the key is no Ed25519 key in PEM with the label "${label}"`,
    {
      fix: isPrivate
        ? "make one: openssl genpkey -algorithm ed25519 -out key.pem"
        : "make it from the private key: openssl pkey -in key.pem -pubout -out key.pub.pem",
      cause,
    },
  );
}
