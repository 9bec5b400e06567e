import assert from "node:assert/strict";
import { codeRunnerFamily } from "../../src/authority/programs.ts";

Deno.test("codeRunnerFamily() knows programs that run what they are told to, by any spelling", () => {
  for (
    const [path, family] of [
      ["/bin/sh", "shell"],
      ["/usr/bin/bash5.2", "shell"],
      ["/usr/bin/dash", "shell"],
      ["/usr/bin/busybox", "shell"],
      ["/opt/deno", "runtime"],
      ["/usr/bin/node22", "runtime"],
      ["/usr/bin/nodejs", "runtime"],
      ["/usr/bin/Python3.12", "interpreter"],
      ["/usr/bin/python2", "interpreter"],
      ["/usr/bin/python3.11-dbg", "interpreter"],
      ["/usr/bin/gawk", "interpreter"],
      ["/usr/bin/sed", "interpreter"],
      ["/usr/bin/perl5.36.0", "interpreter"],
      ["/usr/bin/env", "wrapper"],
      ["/usr/bin/xargs", "wrapper"],
      ["/usr/bin/find", "wrapper"],
      ["/lib64/ld-linux-x86-64.so.2", "wrapper"],
      ["/usr/bin/docker", "wrapper"],
      ["/usr/bin/make", "builder"],
      ["C/cmd/node.EXE", "runtime"],
    ] as const
  ) assert.equal(codeRunnerFamily(path), family, path);
  for (
    const path of ["/usr/bin/git", "/usr/bin/rg", "/usr/bin/cat", "/usr/bin/printenv", "/usr/bin/true", "/x/shine"]
  ) {
    assert.equal(codeRunnerFamily(path), undefined, path);
  }
});
