/**
 * Wrappers: tiny programs that the launcher writes, each of which starts one fixed program with fixed first arguments and
 * passes its own arguments on. Key 1 then names the wrapper, and nothing that the host says can change what it starts.
 *
 * On x86_64 a wrapper is a static ELF file of some hundred bytes: no shell, no loader, no variable has a say in it. It
 * asks to die with its parent, begins a session of its own, closes every file but the three standard ones, and becomes the program. Elsewhere it is a
 * shell script, for shells that no variable can make run something else.
 *
 * @module
 */
import { BugError } from "../errors.ts";

/** What a wrapper starts. */
export interface WrapperSpec {
  /** Absolute path of the program. */
  readonly path: string;
  /** First arguments; `argv[0]` is the last part of the path. */
  readonly fixed: readonly string[];
  /** The whole environment, or `pass`: what the wrapper itself was given. */
  readonly env: Readonly<Record<string, string>> | "pass";
}

/** Where the file is loaded. */
const BASE = 0x400000;
/** Bytes of the ELF header and of its one program header. */
const HEADER = 120;
/** Exit code of a wrapper whose program cannot be started. */
const FAILED = 126;

const SYS_PRCTL = 157;
const SYS_CLOSE_RANGE = 436;
const SYS_SETSID = 112;
const SYS_EXECVE = 59;
const SYS_EXIT_GROUP = 231;
const PR_SET_PDEATHSIG = 1;
const SIGKILL = 9;

/** Makes the bytes of an ELF wrapper for x86_64 Linux. @throws {BugError} If a word holds a NUL. */
export function elfWrapper({ path, fixed, env }: WrapperSpec): Uint8Array<ArrayBuffer> {
  const argv0 = path.slice(path.lastIndexOf("/") + 1);
  const words = [argv0, ...fixed];
  const variables = env === "pass" ? [] : Object.entries(env).map(([name, value]) => `${name}=${value}`);
  // Code has the same length for every address, so a first pass with zeros tells where the texts lie.
  const start = align(HEADER + code({ path: 0, words: words.map(() => 0), env: env === "pass" ? null : 0 }).length);
  const texts = new Texts(start);
  const addresses = {
    path: texts.add(path),
    words: words.map((word) => texts.add(word)),
    variables: variables.map((word) => texts.add(word)),
  };
  const table = align(texts.end);
  const size = table + 8 * (variables.length + 1);
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  writeHeader(view, size);
  bytes.set(
    code({ path: addresses.path, words: addresses.words, env: env === "pass" ? null : BASE + table }),
    HEADER,
  );
  texts.write(bytes);
  for (const [index, address] of addresses.variables.entries()) {
    view.setBigUint64(table + 8 * index, BigInt(address), true);
  }
  return bytes;
}

/** Makes a wrapper as a script for `shell`: `/bin/dash`, or `/bin/bash -p`. It adds to the environment that it is given. */
export function scriptWrapper(shell: string, { path, fixed, env }: WrapperSpec): string {
  const variables = env === "pass" ? [] : Object.entries(env);
  const exports = variables.map(([name, value]) => `export ${quote(`${name}=${value}`)}\n`).join("");
  return `#!${shell}\n${exports}exec ${[path, ...fixed].map(quote).join(" ")} "$@"\n`;
}

function quote(word: string): string {
  assertWord(word);
  return `'${word.replaceAll("'", "'\\''")}'`;
}

function assertWord(word: string): void {
  if (word.includes("\0")) throw new BugError("bug_wrapper", "Cannot write a wrapper: a word holds a NUL");
}

/** Texts behind the code, each with a NUL at its end. */
class Texts {
  readonly #placed: { readonly at: number; readonly bytes: Uint8Array }[] = [];
  end: number;

  constructor(start: number) {
    this.end = start;
  }

  /** Places a text; returns its address in memory. */
  add(text: string): number {
    assertWord(text);
    const bytes = new TextEncoder().encode(`${text}\0`);
    const at = this.end;
    this.#placed.push({ at, bytes });
    this.end += bytes.length;
    return BASE + at;
  }

  write(target: Uint8Array): void {
    for (const { at, bytes } of this.#placed) target.set(bytes, at);
  }
}

function align(offset: number): number {
  return (offset + 7) & ~7;
}

/** One segment, loaded as it is, readable and executable. */
function writeHeader(view: DataView, size: number): void {
  const u64 = (at: number, value: number) => view.setBigUint64(at, BigInt(value), true);
  for (const [index, byte] of [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1].entries()) view.setUint8(index, byte);
  view.setUint16(16, 2, true); // an executable
  view.setUint16(18, 62, true); // x86_64
  view.setUint32(20, 1, true);
  u64(24, BASE + HEADER); // entry
  u64(32, 64); // program headers
  view.setUint16(52, 64, true);
  view.setUint16(54, 56, true);
  view.setUint16(56, 1, true);
  view.setUint32(64, 1, true); // load
  view.setUint32(68, 5, true); // read and execute
  u64(80, BASE);
  u64(88, BASE);
  u64(96, size);
  u64(104, size);
  u64(112, 0x1000);
}

interface Addresses {
  readonly path: number;
  readonly words: readonly number[];
  /** Address of the table of variables; `null` passes the wrapper's own on. */
  readonly env: number | null;
}

function code({ path, words, env }: Addresses): Uint8Array {
  const bytes: number[] = [];
  const put = (...more: number[]) => bytes.push(...more);
  const imm = (value: number) => put(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff);
  const eax = (value: number) => (put(0xb8), imm(value));
  const edi = (value: number) => (put(0xbf), imm(value));
  const esi = (value: number) => (put(0xbe), imm(value));
  const edx = (value: number) => (put(0xba), imm(value));
  const syscall = () => put(0x0f, 0x05);

  put(0x48, 0x8b, 0x14, 0x24); // mov rdx, [rsp]: the number of arguments
  put(0x4c, 0x8d, 0x64, 0xd4, 0x10); // lea r12, [rsp + 8 rdx + 16]: the variables
  eax(SYS_PRCTL), edi(PR_SET_PDEATHSIG), esi(SIGKILL), syscall();
  eax(SYS_SETSID), syscall();
  eax(SYS_CLOSE_RANGE), edi(3), esi(0xffffffff), edx(0), syscall();
  put(0x48, 0x8d, 0x64, 0x24, 0x10); // lea rsp, [rsp + 16]: behind argv[0]
  for (const word of words.toReversed()) put(0x68), imm(word); // push
  edi(path);
  put(0x48, 0x89, 0xe6); // mov rsi, rsp
  if (env === null) put(0x4c, 0x89, 0xe2); // mov rdx, r12
  else edx(env);
  eax(SYS_EXECVE), syscall();
  edi(FAILED), eax(SYS_EXIT_GROUP), syscall();
  return new Uint8Array(bytes);
}
