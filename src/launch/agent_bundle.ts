/**
 * What bundling an agent gives.
 *
 * @module
 */

/** An agent as one module. */
export interface AgentBundle {
  /**
   * One ES module without imports, ready for every isolation (`sesSafe` has been applied), with an inline source map:
   * stacks name `agent:///<path in the project>:<line>:<column>`, with `${npm}/…` for a path in a package. It holds no path of this machine.
   */
  readonly code: string;
  /**
   * Everything that was read, by real absolute path, with the SHA-256 of its bytes; sorted by path. `packaged` is set for
   * a file of a package: the name that it goes by on any machine.
   */
  readonly modules: readonly { readonly path: string; readonly sha256: string; readonly packaged?: string }[];
  /** SHA-256 of `code`. */
  readonly digest: string;
}
