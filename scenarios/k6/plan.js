// Plan: the script that `prony run scenarios/k6.hcl` drives. It does what the scenario's workload says; alone, what its
// knobs say, in a closed loop.
//
//   bin/prony run scenarios/k6.hcl
//   bin/k6 run -e BATCH=1 -e PRODUCERS=16 scenarios/k6/plan.js
//
// Knobs, where no scenario says it: TENANTS (1), QUEUES (1), PRODUCERS (8), WORKERS (16), BATCH (tasks in a call, 16), SIZE
// (bytes of a payload, 64), WARMUP (1s), DURATION (10s), DRAIN (30s).

import queue from 'k6/x/prony';
import { account, balanced } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { queuesOf } from './lib/names.js';
import { drainAll, roles, scenarios } from './lib/roles.js';

const load = queue.load({
  tenants: number('TENANTS', 1),
  queues: number('QUEUES', 1),
  producers: number('PRODUCERS', 8),
  workers: number('WORKERS', 16),
  batch: number('BATCH', 16),
  size: number('SIZE', 64),
  warmup: duration('WARMUP', '1s'),
  window: duration('DURATION', '10s'),
  drain: duration('DRAIN', '30s'),
});

export const options = {
  scenarios: scenarios(load),
  thresholds: { ...account, prony_cycles: ['count>0'] },
};

const client = queue.connect();
const queues = queuesOf(load, 'plan');

export const { produce, work } = roles(client, load, queues);

export async function teardown() {
  await drainAll(client, load, queues);
  balanced();
}
