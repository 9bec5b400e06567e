import { writeArtifact } from "../../../src/tools/fs/write_artifact.ts";
import { testFixture } from "./fs_fixture.ts";

testFixture(writeArtifact);
