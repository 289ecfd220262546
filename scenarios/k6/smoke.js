// Smoke: whole cycles at a small fixed rate for ten seconds. The first script to run: it says whether k6, the server and the
// token fit together.
//
//   bin/queued serve --data ./data &
//   bin/k6 run scenarios/k6/smoke.js
//
// Knobs: RATE (cycles a second, 20), DURATION (10s), P99_MS (what the 99th percentile of a cycle may be, 1000). PRONY_ADDRESS
// and PRONY_ADMIN say where the server is, and PRONY_TOKEN is the access token; of a server on this host it is found in ./data.

import { check } from 'k6';
import queue from 'k6/x/prony';
import { aborting, balanced, drain } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { own } from './lib/names.js';

const client = queue.connect();
const name = own('smoke');

export const options = {
  scenarios: {
    cycles: {
      executor: 'constant-arrival-rate',
      rate: number('RATE', 20),
      timeUnit: '1s',
      duration: duration('DURATION', '10s'),
      preAllocatedVUs: 10,
      maxVUs: 100,
    },
  },
  thresholds: {
    ...aborting,
    prony_cycles: ['count>0'],
    prony_cycle_duration: [`p(99)<${number('P99_MS', 1000)}`],
  },
};

export default async function () {
  await client.produce({ queue: name, payload: { from: __VU, at: __ITER } });
  const tasks = await client.claim({ queue: name, wait: '5s' });
  check(tasks, {
    'a task came': ([task]) => task !== undefined,
    'it carries what was sent': ([task]) => task !== undefined && task.json().from > 0,
  });
  await client.complete(tasks);
}

export async function teardown() {
  await drain(client, [name]);
  const { enqueued } = balanced();
  const { ready, leased } = await client.admin.queue(name);
  console.log(`${enqueued} tasks were enqueued; the server still holds ${Number(ready) + Number(leased)} of them`);
}
