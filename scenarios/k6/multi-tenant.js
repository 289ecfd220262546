// Multi-tenant: several tenants with a queue of the same name each, loaded at different rates. No tenant may see another's
// tasks, and each has figures, and thresholds, of its own by the tag `tenant`.
//
//   bin/k6 run scenarios/k6/multi-tenant.js
//
// It needs an operator's token, such as data/admin.token: one token belongs to one tenant or to all. Knobs: TENANTS (3), RATE
// (cycles a second of the first tenant, 20; the second has twice as many, and so on), DURATION (10s), P99_MS (1000).

import { check } from 'k6';
import queue from 'k6/x/prony';
import { account, balanced, drain } from './lib/account.js';
import { duration, number } from './lib/knobs.js';
import { own } from './lib/names.js';

const client = queue.connect();
const tenants = Array.from({ length: number('TENANTS', 3) }, (_, i) => `tenant-${i + 1}`);
const name = own('orders');

export const options = {
  scenarios: Object.fromEntries(
    tenants.map((tenant, i) => [
      tenant,
      {
        executor: 'constant-arrival-rate',
        rate: number('RATE', 20) * (i + 1),
        timeUnit: '1s',
        duration: duration('DURATION', '10s'),
        preAllocatedVUs: 10,
        maxVUs: 100,
        env: { TENANT: tenant },
      },
    ]),
  ),
  thresholds: Object.assign(
    { ...account },
    ...tenants.map((tenant) => ({
      [`prony_cycles{tenant:${tenant}}`]: ['count>0'],
      [`prony_cycle_duration{tenant:${tenant}}`]: [`p(99)<${number('P99_MS', 1000)}`],
    })),
  ),
};

export default async function () {
  const tenant = __ENV.TENANT;
  await client.produce({ queue: name, payload: { of: tenant } }, { tenant });
  const tasks = await client.claim({ queue: name, tenant, wait: '5s' });
  check(tasks, {
    'a task came': (tasks) => tasks.length === 1,
    "it is the tenant's own": (tasks) => tasks.every((task) => task.tenant === tenant && task.json().of === tenant),
  });
  await client.complete(tasks);
}

export async function teardown() {
  for (const tenant of tenants) {
    await drain(client, [name], { tenant, quiet_ms: 1000 });
  }
  balanced();
}
