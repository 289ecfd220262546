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
