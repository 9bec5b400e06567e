import { listFiles } from "../../../src/tools/fs/list_files.ts";
import { testFixture } from "./fs_fixture.ts";

testFixture(listFiles);
