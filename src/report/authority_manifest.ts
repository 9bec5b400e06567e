/**
 * What a plan may touch, as a stable document: for reviews, for other tools, for a file that is kept beside a release.
 *
 * @module
 */
import type { JsonObject } from "../json.ts";
import { isPlace } from "../plan/key1.ts";
import { approvalTerms } from "../plan/approval_terms.ts";
import { asksNetwork, type Plan } from "../plan/plan.ts";
import { escapeText } from "./escape.ts";

/** The authority of a plan as JSON. Every list is sorted, so equal authority gives equal bytes. */
export function authorityManifest(plan: Plan): JsonObject {
  const { fs, model, network, tools } = plan;
  const live = asksNetwork(network);
  const terms = approvalTerms(plan);
  return {
    version: 1,
    policy: plan.policy.sha256,
    isolation: plan.isolation,
    tools: Object.fromEntries(Object.entries(tools).map(([name, { manifest }]) => [name, manifest])),
    paths: {
      read: sorted(
        fs.read.map(({ root, include, exclude }) => ({ root, include: sorted(include), exclude: sorted(exclude) })),
      ),
      write: sorted(fs.write.map(({ root }) => root)),
      never_read: sorted(fs.secret),
      never_written: sorted(fs.protected.filter((entry) => !isPlace(entry) || entry.startsWith("${project}"))),
    },
    endpoints: sorted(
      Object.entries(tools).flatMap(([tool, { endpoints, service }]) =>
        Object.values(endpoints).map(({ method, url }) => ({ tool, method, url, live: live || service === "model" }))
      ),
    ),
    recorded_answers: Object.fromEntries(sorted(network.fixtures.map(({ path, sha256 }) => [path, sha256]))),
    cache: network.cache === null ? null : {
      dir: network.cache.dir,
      mode: network.cache.mode,
      max_age_ms: network.cache.maxAgeMs,
      max_entries: network.cache.maxEntries,
    },
    network: {
      proxy: network.proxy === null ? null : `$${network.proxy.fromEnv}`,
      certificate_authority: network.ca === null
        ? null
        : "file" in network.ca
        ? network.ca.file
        : `$${network.ca.fromEnv}`,
      ipv6: network.ipv6,
      retry_attempts: network.retryAttempts,
    },
    programs: Object.fromEntries(
      Object.entries(plan.process?.commands ?? {}).map(([name, { path, sha256, args }]) => [
        name,
        JSON.parse(JSON.stringify({ path, sha256, args })) as JsonObject,
      ]),
    ),
    ...(plan.process === undefined ? {} : {
      programs_in: sorted(plan.process.cwd.map(({ root }) => root)),
      programs_get: sorted([...plan.process.env.pass, ...Object.keys(plan.process.env.set)]),
      programs_reach: sorted(plan.process.egress),
      programs_sandbox: plan.process.sandbox,
    }),
    ...(model === undefined ? {} : {
      models: {
        provider: model.provider,
        recorded_answers: model.fixture === null ? null : { [model.fixture.path]: model.fixture.sha256 },
        names: sorted(model.models),
        max_output_tokens: model.maxOutputTokens,
        total_tokens: model.totalTokens,
        calls: model.calls,
        audit: model.audit,
      },
    }),
    secrets: sorted(Object.entries(plan.credentials).map(([tool, { env }]) => ({ tool, variable: env }))),
    variables: sorted(plan.env),
    repositories: sorted(plan.github.repos.map(({ match }) => match.toLowerCase())),
    rules: sorted(plan.gate.map(({ effect, kind, tools: of, match }) => ({ effect, kind, tools: sorted(of), match }))),
    approvals: {
      every_call_of: sorted(terms.require.map(({ tool }) => tool)),
      max_age_ms: terms.maxAgeMs,
      wait_ms: terms.waitMs,
    },
    redacted: sorted(plan.redact),
    ...(plan.session === undefined ? {} : { state_kept_in: plan.session.file }),
    budgets: { ...plan.budgets },
    ...(plan.packages === undefined ? {} : {
      packages: sorted(plan.packages.map(({ name, version, integrity }) => `${name} ${version} ${integrity}`)),
    }),
    agent: plan.agent === null ? null : {
      entry: plan.agent.entry,
      modules: Object.fromEntries(plan.agent.modules.map(({ path, sha256 }) => [path, sha256])),
    },
    unsafe: sorted(plan.unsafe.map(({ key, path, reason, expires }) => ({ key, path, reason, expires }))),
  };
}

/** The same document as text, one fact a line: `<heading> <fact>`, stable and made for `diff`. */
export function authorityText(plan: Plan): string {
  const lines: string[] = [];
  const walk = (value: unknown, path: string): void => {
    if (typeof value !== "object" || value === null) {
      lines.push(`${path} ${escapeText(String(value))}`);
    } else if (Array.isArray(value)) {
      for (const item of value) {
        lines.push(`${path} ${escapeText(typeof item === "string" ? item : JSON.stringify(item))}`);
      }
    } else {
      for (const [key, inner] of Object.entries(value)) {
        walk(inner, path === "" ? escapeText(key) : `${path} ${escapeText(key)}`);
      }
    }
  };
  walk(authorityManifest(plan), "");
  return `${lines.join("\n")}\n`;
}

/** Sorts by printed form. */
function sorted<T>(items: readonly T[]): T[] {
  return items.toSorted((a, b) => {
    const [left, right] = [JSON.stringify(a), JSON.stringify(b)];
    return left < right ? -1 : left > right ? 1 : 0;
  });
}
