// Burst and drain: a low rate with bursts out of it, and how long a task of a burst waits until the workers have caught up.
//
//   bin/k6 run scenarios/k6/burst-and-drain.js
//
// Knobs: RATE (tasks a second between the bursts, 100), BURST (tasks a second of a burst, 4000), EVERY (2s), LENGTH (of a burst,
// 250ms), BATCH (16), PRODUCERS (4), WORKERS (8), WARMUP (1s), DURATION (10s), DRAIN (30s), P99_MS (2000), UNSENT_MAX (tasks that
// may be due and not sent by the window's end, 10).

import queue from 'k6/x/prony';
import { account, balanced } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { queuesOf } from './lib/names.js';
import { drainAll, roles, scenarios } from './lib/roles.js';

const load = queue.load({
  producers: number('PRODUCERS', 4),
  workers: number('WORKERS', 8),
  batch: number('BATCH', 16),
  arrivals: {
    rate: number('RATE', 100),
    burst: number('BURST', 4000),
    every: duration('EVERY', '2s'),
    length: duration('LENGTH', '250ms'),
  },
  warmup: duration('WARMUP', '1s'),
  window: duration('DURATION', '10s'),
  drain: duration('DRAIN', '30s'),
});

export const options = {
  scenarios: scenarios(load),
  thresholds: {
    ...account,
    prony_cycles: ['count>0'],
    prony_cycle_duration: [`p(99)<${number('P99_MS', 2000)}`],
    prony_unsent: [`count<=${number('UNSENT_MAX', 10)}`],
  },
};

const client = queue.connect();
const queues = queuesOf(load, 'burst');

export const { produce, work } = roles(client, load, queues);

export async function teardown() {
  await drainAll(client, load, queues);
  balanced();
}
