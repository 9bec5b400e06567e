import { readFile } from "../../../src/tools/fs/read_file.ts";
import { testFixture } from "./fs_fixture.ts";

testFixture(readFile);
