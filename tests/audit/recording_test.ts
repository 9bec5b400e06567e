import assert from "node:assert/strict";
import { GENESIS } from "../../src/audit/record.ts";
import { RecordingChain } from "../../src/audit/recording.ts";
import { sha256Now } from "../../src/audit/sha256.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("RecordingChain hashes each line with the head before it", () => {
  const chain = new RecordingChain(sha256Now);
  assert.deepEqual([chain.head, chain.entries, chain.bytes], [GENESIS, 0, 0]);
  chain.add(bytes("é"));
  const first = sha256Now(`${GENESIS}é`);
  assert.deepEqual([chain.head, chain.entries, chain.bytes], [first, 1, 3]);
  chain.add(bytes(""));
  assert.deepEqual([chain.head, chain.entries, chain.bytes], [sha256Now(first), 2, 4]);
});

Deno.test("RecordingChain tells any other order, cut or content apart", () => {
  const headOf = (...lines: string[]) => {
    const chain = new RecordingChain(sha256Now);
    for (const line of lines) chain.add(bytes(line));
    return chain.head;
  };
  const heads = [headOf("a", "b"), headOf("b", "a"), headOf("ab"), headOf("a"), headOf("a", "b", "")];
  assert.equal(new Set(heads).size, heads.length);
});
