/**
 * Names of environment variables that programs obey: those that make them load or start something, and those of secrets.
 *
 * @module
 */

/** Prefixes of variables with which a program loads code, or reads settings that name programs. */
const LOADER_PREFIXES = [
  "LD_",
  "DYLD_",
  "PYTHON",
  "GIT_",
  "PERL5",
  "RUBY",
  "BUNDLE_",
  "JAVA_",
  "_JAVA_",
  "JDK_JAVA_",
  "NPM_CONFIG_",
  "npm_config_",
  "BASH_FUNC_",
  "DENO_",
  "TWOKEY_",
  "LUA_",
  "MALLOC_",
  "GLIBC_",
];

/** Variables with which a program loads code, starts another one, or reads its settings from elsewhere. */
const LOADERS: ReadonlySet<string> = new Set([
  ..."NODE_OPTIONS NODE_PATH NODE_EXTRA_CA_CERTS BASH_ENV ENV SHELLOPTS BASHOPTS PS4 PROMPT_COMMAND IFS CDPATH".split(
    " ",
  ),
  ..."PERLLIB PERL_UNICODE PERL_MB_OPT PERL_MM_OPT CLASSPATH GCONV_PATH LOCPATH NLSPATH HOSTALIASES".split(" "),
  ..."PAGER LESSOPEN LESSCLOSE LESS MANPAGER EDITOR VISUAL BROWSER SHELL ZDOTDIR RIPGREP_CONFIG_PATH SSH_ASKPASS".split(
    " ",
  ),
  ..."SUDO_ASKPASS PHPRC PHP_INI_SCAN_DIR R_PROFILE R_ENVIRON JULIA_LOAD_PATH GEM_PATH GEM_HOME GOFLAGS".split(" "),
  ..."RUSTC_WRAPPER RUSTFLAGS CARGO_HOME MAKEFLAGS MAKEFILES CC CXX TCLLIBPATH INPUTRC TERMINFO TERMCAP".split(" "),
  ..."OPENSSL_CONF OPENSSL_MODULES OPENSSL_ENGINES VIMINIT EXINIT XDG_CONFIG_HOME XDG_CONFIG_DIRS".split(" "),
]);

/** Whether a program loads code, or starts another program, because of a variable of this name. */
export function isLoaderVariable(name: string): boolean {
  return LOADERS.has(name) || LOADER_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Whether the system's own loader obeys a variable: no policy can accept one, since Deno never hands it on. */
export function isSystemLoaderVariable(name: string): boolean {
  return name.startsWith("LD_") || name.startsWith("DYLD_");
}

const SECRET_WORDS =
  /(?:^|_)(?:TOKEN|SECRET|SECRETS|KEY|KEYS|APIKEY|PASSWORD|PASSWD|PASS|PASSPHRASE|PWD|PAT|CREDENTIAL|CREDENTIALS|CREDS|AUTH|COOKIE|SESSION|PRIVATE|SIGNATURE|DSN)(?:_|\d*$)/;

/** Whether the name of a variable is one that secrets go by. `PWD` alone is the working folder. */
export function isSecretVariable(name: string): boolean {
  const upper = name.toUpperCase();
  if (upper === "PWD" || upper === "OLDPWD") return false;
  return SECRET_WORDS.test(upper) || /(?:TOKEN|SECRET|PASSWORD|APIKEY|CREDENTIALS?)$/.test(upper);
}
