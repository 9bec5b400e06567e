/** Longest path argument, in UTF-16 units: `PATH_MAX` of Linux. */
export const MAX_PATH_UNITS = 4096;
