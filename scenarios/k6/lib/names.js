// Names of queues that no other run uses, and no other load host of this run: a ledger balances only if nobody else claims
// what it entered.

import { SharedArray } from 'k6/data';

// The VUs of a process each run the init context, and share this; another process makes its own.
const run = new SharedArray('the name of this run', () => [
  Date.now().toString(36) + Math.random().toString(36).slice(2, 8),
]);

// The name of a queue of this process alone.
export function own(name) {
  return `${name}-${run[0]}`;
}

// The queues of a load: under `prony run` those of its scenario, and otherwise as many of this process alone.
export function queuesOf(load, name) {
  return __ENV.PRONY_PLAN ? load.queues : load.queues.map((queue) => own(`${name}-${queue}`));
}
