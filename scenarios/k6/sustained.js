// Sustained: a fixed arrival rate, for as long as is wanted. Latency counts from when a task was due, so a server that
// stalls can't hide the tasks that waited meanwhile.
//
//   bin/k6 run scenarios/k6/sustained.js
//   bin/k6 run -e RATE=2000 -e DURATION=10m scenarios/k6/sustained.js
//
// Knobs: RATE (tasks a second, 500), DURATION (10s), WARMUP (1s), DRAIN (30s), BATCH (most tasks in a call, 16), PRODUCERS (4),
// WORKERS (16), SIZE (bytes of a payload, 64), P99_MS (what the 99th percentile of a cycle may be, 1000), UNSENT_MAX (tasks that
// may be due and not sent by the window's end, 10).

import queue from 'k6/x/prony';
import { account, balanced } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { queuesOf } from './lib/names.js';
import { drainAll, roles, scenarios } from './lib/roles.js';

const load = queue.load({
  producers: number('PRODUCERS', 4),
  workers: number('WORKERS', 16),
  batch: number('BATCH', 16),
  size: number('SIZE', 64),
  arrivals: { rate: number('RATE', 500) },
  warmup: duration('WARMUP', '1s'),
  window: duration('DURATION', '10s'),
  drain: duration('DRAIN', '30s'),
});

export const options = {
  scenarios: scenarios(load),
  thresholds: {
    ...account,
    prony_cycles: ['count>0'],
    prony_cycle_duration: [`p(99)<${number('P99_MS', 1000)}`],
    prony_unsent: [`count<=${number('UNSENT_MAX', 10)}`],
  },
};

const client = queue.connect();
const queues = queuesOf(load, 'sustained');

export const { produce, work } = roles(client, load, queues);

export async function teardown() {
  await drainAll(client, load, queues);
  balanced();
}
