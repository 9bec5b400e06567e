import { equal } from "node:assert/strict";
import { isDay } from "../../src/plan/day.ts";

Deno.test("isDay() takes days of the calendar, and only in one form", () => {
  for (const day of ["2026-01-31", "2024-02-29", "0001-01-01"]) equal(isDay(day), true, day);
  for (const text of ["2026-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "2026-01-01T00:00", "", "20260101"]) {
    equal(isDay(text), false, text);
  }
});
