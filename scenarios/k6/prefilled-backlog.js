// Prefilled backlog: setup enqueues it, then the workers drain it, and the script says how fast.
//
//   bin/k6 run scenarios/k6/prefilled-backlog.js
//   bin/k6 run -e BACKLOG=1000000 -e LIMIT=5m scenarios/k6/prefilled-backlog.js
//
// Knobs: BACKLOG (tasks, 100000), WORKERS (8), BATCH (tasks in a claim, 100), SIZE (bytes of a payload, 64), LIMIT (for how long
// the drain may go on, 30s), P99_MS (what the 99th percentile of a completion may be, 1000).

import { Trend } from 'k6/metrics';
import queue from 'k6/x/prony';
import { account, balanced, drain } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { own } from './lib/names.js';

const backlog = number('BACKLOG', 100000);
const batch = number('BATCH', 100);
const limit = duration('LIMIT', '30s');

const client = queue.connect();
const name = own('backlog');
const drained = new Trend('backlog_drain_duration', true);

export const options = {
  setupTimeout: '10m',
  scenarios: {
    drain: { executor: 'per-vu-iterations', exec: 'work', vus: number('WORKERS', 8), iterations: 1, maxDuration: limit },
  },
  thresholds: {
    ...account,
    prony_cycles: [`count==${backlog}`],
    // A cycle here counts from its enqueue in setup: it says how long the task lay in the backlog.
    prony_settle_duration: [`p(99)<${number('P99_MS', 1000)}`],
  },
};

export async function setup() {
  const producer = client.producer();
  for (let left = backlog; left > 0; left -= 1000) {
    await producer.produce({ queue: name, size: number('SIZE', 64), count: Math.min(left, 1000) });
  }
  await producer.close();
  return { since: Date.now() };
}

export async function work({ since }) {
  const worker = client.worker({ queues: [name], slots: batch });
  try {
    while (queue.balance().outstanding > 0) {
      await worker.complete(await worker.claim({ max: batch, wait: '200ms' }));
    }
  } finally {
    await worker.close();
  }
  drained.add(Date.now() - since);
}

export async function teardown({ since }) {
  const ms = Date.now() - since;
  await drain(client, [name]);
  const { completed } = balanced();
  console.log(`${completed} tasks in ${ms} ms: ${Math.round((completed / ms) * 1000)} a second`);
}
