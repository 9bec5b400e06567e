/**
 * What a tool can be handed: at preparation a resolver that makes targets canonical, at invocation the powers to act on
 * them. A tool sees only the members that its declared authority asks for; it never names `Deno`.
 *
 * Long on purpose: types alone, and the one list of what a tool can be handed.
 *
 * @module
 */
import type { Json, JsonObject } from "../json.ts";
import type { Requirement } from "../authority/requirement.ts";

/** A target that was made canonical at preparation. Powers accept it only in the call whose gate allowed it. */
export interface Target {
  /** What the gate decides on. */
  readonly requirement: Requirement;
}

/** One file of the collected source. */
export interface SourceEntry {
  /** Path relative to its root, with `/` between segments. */
  readonly path: string;
  /** Label of the root: the path relative to the project, `.` for the project itself, else the folder's name. */
  readonly root: string;
  /** Size when it was collected. */
  readonly bytes: number;
  /** `text` | `symlink` | `ignored` | `excluded` | `special` | `not_included` | `large` | `binary` | `changed` | `limit`. */
  readonly kind: string;
  /** Whether a reading tool may hand out its text. */
  readonly readable: boolean;
  /** Reason slug: `admitted`, or why the file is not readable. */
  readonly reason: string;
  /** `sha256:<hex>` of the bytes when they were first read; `null` until then. */
  readonly source_hash: string | null;
}

/** A file of the collected source, resolved by the name that the agent used. */
export interface SourceTarget extends Target {
  /** What the collection says of the file; absent where no collected file has that name. */
  readonly entry?: SourceEntry;
}

/** The bytes of one source file as text. */
export interface SourceText {
  /** As in the entry. */
  readonly path: string;
  /** The whole file, decoded as UTF-8: untrusted text. */
  readonly content: string;
  /** Size of the file. */
  readonly bytes: number;
  /** 64 hexadecimal digits. */
  readonly sha256: string;
}

/** A place for a new file below the write root. */
export interface ArtifactTarget extends Target {
  /** Normalised path relative to the write root. */
  readonly path: string;
}

/** A file or folder of the workspace, as it is now. */
export interface WorkspaceTarget extends Target {
  /** As agents see it: relative to the project, or `<label>/…` below a root outside of it. */
  readonly path: string;
}

/** Which lines of a file are wanted. */
export interface LineRange {
  /** First line, from 1; absent: 1. */
  readonly start?: number | undefined;
  /** Last line; absent: as many as fit. */
  readonly end?: number | undefined;
}

/** Lines of a file, with what the whole file is. All text is untrusted. */
export interface LinesRead {
  /** As agents see it. */
  readonly path: string;
  /** Size of the whole file. */
  readonly bytes: number;
  /** 64 hexadecimal digits over the whole file, however much of it is here. */
  readonly sha256: string;
  /**
   * Told by a mark at the start, or by the bytes. `unknown`: no NUL is in it, but it is not UTF-8; what could not be read
   * shows as U+FFFD. `binary` gives no lines.
   */
  readonly encoding: "utf-8" | "utf-8-bom" | "utf-16le" | "utf-16be" | "unknown" | "binary";
  /** How lines end: `none` where there is no line end. */
  readonly eol: "lf" | "crlf" | "mixed" | "none";
  /** Whether the last line ends with a line end. */
  readonly finalNewline: boolean;
  /** Lines of the whole file; 0 for an empty file and for a binary one. */
  readonly totalLines: number;
  /** Number of the first line in `lines`. */
  readonly start: number;
  /** Without their line ends; a long one is cut, and says so. */
  readonly lines: readonly string[];
  /** Whether lines of the range are missing because they did not fit. */
  readonly cut: boolean;
  /** Lines that were cut in themselves. */
  readonly clipped: number;
}

/** Which files a look over the workspace takes in. */
export interface FileSet {
  /** Whether names that start with a dot are taken in. */
  readonly hidden: boolean;
  /** Whether what ignore files leave out is taken in. */
  readonly ignored: boolean;
  /** Whether folders below the targets are entered. */
  readonly recursive: boolean;
  /**
   * Which files are wanted, by their path below the target; where the look starts at no path of its own, by the path
   * that agents see. Linear in the path.
   */
  readonly wants: (path: string) => boolean;
  /** Whether a wanted file can lie below a folder, so that others need not be entered. */
  readonly mayHold?: (folder: string) => boolean;
}

/** Names that a look left out, by reason; never which names. */
export type SkipCounts = Readonly<Record<string, number>>;

/** Files of the workspace. Names are untrusted text. */
export interface FilesFound {
  /** As agents see them, in the order of their text. */
  readonly files: readonly string[];
  /** All that there are, those beyond the limit included. */
  readonly total: number;
  /** What was left out. */
  readonly skipped: SkipCounts;
  /** Whether the whole tree was looked at; otherwise `total` is what was seen. */
  readonly complete: boolean;
}

/** Where a pattern stands in a text: offsets in UTF-16 units. */
export interface Span {
  /** Of the first character. */
  readonly start: number;
  /** Behind the last character. */
  readonly end: number;
}

/** Finds a pattern in the text of a file. Never backtracks: linear in the text. */
export interface TextMatcher {
  /**
   * The matches in a text whose lines end with `\n`, in order; in a pattern of one line, at most one for each line.
   * `undefined` where this text would take too long. `isAscii` says that no character of it is above U+007F.
   */
  find(text: string, isAscii: boolean): Iterable<Span> | undefined;
}

/** How the files of a workspace are searched. */
export interface SearchQuery {
  /** Which files are searched. */
  readonly files: FileSet;
  /** What is looked for. */
  readonly matcher: TextMatcher;
  /** `lines`: matching lines with what stands around them. `counts`: how many there are in each file. `files`: names. */
  readonly mode: "lines" | "counts" | "files";
  /** Lines before and behind each match. */
  readonly context: number;
  /** Matching lines, or files with the other modes, that come back at most. */
  readonly limit: number;
}

/** One line of a file that was found. */
export interface FoundLine {
  /** From 1. */
  readonly line: number;
  /** Without its line end; a long one is cut, and says so. Untrusted. */
  readonly text: string;
  /** Whether the pattern is in it, as opposed to beside it. */
  readonly match: boolean;
}

/** A file in which a pattern was found. */
export interface FoundFile {
  /** As agents see it. */
  readonly path: string;
  /** Matching lines of the file. */
  readonly count: number;
  /** With the mode `lines`. */
  readonly lines: readonly FoundLine[];
}

/** What a search found. */
export interface SearchFound {
  /** In the order of their paths. */
  readonly files: readonly FoundFile[];
  /** Files that were searched. */
  readonly searched: number;
  /** Matching lines in the files that were searched to their end. */
  readonly matches: number;
  /** What was left out. */
  readonly skipped: SkipCounts;
  /** Whether every file was searched: `false` when the limit was passed or time ran short. */
  readonly complete: boolean;
}

/** A file that a call wants to change or create, at its place below a write root. */
export interface EditTarget extends Target {
  /** As agents see it: relative to the project, or `<label>/…` below a root outside of it. */
  readonly path: string;
}

/** How a file is changed. */
export interface ChangeOptions {
  /** For messages: what the tool does. */
  readonly verb: "write" | "edit";
  /** The same file for reading, where the tool shows what is in it. */
  readonly read?: Target;
  /** How much of the file the agent must have been shown: all of it, or any lines. */
  readonly known: "all" | "lines";
  /** SHA-256 of the file as the agent knows it; absent: what it was last shown. */
  readonly expectedSha256?: string | undefined;
  /** Whether there must be a file already. */
  readonly mustExist: boolean;
  /** Finds out what would happen, and changes nothing. */
  readonly dryRun: boolean;
}

/** A new content. */
export interface Made<T> {
  /** The whole file as it will be. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Says more about it; called while the disk is at work, and only for a content that can be written. */
  describe(): T;
}

/** What became of a file. */
export interface Changed<T> {
  /** As agents see it. */
  readonly path: string;
  /** Whether there was no file before. */
  readonly created: boolean;
  /** Whether the new content is another one; the same one is not written again. */
  readonly changed: boolean;
  /** Size of the new content. */
  readonly bytes: number;
  /** 64 hexadecimal digits over the new content. */
  readonly sha256: string;
  /** 64 hexadecimal digits over the old one; `null` where there was none. */
  readonly sha256Before: string | null;
  /** What the record of the change says of it. */
  readonly description: T;
}

/** One endpoint of a tool with its variable parts filled in. */
export interface EndpointTarget extends Target {
  /** Name of the endpoint, as the tool declares it. */
  readonly endpoint: string;
  /** As declared. */
  readonly method: "GET" | "POST";
  /** The final URL; its origin and the fixed part of its path were compared with the declaration after parsing. */
  readonly url: string;
}

/** How a tool talks to an endpoint. */
export interface SendOptions {
  /** Headers beside those that the host sets (user agent, content length). Never a credential. */
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON body of a POST. */
  readonly body?: JsonObject;
  /** Query parameters; their names are among those that the endpoint declares, their values are encoded once. */
  readonly query?: Readonly<Record<string, string>>;
}

/** A body that is not JSON. */
export interface ByteReply {
  /** HTTP status, 200 to 299. */
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body: untrusted. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** What came back. */
export interface Reply {
  /** HTTP status, 200 to 299. */
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed JSON body. */
  readonly json: Json;
}

/** A command that an agent wants to run, as its arguments name it. */
export interface CommandWish {
  /** Name of a command of the policy. */
  readonly command: string;
  /** Arguments as the agent gave them; the grammar of the command decides on each. */
  readonly args: readonly string[];
  /** Folder to start in; absent: the first one of the policy. */
  readonly cwd?: string;
  /** Values for variables that the policy configures. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A command made canonical. */
export interface CommandTarget extends Target {
  /** Name of the command in the policy. */
  readonly command: string;
  /** The arguments in the one form that the command's grammar gives them, without those that the host adds. */
  readonly args: readonly string[];
  /** The folder as agents see it. */
  readonly cwd: string;
  /** Names of the variables whose values the agent chose; sorted. */
  readonly envKeys: readonly string[];
  /** Why the arguments are refused, for the record. */
  readonly problem?: string;
}

/** How a program's output is taken. */
export interface SpawnOptions {
  /**
   * `full` keeps all of it and ends the program when there is more than fits; `summary` reads all and keeps head and
   * tail; `stream` is as `full` and records each piece while the program still runs.
   */
  readonly output: "full" | "summary" | "stream";
}

/** One stream of a program that has ended. All text is untrusted, and scrubbed of known secrets. */
export interface OutputText {
  /** The whole text; with `summary` the head. */
  readonly text: string;
  /** With `summary`, the end of a text that was longer than its head; else empty. */
  readonly tail: string;
  /** Bytes that the program wrote. */
  readonly bytes: number;
  /** UTF-8 bytes of what was kept. */
  readonly captured: number;
}

/** A program that has ended. */
export interface SpawnResult {
  /** `null` where a signal ended it. */
  readonly exitCode: number | null;
  /** Name of the signal. */
  readonly signal: string | null;
  /** What the program wrote to standard output, as far as it was kept: untrusted. */
  readonly stdout: OutputText;
  /** What the program wrote to standard error, as far as it was kept: untrusted. */
  readonly stderr: OutputText;
  /** Milliseconds from the start of the program to its end. */
  readonly durationMs: number;
  /** Whether something that the program had started held its output when it ended, and was ended then. */
  readonly descendantsLeft: boolean;
}

/** Makes commands canonical at preparation. */
export interface ResolveSpawn {
  /** Finds a command; a name, folder, variable or argument that is not admitted gives a target that the gate denies. */
  command(wish: CommandWish): Promise<CommandTarget>;
}

/** Starts programs. */
export interface SpawnPower {
  /**
   * Runs a program to its end; ends it and all it started at the deadline of the call.
   *
   * @throws {ToolError} If it cannot be started. @throws {BudgetError} `process_output_bytes`, if it writes more than
   * `full` or `stream` can keep.
   */
  spawn(target: CommandTarget, options: SpawnOptions): Promise<SpawnResult>;
}

/** A question to a model, as an agent's arguments put it. */
export interface ModelWish {
  /** Names the question; without `input` it is the question. */
  readonly id: string;
  /** Absent: the first model of the policy. */
  readonly model?: string;
  /** A text, a list of messages, or other JSON, which is sent as its text. */
  readonly input?: Json;
}

/** A question made canonical. */
export interface ModelTarget extends Target {
  /** Everything that the question needs: the model, and the provider's endpoint where one is asked. */
  readonly needs: readonly Target[];
  /** What the record of the call says of it. No prompt. */
  readonly note: JsonObject;
}

/** Makes questions canonical at preparation. */
export interface ResolveModel {
  /**
   * Takes a question; a model that is not admitted, or a question without a recorded answer, gives a target that the gate
   * denies. @throws {ToolInputError} If `input` looks like messages and is not such that every provider takes.
   */
  model(wish: ModelWish): ModelTarget;
}

/** Asks models. */
export interface ModelPower {
  /**
   * Asks once and reads the whole answer. Nothing is tried again, and no redirect is followed.
   *
   * @throws {ToolError} For every answer that is not whole. @throws {BudgetError} `model_calls` or `model_tokens`.
   */
  generate(target: ModelTarget): Promise<JsonObject>;
}

/** Makes file names canonical at preparation. */
export interface ResolveRead {
  /** Finds a collected file; an unknown name gives a target that the gate denies. */
  source(path: string, root?: string): SourceTarget | Promise<SourceTarget>;
  /**
   * The whole collection, as one target for each root; with `path`, only what is that file or lies below that folder,
   * and one target that the gate denies where nothing does.
   */
  sources(path?: string, root?: string): readonly Target[];
}

/** Makes the name of a new file canonical at preparation. */
export interface ResolveWrite {
  /** Places a new file below the write root; a name that leads out gives a target that the gate denies. */
  artifact(path: string): Promise<ArtifactTarget>;
}

/** Makes paths of the workspace canonical at preparation, by what stands there now. */
export interface ResolveBrowse {
  /** Finds a file to read; a path that leads out of the granted roots gives a target that the gate denies. */
  file(path: string): WorkspaceTarget;
  /**
   * Finds a file or folder to look below; without `path`, every granted root. A folder that only holds granted roots
   * stands for those.
   */
  trees(path?: string): readonly WorkspaceTarget[];
}

/** Makes the name of a file that is to be changed or created canonical at preparation. */
export interface ResolveEdit {
  /** Finds its place below a write root; a path that leads elsewhere, or through a link, gives a target that the gate denies. */
  fileToChange(path: string): EditTarget;
  /** The same file as one to read: the gate decides on it as on any other. */
  sameFileToRead(target: EditTarget): Target;
}

/** Fills the variable parts of a declared endpoint; each part is one path segment, encoded exactly once. */
export interface ResolveSend<E extends string = string> {
  /** Fills in the variable segments of a declared endpoint. @throws {ToolInputError} If a segment is missing or cannot be one segment of a path. */
  endpoint(name: E, segments?: Readonly<Record<string, string>>): EndpointTarget;
}

/** Reads collected files. */
export interface ReadPower {
  /** Says what was collected below the targets, without reading a file again. */
  list(targets: readonly Target[]): readonly SourceEntry[];
  /** Reads one collected file as text. @throws {DenialError} `content_changed`, `binary_refused` … when the file is no longer what was collected. */
  read(target: SourceTarget): Promise<SourceText>;
}

/** Looks at the workspace as it is now. */
export interface BrowsePower {
  /**
   * Reads lines of one file, whatever its size, and remembers its digest for later writes.
   *
   * @throws {ToolError} `file_not_found`, `not_a_file` or `file_unreadable`. @throws {DenialError} `content_changed`,
   * if another file took its place meanwhile.
   */
  readLines(target: WorkspaceTarget, range: LineRange): Promise<LinesRead>;
  /** Finds files by name; at most `limit` come back. @throws {ToolError} `not_found`, if a target is gone. */
  findFiles(targets: readonly WorkspaceTarget[], files: FileSet, limit: number): Promise<FilesFound>;
  /** Searches the text of files. @throws {ToolError} `not_found`, if a target is gone. */
  searchFiles(targets: readonly WorkspaceTarget[], query: SearchQuery): Promise<SearchFound>;
}

/** Writes new files. */
export interface WritePower {
  /** Creates the file, complete or not at all. @throws {DenialError} `artifact_overwrite_denied` if it exists. */
  write(target: ArtifactTarget, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
}

/** Changes and creates files. */
export interface EditPower {
  /**
   * Gives a file the content that `make` makes of the one it has (`undefined`: there is none), in full or not at all. The
   * file must be what the agent knows: what it was shown, or what `expectedSha256` says. Afterwards it knows the
   * new content. `limit` is how many bytes the new content may have.
   *
   * @throws {ToolError} `not_read`, `stale`, `file_not_found`, `not_a_file`, `not_replaceable`, `too_large`, `write_failed`,
   * `lock_unavailable`. @throws {DenialError} `symlink_refused`, `hard_link_refused` … if the place is no longer what it
   * was. @throws {BudgetError} `artifact_bytes`. What `make` throws passes through, and nothing is changed.
   */
  change<T>(
    target: EditTarget,
    options: ChangeOptions,
    make: (before: Uint8Array<ArrayBuffer> | undefined, limit: number) => Made<T>,
  ): Promise<Changed<T>>;
}

/** Talks to declared endpoints. */
export interface SendPower {
  /**
   * Sends one request: memory cache, persistent cache, fixture or pinned HTTPS, as the plan says; retries within the
   * call's deadline. @throws {ToolError} For every answer that is not a 2xx with a JSON body.
   */
  send(target: EndpointTarget, options?: SendOptions): Promise<Reply>;
  /** As `send`, for an answer that is bytes. @throws {ToolError} For every answer that is not a 2xx. */
  fetchBytes(target: EndpointTarget, options?: SendOptions): Promise<ByteReply>;
}

/** What every tool has while it runs. */
export interface BasePower {
  /** Aborted at the call's deadline and at the end of the run. */
  readonly signal: AbortSignal;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms`; rejects when the call ends first. */
  sleep(ms: number): Promise<void>;
  /** Digests with SHA-256: 64 lower-case hexadecimal digits. */
  sha256(bytes: Uint8Array<ArrayBuffer>): string | Promise<string>;
  /** Adds fields to the record of the outcome. Plain JSON, no secret, no host path. */
  note(fields: JsonObject): void;
}
