/**
 * `twokey bundle-verify`: whether an evidence bundle is as it was made.
 *
 * @module
 */
import { buildCommand } from "@stricli/core";
import { EXIT, type ExitCode } from "../errors.ts";
import { type BundleVerdict, verifyBundle } from "../evidence/verify_bundle.ts";
import { escapeText } from "../report/escape.ts";
import type { Style } from "../report/style.ts";
import { readKey } from "./bundle.ts";
import { command, type Context, JSON_FLAG } from "./command.ts";
import { out, outJson, styleFor } from "./io.ts";

/** Findings that are printed for people. */
const MAX_SHOWN = 100;

interface Flags {
  readonly json: boolean;
  readonly key?: string;
}

async function verify({ json, key }: Flags, folder: string): Promise<ExitCode> {
  const verdict = await verifyBundle(folder, key === undefined ? {} : { key: await readKey(key) });
  if (json) outJson({ type: "agent_bundle_verify", bundle: folder, ...verdict });
  else out(`${lines(verdict, styleFor(Deno.stdout)).join("\n")}\n`);
  return verdict.verdict === "broken" ? EXIT.data : EXIT.ok;
}

function lines(
  { verdict, run_id, digest, files, key_id, original_head, head_is_proven, findings }: BundleVerdict,
  style: Style,
) {
  const word = verdict === "authentic" ? style.good(verdict) : verdict === "broken" ? style.bad(verdict) : verdict;
  const means = {
    authentic: "whole, and signed with the key that was given",
    consistent: key_id === null
      ? "whole in itself; it is not signed, so nobody can tell whether it was made anew"
      : "whole in itself; its signature was not checked: name the public key with --key",
    broken: `${findings.length} ${findings.length === 1 ? "thing differs" : "things differ"}`,
  }[verdict];
  return [
    `${word}  ${means}`,
    ...findings.slice(0, MAX_SHOWN).map(({ kind, path, detail }) =>
      `${style.bad(kind.padEnd(9))} ${escapeText(path, { max: 200 })}: ${escapeText(detail)}`
    ),
    ...(findings.length > MAX_SHOWN ? [`and ${findings.length - MAX_SHOWN} more`] : []),
    `run       ${escapeText(run_id)}`,
    `files     ${files} as the manifest says`,
    `digest    ${digest}`,
    `key       ${key_id ?? "unsigned"}`,
    head_is_proven
      ? `head      ${original_head}   compare it with the one that the run printed`
      : `head      ${original_head}   of the run's own log, as whoever made the bundle says: nothing here shows it`,
  ];
}

/** The command. */
export const bundleVerifyCommand = buildCommand<Flags, [string], Context>({
  docs: {
    brief: "Check a bundle of evidence",
    fullDescription: [
      "Checks a bundle: that every file is there, listed and unchanged, that nothing else is, that the manifest was not",
      "edited, that the log is a whole chain and of the run that the manifest names, and with --key who signed it:",
      "  authentic   whole, and signed with the key that was given",
      "  consistent  whole in itself; without --key nobody can tell whether it was made anew",
      "  broken      something differs, and is named; or a key was given and it is not signed with it: exit 65",
      "Never writes, and follows no link. A folder without a manifest that can be read is exit 66.",
      "",
      "EXAMPLE",
      "  twokey bundle-verify evidence --key key.pub.pem",
    ].join("\n"),
  },
  parameters: {
    flags: {
      ...JSON_FLAG,
      key: {
        kind: "parsed",
        parse: String,
        brief: "Public key, Ed25519 as SPKI in PEM",
        placeholder: "pem",
        optional: true,
      },
    },
    positional: {
      kind: "tuple",
      parameters: [{ parse: String, brief: "Folder of the bundle", placeholder: "folder" }],
    },
  },
  func: command(verify),
});
