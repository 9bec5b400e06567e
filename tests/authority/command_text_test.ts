import fc from "fast-check";
import assert from "node:assert/strict";
import { parseCommand, printCommand } from "../../src/authority/command_text.ts";

Deno.test("printCommand() prints plain words bare and quotes the rest", () => {
  assert.equal(
    printCommand("git", ["log", "-5", "a b", "", 'x"y', "é", "\n", "\u202e"]),
    [
      "git",
      "log",
      "-5",
      '"a b"',
      '""',
      '"x\\"y"',
      '"é"',
      '"\\n"',
      '"\\u202e"',
    ].join(" "),
  );
});

Deno.test("parseCommand() reads back what printCommand() printed, and nothing else", () => {
  fc.assert(fc.property(fc.array(fc.string({ unit: "binary" }), { minLength: 1 }), ([name = "", ...args]) => {
    const text = printCommand(name, args);
    assert.ok(!/\p{Cc}/u.test(text) && text === text.trim() && text.isWellFormed());
    assert.deepEqual(parseCommand(text), { name, args });
  }));
  for (const text of ["", " ", "a  b", "a ", ' "a', '"a"', '"a"b', 'a "b', '"\\x"', "a\nb"]) {
    assert.equal(parseCommand(text), null, text);
  }
});
