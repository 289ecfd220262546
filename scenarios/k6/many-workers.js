// Many workers: a hundred sessions that mostly wait, one task at a time each. How soon does a task reach one of them?
//
//   bin/k6 run scenarios/k6/many-workers.js
//   bin/k6 run -e WORKERS=1000 scenarios/k6/many-workers.js
//
// Knobs: WORKERS (100), PRODUCERS (2), QUEUES (4), RATE (tasks a second, 200), CONNECTIONS (4), WARMUP (1s), DURATION (10s),
// P99_MS (1000), UNSENT_MAX (tasks that may be due and not sent by the window's end, 10).

import queue from 'k6/x/prony';
import { account, balanced } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { queuesOf } from './lib/names.js';
import { drainAll, roles, scenarios } from './lib/roles.js';

const load = queue.load({
  queues: number('QUEUES', 4),
  producers: number('PRODUCERS', 2),
  workers: number('WORKERS', 100),
  batch: 1,
  arrivals: { rate: number('RATE', 200) },
  warmup: duration('WARMUP', '1s'),
  window: duration('DURATION', '10s'),
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

const client = queue.connect({ connections: number('CONNECTIONS', 4) });
const queues = queuesOf(load, 'many-workers');

export const { produce, work } = roles(client, load, queues);

export async function teardown() {
  await drainAll(client, load, queues);
  balanced();
}
