// Priorities: a mixed backlog, enqueued while nobody works, must come out with the most urgent first, and first in, first
// out among equals. One worker takes it, so that the order of its claims is the server's.
//
//   bin/k6 run scenarios/k6/priorities.js
//
// The server must have one shard, its default: each shard has an order of its own. Knobs: TASKS (of a round, 200), ROUNDS (5),
// LIMIT (30s).

import { check } from 'k6';
import queue from 'k6/x/prony';
import { account, balanced, drain } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { own } from './lib/names.js';

const count = number('TASKS', 200);
const client = queue.connect();
const name = own('priorities');

export const options = {
  scenarios: {
    rounds: {
      executor: 'per-vu-iterations',
      vus: 1,
      iterations: number('ROUNDS', 5),
      maxDuration: duration('LIMIT', '30s'),
    },
  },
  thresholds: { ...account, prony_cycles: [`count==${count * number('ROUNDS', 5)}`] },
};

export default async function () {
  const sent = Array.from({ length: count }, (_, nth) => ({
    queue: name,
    priority: Math.floor(Math.random() * 10),
    payload: { nth },
  }));
  for (let from = 0; from < count; from += 1000) {
    await client.produce(sent.slice(from, from + 1000));
  }
  const came = [];
  while (came.length < count) {
    const tasks = await client.claim({ queue: name, max: 16, wait: '5s' });
    if (tasks.length === 0) {
      break;
    }
    came.push(...tasks.map((task) => ({ priority: task.priority, nth: task.json().nth })));
    await client.complete(tasks);
  }
  check(came, {
    'all tasks came': (came) => came.length === count,
    'each with the priority that it was sent with': (came) => came.every((t) => t.priority === sent[t.nth].priority),
    'none before a more urgent one': (came) => came.every((t, i) => i === 0 || t.priority <= came[i - 1].priority),
    'equals in the order in which they were sent': (came) =>
      came.every((t, i) => i === 0 || t.priority < came[i - 1].priority || t.nth > came[i - 1].nth),
  });
}

export async function teardown() {
  await drain(client, [name]);
  balanced();
}
