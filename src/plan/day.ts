/**
 * Days as policies and recordings write them.
 *
 * @module
 */

/** Whether a text is a day of the calendar in the form `YYYY-MM-DD`. */
export function isDay(text: string): boolean {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text)) return false;
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}
