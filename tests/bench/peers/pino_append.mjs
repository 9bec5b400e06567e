// pino with its synchronous destination. node pino_append.mjs <node_modules> <file> <warm-up> <lines>
import process from "node:process";

const [modules, file, warmUp, lines] = process.argv.slice(2);
const { pino } = (await import(`${modules}/pino/pino.js`)).default;
const log = pino({ base: { run_id: "20260101-000000-abcdef" } }, pino.destination({ dest: file, sync: true }));

function write(count) {
  for (let i = 0; i < count; i++) {
    log.info({
      type: "tool_result",
      call_id: `c${i}`,
      tool: "readFile",
      result: { sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", bytes: 1024 },
      result_bytes: 1060,
      duration_ms: 1,
    });
  }
}

write(Number(warmUp));
const start = performance.now();
write(Number(lines));
process.stdout.write(`${JSON.stringify({ us: (performance.now() - start) * 1000 / Number(lines) })}\n`);
