/** Attests in a process of its own: what is granted, the canary and what the client did come as JSON; prints what came. */
import { attest } from "../../src/host/attest.ts";

const [text = "{}"] = Deno.args;
const { key1, canaryPath, ipv4 } = JSON.parse(text);
let said: unknown;
try {
  said = await attest(key1, { canaryPath, ipv4: () => ipv4 === undefined ? undefined : Promise.resolve(ipv4) });
} catch (error) {
  said = { code: (error as { code?: unknown }).code };
}
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(said)));
