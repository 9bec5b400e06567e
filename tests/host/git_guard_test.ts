import assert from "node:assert/strict";
import { executableKeys, hasWorktreeSettings } from "../../src/host/git_guard.ts";

const listing = (entries: Readonly<Record<string, string | null>>): string =>
  Object.entries(entries).map(([key, value]) => value === null ? `${key}\0` : `${key}\n${value}\0`).join("");

Deno.test("executableKeys() finds every setting that makes git start something or leave its folder", () => {
  for (
    const [key, value] of Object.entries({
      "core.fsmonitor": "/tmp/x",
      "core.pager": "x",
      "core.sshcommand": "x",
      "core.worktree": "/",
      "core.hookspath": "x",
      "core.askpass": "x",
      "diff.external": "x",
      "diff.word.command": "x",
      "diff.a.b.textconv": "x",
      "filter.lfs.clean": "x",
      "filter.x.process": "x",
      "gpg.program": "x",
      "gpg.ssh.program": "x",
      "gpg.ssh.defaultkeycommand": "x",
      "credential.helper": "x",
      "credential.https://a.b.helper": "!x",
      "merge.x.driver": "x",
      "remote.origin.promisor": "true",
      "remote.origin.uploadpack": "x",
      "extensions.partialclone": "origin",
      "pager.log": "x",
      "alias.x": "!id",
      "submodule.s.update": "!id",
      "trailer.sign.command": "x",
      "Core.FSMonitor": "/tmp/x",
    })
  ) assert.deepEqual(executableKeys(listing({ [key]: value })), [key], key);
  assert.deepEqual(executableKeys(listing({ "core.fsmonitor": null })), ["core.fsmonitor"]);
  assert.deepEqual(
    executableKeys(listing({
      "core.bare": "false",
      "core.fsmonitor": "false",
      "core.filemode": null,
      "remote.origin.url": "https://x",
      "branch.main.remote": "origin",
      "pager.log": "true",
      "alias.st": "status",
      "submodule.s.update": "checkout",
      "user.name": "core.pager\nx",
    })),
    [],
  );
});

Deno.test("hasWorktreeSettings() knows when a work tree has settings of its own", () => {
  assert.ok(hasWorktreeSettings(listing({ "extensions.worktreeconfig": "true" })));
  assert.ok(!hasWorktreeSettings(listing({ "extensions.worktreeconfig": "false" })));
});
