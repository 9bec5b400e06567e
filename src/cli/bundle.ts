/**
 * `twokey bundle`: evidence of one run, to be handed on.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { EXIT, type ExitCode, InputError } from "../errors.ts";
import { makeBundle } from "../evidence/make_bundle.ts";
import type { Manifest } from "../evidence/manifest.ts";
import { escapeText } from "../report/escape.ts";
import type { Style } from "../report/style.ts";
import { bundleSource, type RunChoice } from "./bundle_source.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";

/** Longest key file that is read, in bytes. */
const MAX_KEY_BYTES = 16_384;

interface Flags extends RunChoice {
  readonly json: boolean;
  readonly out: string;
  readonly signKey?: string;
}

async function bundle({ json, out: folder, signKey, ...choice }: Flags, word: string): Promise<ExitCode> {
  const [source, key] = await Promise.all([
    bundleSource(word, choice),
    signKey === undefined ? undefined : readKey(signKey),
  ]);
  const manifest = await makeBundle({
    ...source,
    out: folder,
    nowMs: Date.now(),
    ...(key === undefined ? {} : { signKey: key }),
  });
  if (json) outJson({ type: "agent_bundle", bundle: folder, ...summaryOf(manifest) });
  else out(`${lines(manifest, folder, styleFor(Deno.stdout)).join("\n")}\n`);
  return EXIT.ok;
}

/** Reads a key in PEM. @throws {InputError} If there is no regular file, or it is larger than any key. */
export async function readKey(path: string): Promise<string> {
  try {
    const { isFile, size } = await Deno.stat(path);
    if (!isFile || size > MAX_KEY_BYTES) throw new Deno.errors.NotFound();
    return await Deno.readTextFile(path);
  } catch (cause) {
    const message = `Cannot read the key "${escapeText(path)}": it is missing, or no file of a key`;
    throw new InputError("evidence_key_unreadable", message, { cause });
  }
}

function summaryOf({ run, audit, digest, signature, entries, redacted, left_out }: Manifest): Record<string, unknown> {
  return { run, audit, digest, signature, entries, redacted, left_out };
}

function lines({ run, audit, digest, signature, entries, redacted, left_out }: Manifest, folder: string, style: Style) {
  const bytes = entries.reduce((sum, entry) => sum + entry.bytes, 0);
  return [
    `${style.good("wrote")}     ${escapeText(folder)} (${
      entries.length + 1
    } files, ${bytes} bytes beside the manifest)`,
    `run       ${escapeText(run.run_id)}: ${run.status}${run.reason === null ? "" : ` (${escapeText(run.reason)})`}`,
    `log       ${audit.records} records, ${audit.redacted_records} of them redacted; ${audit.verdict}`,
    `head      ${audit.original.head}`,
    `digest    ${digest}`,
    `signature ${signature === "unsigned" ? style.warn("unsigned") : `Ed25519, key ${signature.key_id}`}`,
    ...redacted.map((path) => `${style.warn("redacted")}  ${path}: it held what looked like a secret`),
    ...left_out.map(({ what, why }) => `${style.warn("left out")}  ${what}: ${escapeText(why)}`),
  ];
}

/** The command. */
export const bundleCommand = buildCommand<Flags, [string], Context>({
  docs: {
    brief: "Bundle the evidence of a run",
    fullDescription: [
      "Writes a folder that shows a run to somebody else: its log, redacted once more and still a chain that verifies;",
      "policy, plan and lock where they are still those of the run; the sources by path and SHA-256, without their texts;",
      "flags, budgets and what the host attested; what the run wrote; its replay; and a manifest with the SHA-256 of each",
      "file, signed with Ed25519 where a key is given. Anything left out is named, with the reason.",
      "",
      "The run is named as in the other commands, or by its policy: then it is the newest, unless --run-id or --failed",
      "says which. The folder must be new or empty: exit 73. It is written whole or not at all.",
      "",
      "EXAMPLES",
      "  twokey bundle agent.policy.jsonc --out evidence",
      "  twokey bundle agent.policy.jsonc --failed --out evidence --sign-key key.pem",
      "  twokey bundle <run> --out evidence",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      out: { kind: "parsed", parse: nonEmpty, brief: "Folder to write; new or empty", placeholder: "folder" },
      runId: {
        kind: "parsed",
        parse: nonEmpty,
        brief: "Which run of the policy",
        placeholder: "id",
        optional: true,
      },
      failed: {
        kind: "boolean",
        brief: "The policy's newest run that failed",
        default: false,
        withNegated: false,
      },
      signKey: {
        kind: "parsed",
        parse: nonEmpty,
        brief: "Private key, Ed25519 as PKCS#8 in PEM",
        placeholder: "pem",
        optional: true,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{ parse: String, brief: "Policy; or log, folder or id of a run", placeholder: "run or policy" }],
    },
  },
  func: command(bundle),
});

function nonEmpty(text: string): string {
  if (text === "") throw new TypeError("a value is needed");
  return text;
}
