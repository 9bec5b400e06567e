// @ts-check
/**
 * An agent's first module that sends the frames it is told to, byte for byte, and then reads until the host is gone.
 *
 * @module
 */

const encoder = new TextEncoder();
const buffer = new Uint8Array(1_048_576);
const decoder = new TextDecoder();

send(encoder.encode('{"op":"hello"}\n'));
let text = "";
while (!text.includes("\n")) {
  const count = Deno.stdin.readSync(buffer);
  if (count === null) Deno.exit(0);
  text += decoder.decode(buffer.subarray(0, count), { stream: true });
}
/** @type {{ frames: string[], hex: string[], repeat: number, read: boolean }} */
const { frames, hex, repeat, read } = JSON.parse(JSON.parse(text)[0].context);
const lines = encoder.encode(frames.map((frame) => `${frame}\n`).join(""));
const batch = new Uint8Array(lines.length * repeat);
for (let i = 0; i < repeat; i++) batch.set(lines, i * lines.length);
send(batch);
for (const bytes of hex) send(Uint8Array.fromHex(bytes));
while (read && Deno.stdin.readSync(buffer) !== null);
// A peer that neither reads nor ends: only the launcher can.
while (!read) await new Promise((resolve) => setTimeout(resolve, 1000));

/** @param {Uint8Array} bytes */
function send(bytes) {
  try {
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  } catch {
    Deno.exit(0);
  }
}
