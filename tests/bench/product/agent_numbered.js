// The agent of the bench whose calls are all different: what was answered once in a run is not asked again.
const { tool, args, warmUp, calls } = context;
const template = JSON.stringify(args);
let n = 0;

async function callMany(count) {
  for (let done = 0; done < count; done++) await callTool(tool, JSON.parse(template.replaceAll("$n", String(n++))));
}

await callMany(warmUp);
emit({ kind: "start" });
await callMany(calls);
emit({ kind: "stop" });
