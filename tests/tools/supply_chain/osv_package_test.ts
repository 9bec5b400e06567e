import assert from "node:assert/strict";
import { ToolInputError } from "../../../src/errors.ts";
import { assertOsvPackage } from "../../../src/tools/supply_chain/osv_package.ts";

Deno.test("assertOsvPackage() takes names in the form of their ecosystem", () => {
  const right = [
    ["npm", "lodash"],
    ["npm", "@types/node"],
    ["npm", "JSONStream"],
    ["Maven", "org.slf4j:slf4j-api"],
    ["Maven:https://repo1.maven.org/maven2", "org.slf4j:slf4j-api"],
    ["Go", "github.com/gin-gonic/gin"],
    ["Go", "github.com/gofiber/fiber/v2"],
    ["Go", "stdlib"],
    ["PyPI", "zope.interface"],
    ["crates.io", "serde_json"],
    ["NuGet", "Newtonsoft.Json"],
    ["Packagist", "symfony/http-kernel"],
    ["RubyGems", "rails-html-sanitizer"],
    ["Hex", "plug_cowboy"],
    ["Pub", "http_parser"],
    ["GitHub Actions", "tj-actions/changed-files"],
    ["SwiftURL", "github.com/apple/swift-nio"],
    ["Debian:12", "openssl"],
    ["An ecosystem of tomorrow", "any name at all"],
  ] as const;
  for (const [ecosystem, name] of right) assertOsvPackage(ecosystem, name);
});

Deno.test("assertOsvPackage() refuses a name in another form and says which is right", () => {
  const wrong: readonly [string, string, RegExp][] = [
    ["Maven", "org.slf4j", /must be group:artifact$/],
    ["Maven", "group/artifact", /must be group:artifact$/],
    ["Maven", "a:b:c", /must be group:artifact$/],
    ["Go", "https://github.com/a/b", /a module path without scheme and `\.git`$/],
    ["Go", "git://github.com/a/b", /a module path/],
    ["Go", "github.com/a/b.git", /a module path/],
    ["SwiftURL", "https://github.com/a/b", /host\/path without scheme/],
    ["npm", "types/node", /name or @scope\/name$/],
    ["npm", "lodash@4.17.20", /name or @scope\/name$/],
    ["Packagist", "symfony", /vendor\/name$/],
    ["PyPI", "requests[security]", /a project name/],
    ["PyPI", "requests==2.0", /a project name/],
    ["GitHub Actions", "changed-files", /owner\/name$/],
    ["NPM", "lodash", /must be written "npm"$/],
    ["pypi", "requests", /must be written "PyPI"$/],
    ["maven:x", "a:b", /must be written "Maven"$/],
    ["npm ", "lodash", /"package\.ecosystem" must hold printable text only/],
    ["Debian:12", "open\u0000ssl", /"package\.name" must hold printable text only/],
    ["Debian:12", "\ud800", /"package\.name" must hold printable text only/],
  ];
  for (const [ecosystem, name, message] of wrong) {
    assert.throws(() => assertOsvPackage(ecosystem, name), (error) => {
      assert.ok(error instanceof ToolInputError, `${ecosystem} ${name}`);
      assert.equal(error.code, "tool_invalid_args");
      assert.match(error.message, message);
      return true;
    });
  }
});
