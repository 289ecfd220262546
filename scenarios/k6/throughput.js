// Throughput: how many cycles a second one k6 process gets out of the server over streams, each producer making its next
// call when the last was answered. A cycle takes more CPU time in k6 than in the server.
//
//   bin/k6 run scenarios/k6/throughput.js               # in batches of 16
//   bin/k6 run -e BATCH=1 scenarios/k6/throughput.js    # one at a time
//
// Knobs: BATCH (16), PRODUCERS (8), WORKERS (16), SIZE (bytes of a payload, 64), WARMUP (1s), DURATION (10s), CYCLES_PER_S_MIN
// (0: what the threshold asks for, over the whole of the test).

import queue from 'k6/x/prony';
import { account, balanced } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { queuesOf } from './lib/names.js';
import { drainAll, roles, scenarios } from './lib/roles.js';

const load = queue.load({
  producers: number('PRODUCERS', 8),
  workers: number('WORKERS', 16),
  batch: number('BATCH', 16),
  size: number('SIZE', 64),
  warmup: duration('WARMUP', '1s'),
  window: duration('DURATION', '10s'),
});

export const options = {
  scenarios: scenarios(load),
  thresholds: { ...account, prony_cycles: ['count>0', `rate>=${number('CYCLES_PER_S_MIN', 0)}`] },
};

const client = queue.connect();
const queues = queuesOf(load, 'throughput');

export const { produce, work } = roles(client, load, queues);

export async function teardown() {
  await drainAll(client, load, queues);
  balanced();
}
