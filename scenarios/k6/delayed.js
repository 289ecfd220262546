// Delayed: tasks that become ready later. None may come before its time; how much later than that each comes is the metric
// delayed_late, in ms. Both ends are read from this host's clock, the earliest time before the call that enqueues. Server and
// script count in whole milliseconds, so that a task may seem to come one early.
//
//   bin/k6 run scenarios/k6/delayed.js
//
// Knobs: RATE (tasks a second, 50), DURATION (10s), DELAY_MS_MAX (each delay is drawn from 1 to this, 2000), WORKERS (4),
// LATE_MS_MAX (what the 99th percentile of delayed_late may be, 1000).

import { check } from 'k6';
import { Trend } from 'k6/metrics';
import queue from 'k6/x/prony';
import { account, balanced, drain } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { own } from './lib/names.js';
import { scenarios } from './lib/roles.js';

const delay_ms_max = number('DELAY_MS_MAX', 2000);
const client = queue.connect();
const name = own('delayed');
const late = new Trend('delayed_late', true);
const load = queue.load({
  producers: 4,
  workers: number('WORKERS', 4),
  arrivals: { rate: number('RATE', 50) },
  window: duration('DURATION', '10s'),
});

export const options = {
  scenarios: scenarios(load),
  thresholds: {
    ...account,
    prony_cycles: ['count>0'],
    delayed_late: ['min>=-1', `p(99)<${number('LATE_MS_MAX', 1000)}`],
  },
};

export async function produce() {
  for (let due = await load.next(1); due !== null; due = await load.next(1)) {
    const delay = 1 + Math.floor(Math.random() * delay_ms_max);
    await client.produce({ queue: name, delay, payload: { ready: Date.now() + delay }, due });
  }
}

export async function work() {
  const worker = client.worker({ queues: [name], slots: 16 });
  try {
    while (!load.done()) {
      const tasks = await worker.claim({ max: 16, wait: '500ms' });
      const now = Date.now();
      for (const task of tasks) {
        late.add(now - task.json().ready);
        check(task, { 'it did not come early': (task) => task.json().ready <= now + 1 });
      }
      await worker.complete(tasks);
    }
  } finally {
    await worker.close();
  }
}

export async function teardown() {
  await drain(client, [name]);
  balanced();
}
