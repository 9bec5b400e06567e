/**
 * The gate's part for the network: a request must be one that its tool declares.
 *
 * @module
 */
import { admitsRepository, isRepositoryPart } from "../authority/repository.ts";
import type { Plan, PlannedTool } from "../plan/plan.ts";
import { withRegistry } from "../tools/supply_chain/npm_registry.ts";
import type { Verdict } from "./verdict.ts";

/** Decides on a canonical target, `METHOD https://host[:port]/path`. */
export type EndpointGate = (tool: PlannedTool, target: string) => Verdict;

/** A declared endpoint, taken apart. `null` stands for one segment that the call fills in. */
interface Pattern {
  readonly method: string;
  readonly origin: string;
  readonly segments: readonly (string | null)[];
  /** Whether further segments may follow, each filled in. */
  readonly isOpen: boolean;
}

/** What every endpoint of the service `github` begins with; the two segments behind it name the repository. */
const REPOSITORIES = "repos";

const DENIED: Verdict = Object.freeze({ code: "endpoint_not_granted", rule: null });

/** Compiles the endpoints of every granted tool. */
export function makeEndpointGate(plan: Plan): EndpointGate {
  const patterns = new Map<PlannedTool, Pattern[]>();
  for (const tool of Object.values(plan.tools)) {
    patterns.set(tool, Object.values(tool.endpoints).map(({ method, url }) => takeApart(method, withRegistry(url))));
  }
  return (tool, target) => {
    const space = target.indexOf(" ");
    const method = target.slice(0, space);
    const url = URL.parse(target.slice(space + 1));
    // only the one canonical spelling, so that what is compared is what is sent
    if (url === null || url.href !== target.slice(space + 1)) return DENIED;
    if (url.protocol !== "https:" || url.username !== "" || url.password !== "") return DENIED;
    if (url.search !== "" || url.hash !== "" || url.href.includes("?") || url.href.includes("#")) return DENIED;
    const segments = url.pathname.split("/").slice(1);
    const fits = (patterns.get(tool) ?? []).some((pattern) =>
      pattern.method === method && pattern.origin === url.origin && hasLength(segments, pattern) &&
      segments.every((segment, index) => {
        const part = pattern.segments[index] ?? null;
        return part === null ? isSegment(segment) : part === segment;
      })
    );
    if (!fits) return DENIED;
    return tool.service === "github" ? repository(plan, segments) : { granted: tool.rule };
  };
}

function hasLength(segments: readonly string[], pattern: Pattern): boolean {
  const { length } = pattern.segments;
  return pattern.isOpen ? segments.length >= length : segments.length === length;
}

/** A tool's endpoints are the same for every repository; which of them may be read, the policy alone says. */
function repository({ github }: Plan, [first, owner = "", name = ""]: readonly string[]): Verdict {
  // Percent-encoded names are none: GitHub's have no character that needs it
  if (first !== REPOSITORIES || !isRepositoryPart(owner) || !isRepositoryPart(name)) return DENIED;
  const entry = github.repos.find(({ match }) => admitsRepository(match, `${owner}/${name}`));
  return entry === undefined ? { code: "repository_not_granted", rule: "/github/repos" } : { granted: entry.rule };
}

function takeApart(method: string, url: string): Pattern {
  const [authority = "", ...segments] = url.slice("https://".length).split("/");
  return {
    method,
    origin: new URL(`https://${authority}/`).origin,
    segments: segments.map((segment) => /^\{[^{}/]+\}$/.test(segment) ? null : segment),
    isOpen: /^\{\+/.test(segments.at(-1) ?? ""),
  };
}

/** One filled-in segment: not empty, and no dots however often they are encoded. */
function isSegment(segment: string): boolean {
  return segment !== "" && !/^(?:\.|%(?:25)*2e){1,2}$/i.test(segment);
}
