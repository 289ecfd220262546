// Numbers and axes of charts.

// digits shows a number with three digits, and with separators of thousands.
function digits(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(Number(value.toPrecision(3))).toLocaleString("en-US");
  if (size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(3)));
}

// percentile names the place on an axis of nines: 2 is "99".
function percentile(nines) {
  const share = 100 * (1 - 10 ** -nines);
  return String(Number(share.toFixed(Math.max(1, Math.ceil(nines) - 1))));
}

// linearTicks are round values from 0 to at least the limit, up to seven of them.
function linearTicks(limit) {
  if (!(limit > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(limit));
  const step = [0.1, 0.2, 0.5, 1, 2].map((part) => part * power).find((s) => limit / s <= 6);
  const ticks = [];
  for (let i = 0; i <= 8; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
    if (i * step >= limit) break;
  }
  return ticks;
}

// decadeTicks are the powers of ten around a range.
function decadeTicks(low, high) {
  const ticks = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)) && ticks.length < 20; e++) ticks.push(10 ** e);
  if (ticks.length < 2) ticks.push(ticks[0] * 10);
  return ticks;
}

// axis returns how values become places between two pixels.
function axis(low, high, from, to, logarithmic) {
  const map = logarithmic ? Math.log10 : (v) => v;
  const [a, b] = [map(low), map(high)];
  return {
    place: (value) => from + ((map(value) - a) / (b - a)) * (to - from),
    value: (place) => {
      const v = a + ((place - from) / (to - from)) * (b - a);
      return logarithmic ? 10 ** v : v;
    },
  };
}
