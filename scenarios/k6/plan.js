// The script that `prony run scenarios/k6.hcl` drives: it does what the scenario's workload says.

import queue from 'k6/x/prony';
import exec from 'k6/execution';

const load = queue.load({ producers: 8, workers: 16, batch: 16, window: '10s' });
const client = queue.connect();

// Each role has VUs of its own, which begin and end with the load.
const role = (name, vus, duration) => ({
  executor: 'per-vu-iterations', exec: name, vus: vus, iterations: 1, maxDuration: duration, gracefulStop: '10s',
});

export const options = {
  scenarios: {
    produce: role('produce', load.producers, load.whole),
    work: role('work', load.workers, load.whole),
  },
  thresholds: { prony_lost: ['count==0'], prony_duplicated: ['count==0'] },
};

export async function produce() {
  const tenant = load.tenants[exec.vu.idInTest % load.tenants.length];
  const producer = client.producer({ tenant: tenant });
  for (let i = exec.vu.idInTest; ; i++) {
    const due = await load.next();
    if (due === null) {
      break;
    }
    await producer.produce({ queue: load.queues[i % load.queues.length], size: load.size, count: due.length, due: due });
  }
  await producer.close();
}

export async function work() {
  const tenant = load.tenants[exec.vu.idInTest % load.tenants.length];
  const worker = client.worker({ queues: load.queues, tenant: tenant, slots: load.batch, lease: load.lease });
  while (!load.done()) {
    const tasks = await worker.claim({ max: load.batch, wait: '100ms' });
    if (tasks.length > 0) {
      await worker.complete(tasks);
    }
  }
  await worker.close();
}
