package k6

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/k6/k6api/k6test"
)

// Scripts can enqueue and work with plain calls or with sessions.
var ways = map[string]string{
	"plain calls": `const produce = (t) => c.produce(t), claim = (o) => c.claim({queue: 'q', ...o}), s = c;`,
	"sessions":    `const p = c.producer(), s = c.worker({queues: ['q'], slots: 16}), produce = (t) => p.produce(t), claim = (o) => s.claim(o);`,
}

func TestACycleIsEnteredAndCounted(t *testing.T) {
	server := startServer(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := run(t, server.env(), "const c = queue.connect();"+way)
			s.must(`
				const ids = await produce({queue: 'q', size: 64, count: 3});
				if (ids.length !== 3 || !ids[0]) throw new Error('ids ' + ids);
				const tasks = [];
				while (tasks.length < 3) tasks.push(...await claim({max: 3}));
				if (tasks[0].id !== ids[0] || tasks[0].attempt !== 1 || tasks[0].queue !== 'q' || tasks[0].tenant !== 'default') throw new Error('task');
				if (tasks[0].bytes().byteLength !== 32) throw new Error('payload');
				await s.complete(tasks);
				if ((await claim({wait: 0})).length !== 0) throw new Error('more');
				await c.close();`)
			b := s.must(`return queue.balance()`).(map[string]any)
			assert.EqualValues(t, 3, b["completed"])
			for _, none := range []string{"lost", "duplicated", "corrupted", "misrouted", "outstanding", "unknown"} {
				assert.EqualValues(t, 0, b[none], none)
			}
			require.NoError(t, s.module.process.finish())
			sums, counts := s.Sum()
			assert.EqualValues(t, 3, sums["prony_cycles"])
			assert.GreaterOrEqual(t, counts["prony_enqueue_duration"], 1)
			assert.GreaterOrEqual(t, counts["prony_cycle_duration"], 1)
			assert.GreaterOrEqual(t, counts["prony_settle_duration"], 1)
			for _, none := range []string{"prony_lost", "prony_duplicated", "prony_corrupted", "prony_misrouted", "prony_refused", "prony_failed_calls"} {
				assert.EqualValues(t, 0, sums[none], none)
				assert.Equal(t, 1, counts[none], "%s has a sample, so that a threshold on it is evaluated", none)
			}
		})
	}
}

func TestPayloadsComeBackAsTheyWere(t *testing.T) {
	server := startServer(t)
	for _, ledger := range []string{"true", "false"} {
		s := run(t, server.env(), `const c = queue.connect({ledger: `+ledger+`});`)
		for payload, read := range map[string]string{
			`'text äöü'`:                  `t.text() === 'text äöü'`,
			`({a: [1, 'b']})`:             `JSON.stringify(t.json()) === '{"a":[1,"b"]}'`,
			`[1, 2]`:                      `t.json()[1] === 2`,
			`new Uint8Array([0, 255, 7])`: `String(new Uint8Array(t.bytes())) === '0,255,7'`,
			`new Uint8Array([9]).buffer`:  `String(new Uint8Array(t.bytes())) === '9'`,
			`''`:                          `t.text() === ''`,
		} {
			s.must(`
				await c.produce({queue: 'p', payload: ` + payload + `});
				const [t] = await c.claim({queue: 'p'});
				if (!(` + read + `)) throw new Error(t.text());
				await c.complete(t);`)
		}
		b := s.must(`return queue.balance()`).(map[string]any)
		assert.EqualValues(t, map[string]int{"true": 6, "false": 0}[ledger], b["completed"])
		assert.EqualValues(t, 0, b["corrupted"])
	}
}

func TestWithoutTheLedgerTasksAreWhatOthersSee(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const plain = queue.connect({ledger: false}), c = queue.connect();`)
	s.must(`
		await plain.produce({queue: 'q', payload: 'abc'});
		const [t] = await plain.claim({queue: 'q'});
		if (t.text() !== 'abc') throw new Error(t.text());
		await plain.complete(t);
		await c.produce({queue: 'q', payload: 'abc'});
		const [u] = await plain.claim({queue: 'q'});
		if (u.bytes().byteLength !== 35) throw new Error('no header');`)
	sums, _ := s.Sum()
	assert.EqualValues(t, 1, sums["prony_cycles"])
}

func TestLeasesEndInEachWay(t *testing.T) {
	server := startServer(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := run(t, server.env(), "const c = queue.connect();"+way+`
				const one = async () => { for (;;) { const [t] = await claim({max: 1}); if (t) return t; } };`)
			s.must(`
				const [id] = await produce({queue: 'q', payload: 'x', resultRetention: '1m'});
				let t = await one();
				await s.extend(t, {lease: '50s'});
				await s.release(t);
				t = await one();
				if (t.attempt !== 1) throw new Error('a release used an attempt up');
				await s.fail(t, {reason: 'no', delay: 1});
				t = await one();
				if (t.attempt !== 2) throw new Error('attempt ' + t.attempt);
				if ((await c.task(id)).lastError !== 'no') throw new Error('reason');
				await s.complete(t, {result: {sum: 3}});
				const r = await c.result(id, {wait: '5s'});
				if (r.state !== 'done' || String.fromCharCode(...new Uint8Array(r.result)) !== '{"sum":3}') throw new Error(JSON.stringify(r));
				await c.close();`)
			b := s.must(`return queue.balance()`).(map[string]any)
			assert.EqualValues(t, 1, b["completed"])
			assert.EqualValues(t, 0, b["lost"])
		})
	}
}

func TestAStaleLeaseIsRefused(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect();`)
	_, err := s.do(`
		await c.produce({queue: 'q', size: 64, count: 2});
		const tasks = await c.claim({queue: 'q', max: 2});
		await c.complete(tasks[0]);
		await c.complete(tasks);`)
	require.Error(t, err)
	assert.Regexp(t, `^prony: complete: the server refused 1 of 2: task 0: `, err.Error())
	assert.Equal(t, "stale_token", fieldOf(t, err, "code"))
	assert.Equal(t, "complete", fieldOf(t, err, "call"))
	b := s.must(`return queue.balance()`).(map[string]any)
	assert.EqualValues(t, 2, b["completed"], "the other task was completed")
	assert.EqualValues(t, 0, b["duplicated"])
	sums, _ := s.Sum()
	assert.EqualValues(t, 2, sums["prony_cycles"])
	assert.EqualValues(t, 1, sums["prony_refused"])
}

func TestALostTaskIsFound(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect();`)
	s.must(`await c.produce({queue: 'q', size: 64, count: 2}); const [t] = await c.claim({queue: 'q'}); await c.complete(t);`)
	b := s.must(`return queue.balance()`).(map[string]any)
	assert.EqualValues(t, 1, b["lost"])
	assert.Equal(t, []any{"lost: producer 0 task 1: enqueue acknowledged, never completed"}, b["samples"])
	require.NoError(t, s.module.process.finish())
	sums, _ := s.Sum()
	assert.EqualValues(t, 1, sums["prony_lost"])
}

func TestATaskOfAnotherQueueIsFound(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect(), others = queue.connect({ledger: false});`)
	s.must(`
		await c.produce({queue: 'a', size: 64});
		const [t] = await others.claim({queue: 'a'});
		await others.produce({queue: 'b', payload: t.bytes()});
		await c.complete(await c.claim({queue: 'b'}));`)
	b := s.must(`return queue.balance()`).(map[string]any)
	assert.EqualValues(t, 1, b["misrouted"])
	require.NoError(t, s.module.process.finish())
	sums, _ := s.Sum()
	assert.EqualValues(t, 1, sums["prony_misrouted"])
	assert.EqualValues(t, 0, sums["prony_cycles"], "a task from another producer is not a cycle")
}

// A claim may name its tenant: tasks of that tenant are not misrouted.
func TestAClaimNamesItsTenant(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect(), other = queue.connect({tenant: 'other'});`)
	s.must(`
		await other.produce({queue: 'q', size: 64});
		await c.complete(await c.claim({queue: 'q', tenant: 'other'}));`)
	b := s.must(`return queue.balance()`).(map[string]any)
	assert.EqualValues(t, 0, b["misrouted"])
	assert.EqualValues(t, 1, b["completed"])
}

func TestTheAdminListenerIsRead(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect();`)
	s.must(`
		await c.produce({queue: 'a', size: 64, count: 2});
		await c.produce({queue: 'b', payload: 'x', maxAttempts: 1});
		const [t] = await c.claim({queue: 'b'});
		await c.fail(t, {reason: 'broken'});
		const expect = (what, is) => { if (!is) throw new Error(what); };
		const status = await c.admin.status();
		expect('status', status.ready === true && status.shards === 1);
		const queues = await c.admin.queues();
		expect('queues ' + JSON.stringify(queues), queues.map(q => q.queue).sort().join() === 'a,b');
		const a = await c.admin.queue('a');
		expect('a ' + JSON.stringify(a), a.ready === 2);
		expect('tasks', (await c.admin.tasks({queue: 'a', limit: 1})).length === 1);
		expect('leased', (await c.admin.tasks({queue: 'a', state: 'leased'})).length === 0);
		const dead = await c.admin.dead({queue: 'b'});
		expect('dead ' + JSON.stringify(dead), dead.length === 1);
		expect('tenants', (await c.admin.tenants()).length >= 1);`)
}

func TestIdempotencyKeysMakeOneTask(t *testing.T) {
	server := startServer(t)
	s := run(t, server.env(), `const c = queue.connect({ledger: false});`)
	s.must(`
		const [a] = await c.produce({queue: 'q', payload: '1', key: 'k'});
		const p = c.producer({idempotent: true});
		const [b] = await p.produce({queue: 'q', payload: '2', key: 'k'});
		if (a !== b) throw new Error(a + ' ' + b);
		await p.produce({queue: 'q', payload: '3'});
		await p.close();
		if ((await c.admin.queue('q')).ready !== 2) throw new Error('not 2');`)
}

// A script may open a session for each iteration: closed sessions do not accumulate.
func TestClosedSessionsAreForgotten(t *testing.T) {
	server := startServer(t)
	module := New()
	s := &script{VU: k6test.NewVU(t, module, server.env()), t: t, module: module}
	i := module.NewModuleInstance(s.VU.VU).(*instance)
	s.Run()
	c := newClient(i, connectOptions{connection: connection{address: server.address, admin: server.admin, token: server.token, connections: 1}, tenant: "default", timeout: time.Minute, ledger: true})
	require.NoError(t, s.VU.VU.Runtime().Set("c", c.object()))
	s.must(`
		for (let i = 0; i < 5; i++) {
			const p = c.producer(), w = c.worker({queues: ['q']});
			await p.produce({queue: 'q', size: 64});
			await w.complete(await w.claim());
			await Promise.all([p.close(), w.close()]);
		}
		c.producer();`)
	assert.Len(t, c.open, 1)
	s.must(`await c.close()`)
	assert.Empty(t, c.open)
	require.NoError(t, module.process.finish())
}
