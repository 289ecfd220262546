// The account of a run: what each script's thresholds say of it, and how it is brought to an end.

import { check } from 'k6';
import queue from 'k6/x/prony';

// What must hold of every run. A script adds its own: { ...account, prony_cycles: ['rate>100'] }.
export const account = {
  prony_lost: ['count==0'],
  prony_duplicated: ['count==0'],
  prony_corrupted: ['count==0'],
  prony_misrouted: ['count==0'],
  prony_failed_calls: ['count==0'],
  checks: ['rate==1'],
};

// A test that can't reach its server ends by itself: a failed call is looked for every two seconds.
export const aborting = { ...account, prony_failed_calls: [{ threshold: 'count==0', abortOnFail: true }] };

// Claims and completes what is left in the queues until nothing is outstanding, or nothing came for so long. Resolves to
// how many tasks that were.
export async function drain(client, queues, { tenant, quiet_ms = 3000 } = {}) {
  let drained = 0;
  let since = Date.now();
  while (queue.balance().outstanding > 0 && Date.now() - since < quiet_ms) {
    const tasks = await client.claim({ queues, tenant, max: 1000, wait: '500ms' });
    if (tasks.length > 0) {
      await client.complete(tasks);
      drained += tasks.length;
      since = Date.now();
    }
  }
  return drained;
}

// Checks the ledger of this process. To be called once all is drained.
export function balanced() {
  const b = queue.balance();
  const ok = check(b, {
    'tasks were enqueued': (b) => b.enqueued > 0,
    // But for those of which it was never answered whether they were.
    'every task was completed': (b) => b.lost === 0 && b.outstanding <= b.unknown + b.inDoubt,
    'no task was completed twice': (b) => b.duplicated === 0,
    'no payload was changed': (b) => b.corrupted === 0,
    'no task came from a wrong queue': (b) => b.misrouted === 0,
  });
  if (!ok) {
    console.error(`the ledger does not balance: ${JSON.stringify(b)}`);
  }
  return b;
}
