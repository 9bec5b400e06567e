// The first call of a run, and its last.
await callTool("readFile", { path: "file_1k.txt" });
