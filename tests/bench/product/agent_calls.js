// The agent of the bench: calls a tool again and again. Its context says which, how often, and how many at once.
const { tool, args, warmUp, calls, atOnce } = context;

async function callMany(count) {
  for (let done = 0; done < count; done += atOnce) {
    if (atOnce === 1) await callTool(tool, args);
    else await Promise.all(Array.from({ length: atOnce }, () => callTool(tool, args)));
  }
}

await callMany(warmUp);
emit({ kind: "start" });
await callMany(calls);
emit({ kind: "stop" });
