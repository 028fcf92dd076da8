// Money, times and counts as short text.

export function money(usd) {
  if (typeof usd !== "number" || !Number.isFinite(usd)) return "–";
  if (usd > 0 && usd < 0.000_05) return "<$0.0001";
  const digits = usd !== 0 && Math.abs(usd) < 0.1 ? 4 : 2;
  return `$${usd.toFixed(digits)}`;
}

export function count(number) {
  if (typeof number !== "number" || !Number.isFinite(number)) return "–";
  if (number < 10_000) return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
  if (number < 1_000_000) return `${(number / 1000).toFixed(number < 100_000 ? 1 : 0)}k`;
  return `${(number / 1_000_000).toFixed(number < 10_000_000 ? 2 : 1)}M`;
}

export function duration(seconds) {
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds < 0) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours && !minutes) return `${hours} h`;
  return hours ? `${hours} h ${minutes} min` : `${minutes} min ${Math.floor(seconds % 60)} s`;
}

export function ago(seconds) {
  if (typeof seconds !== "number" || !Number.isFinite(seconds)) return "";
  if (seconds < 2) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

export function clock(at, { withDate = false } = {}) {
  if (typeof at !== "number" || at < 1_000_000_000) return "";
  const date = new Date(at * 1000);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
  return withDate ? `${date.toLocaleDateString([], { year: "numeric", month: "short", day: "numeric" })}, ${time}` : time;
}

/** The time of a reset: with its date, unless it is within half a day. */
export const resetTime = (at) => clock(at, { withDate: Math.abs(at - Date.now() / 1000) > 43_200 });

export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
