import assert from "node:assert/strict";
import { isLoaderVariable, isSecretVariable, isSystemLoaderVariable } from "../../src/authority/variables.ts";

Deno.test("isLoaderVariable() knows what makes programs load or start something", () => {
  for (
    const name
      of ("LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV ENV PYTHONSTARTUP PYTHONPATH " +
        "PERL5OPT GIT_SSH_COMMAND GIT_EXTERNAL_DIFF RUBYOPT JAVA_TOOL_OPTIONS RIPGREP_CONFIG_PATH PAGER EDITOR DENO_DIR " +
        "LESSOPEN BASH_FUNC_x GCONV_PATH MAKEFLAGS").split(" ")
  ) assert.ok(isLoaderVariable(name), name);
  for (const name of ["PATH", "HOME", "LANG", "TZ", "FOO", "CI"]) assert.ok(!isLoaderVariable(name), name);
  assert.ok(isSystemLoaderVariable("LD_AUDIT") && isSystemLoaderVariable("DYLD_X") && !isSystemLoaderVariable("OLD_X"));
});

Deno.test("isSecretVariable() knows names that secrets go by", () => {
  for (
    const name
      of ("TOKEN GITHUB_TOKEN NPM_TOKEN MY_SECRET SECRET_VALUE API_KEY APIKEY PASSWORD DB_PASSWORD PGPASSWORD " +
        "token aws_secret_access_key GH_PAT CREDENTIALS SESSION_COOKIE KEY PRIVATE_KEY_1 AUTH").split(" ")
  ) assert.ok(isSecretVariable(name), name);
  for (const name of ["PATH", "PWD", "OLDPWD", "HOME", "KEYBOARD", "LANG", "MONKEY", "TOKENIZER_NAME"]) {
    assert.ok(!isSecretVariable(name), name);
  }
});
