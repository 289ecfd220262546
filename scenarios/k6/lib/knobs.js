// Knobs: what a run may set with -e NAME=VALUE, or in the environment, and what holds otherwise.

// A number of at least 0.
export function number(name, otherwise) {
  const given = __ENV[name];
  if (given === undefined || given === '') {
    return otherwise;
  }
  const value = Number(given);
  if (!Number.isFinite(value) || value < 0) {
    throw new Error(`${name} is ${JSON.stringify(given)}; it must be a number of at least 0`);
  }
  return value;
}

// A duration as in k6's options: '10s', '1m30s'.
export function duration(name, otherwise) {
  const given = __ENV[name];
  if (given === undefined || given === '') {
    return otherwise;
  }
  if (!/^(\d+(\.\d+)?(ms|h|m|s))+$/.test(given)) {
    throw new Error(`${name} is ${JSON.stringify(given)}; it must be a duration with a unit: '10s', '1m30s'`);
  }
  return given;
}
