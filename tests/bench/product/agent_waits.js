// Makes one call, then stays so that the memory of the whole tree can be read.
await callTool("readFile", { path: "file_1k.txt" });
emit({ kind: "start" });
await new Promise((resolve) => setTimeout(resolve, 10_000));
