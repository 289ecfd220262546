package k6

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/client"
)

func TestATaskHasItsHeaders(t *testing.T) {
	server := startServer(t)
	c, err := client.Dial(server.address, client.WithToken(server.token))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	p, err := c.Producer(t.Context(), "")
	require.NoError(t, err)
	id, err := p.Enqueue(t.Context(), client.Task{Queue: "q", Headers: map[string]string{"kind": "mail", "to": "me"}})
	require.NoError(t, err)
	require.NoError(t, p.Close(t.Context()))
	run(t, server.env(), "const c = queue.connect();").must(`
		const {headers} = await c.task('` + id + `');
		if (headers.kind !== 'mail' || headers.to !== 'me' || Object.keys(headers).length !== 2) throw new Error(JSON.stringify(headers));
		await c.close();`)
}

// Headers are delivered as the script set them, through plain calls and sessions.
func TestAScriptSetsHeaders(t *testing.T) {
	server := startServer(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			run(t, server.env(), "const c = queue.connect();"+way).must(`
				const sent = [
					[{headers: {to: 'me', 'x-1_y.z': 'äöü', empty: ''}, kind: 'mail'}, {empty: '', kind: 'mail', to: 'me', 'x-1_y.z': 'äöü'}],
					[{headers: {kind: 'a'}, kind: 'a'}, {kind: 'a'}],
					[{headers: {}}, {}],
					[{}, {}],
				];
				for (const [given, want] of sent) {
					const [id] = await produce({queue: 'q', payload: 'x', ...given});
					let [t] = await claim({max: 1, wait: '10s'});
					for (const headers of [t.headers, (await c.task(id)).headers]) {
						const got = JSON.stringify(Object.entries(headers).sort());
						if (got !== JSON.stringify(Object.entries(want))) throw new Error(got);
					}
					await s.complete(t);
				}
				await c.close();`)
		})
	}
}

// A script enqueues a batch and a task that waits for it, through plain calls and sessions.
func TestAScriptSetsDependencies(t *testing.T) {
	server := startServer(t)
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			run(t, server.env(), "const c = queue.connect();"+way).must(`
				const [final] = await produce({queue: 'q', payload: 'final', batchSize: 2, deadDependency: 'die'});
				const members = await produce([{queue: 'q', payload: 'a', batch: final}, {queue: 'q', payload: 'b', batch: final}]);
				const [last] = await produce({queue: 'q', payload: 'last', after: [final, members[0]], deadDependency: 'run'});
				const order = [];
				while (order.length < 4) {
					for (const t of await claim({max: 1, wait: '10s'})) {
						order.push(t.id);
						await s.complete(t);
					}
				}
				if (JSON.stringify(order.slice(2)) !== JSON.stringify([final, last])) throw new Error(JSON.stringify(order));
				await c.close();`)
		})
	}
}
