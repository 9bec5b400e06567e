import assert from "node:assert/strict";
import { answerLine, Outbox } from "../../src/host/outbox.ts";

Deno.test("answerLine() prints a result and a refusal", () => {
  assert.equal(answerLine({ id: 7, failed: false, text: "[1]" }, 12), '{"id":7,"t":12}\t[1]');
  assert.equal(answerLine({ id: 7, failed: true, text: "{}" }, 12), '{"id":7,"t":12,"e":true}\t{}');
});

Deno.test("Outbox sends in the order of places, whatever is ready first", () => {
  const sent: string[] = [];
  const outbox = new Outbox((line) => void sent.push(line));
  assert.equal(outbox.empty, true);
  outbox.place(2, 20);
  outbox.place(1, 21);
  outbox.place(3, 22);
  outbox.ready({ id: 1, failed: false, text: '"one"' });
  outbox.ready({ id: 3, failed: false, text: '"three"' });
  assert.deepEqual(sent, []);
  outbox.ready({ id: 2, failed: true, text: '"two"' });
  assert.deepEqual(sent, ['{"id":2,"t":20,"e":true}\t"two"', '{"id":1,"t":21}\t"one"', '{"id":3,"t":22}\t"three"']);
  assert.equal(outbox.empty, true);
});
