// Producers and workers that follow a load: queue.load() says when tasks are due and when all is done, under
// `prony run` by the scenario. Each VU has one long iteration, which ends by itself.

import { scenario } from 'k6/execution';
import { drain } from './account.js';

// The two k6 scenarios of a load, for options.scenarios.
export function scenarios(load) {
  const role = (exec, vus) => ({ executor: 'per-vu-iterations', exec, vus, iterations: 1, maxDuration: load.whole });
  return { produce: role('produce', load.producers), work: role('work', load.workers) };
}

// What the VUs of these scenarios do, with queues as queuesOf() names them. Export both from the script:
// export const { produce, work } = roles(client, load, queues);
export function roles(client, load, queues) {
  return { produce: () => produce(client, load, queues), work: () => work(client, load, queues) };
}

// Sends what is due, to each of its queues in turn.
async function produce(client, load, queues) {
  const { sessions, routes } = open(client, load, queues);
  try {
    let turn = 0;
    for (let due = await load.next(load.batch); due !== null; due = await load.next(load.batch)) {
      const { session, queue } = routes[turn++ % routes.length];
      await session.produce({ queue, size: load.size, due });
    }
  } finally {
    await Promise.all([...sessions.values()].map((session) => session.close()));
  }
}

// The queues that a producer sends to. They go round the producers, tenant by tenant, so that all are covered, and a
// producer has a session for each of its tenants.
function open(client, load, queues) {
  const number = scenario.iterationInInstance % load.producers;
  const all = load.tenants.length * queues.length;
  const sessions = new Map();
  const routes = [];
  for (let r = number % all; r < all; r += load.producers) {
    const tenant = load.tenants[r % load.tenants.length];
    if (!sessions.has(tenant)) {
      sessions.set(tenant, client.producer({ tenant }));
    }
    routes.push({ session: sessions.get(tenant), queue: queues[Math.floor(r / load.tenants.length)] });
  }
  return { sessions, routes };
}

// Claims from all queues of one tenant, and completes, until nothing is outstanding or the drain's time is up.
async function work(client, load, queues) {
  const worker = client.worker({
    queues,
    tenant: load.tenants[scenario.iterationInInstance % load.tenants.length],
    slots: load.batch,
    lease: load.lease,
  });
  try {
    while (!load.done()) {
      const tasks = await worker.claim({ max: load.batch, wait: '500ms' });
      if (tasks.length > 0) {
        await worker.complete(tasks);
      }
    }
  } finally {
    await worker.close(); // what was pushed to it and not claimed goes back
  }
}

// Completes what the workers have left, where the test ended before they were done. For teardown.
export async function drainAll(client, load, queues) {
  for (const tenant of load.tenants) {
    await drain(client, queues, { tenant });
  }
}
