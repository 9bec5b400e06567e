/** Whether a test that needs git must be skipped; says so once. */
export function withoutGit(path: string): boolean {
  try {
    return !Deno.statSync(path).isFile;
  } catch {
    // deno-lint-ignore no-console
    console.log("skip: git is missing");
    return true;
  }
}
