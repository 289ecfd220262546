package bare

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// A failed server ends the client's measurement with its error.
func TestAServerThatFailsEndsTheMeasurement(t *testing.T) {
	s, c := &serverSide{}, &clientSide{}
	at, err := s.serve(t.Context(), serveArguments{Folder: filepath.Join(t.TempDir(), storeFolder)})
	require.NoError(t, err)
	require.NoError(t, c.connect(t.Context(), connectArguments{at.Address, 1}))
	require.NoError(t, c.cycle(0))
	s.group.run(func() error { return assert.AnError })
	_, err = c.measure(t.Context(), measureArguments{For: forever})
	require.ErrorContains(t, err, "receive ")
	require.ErrorContains(t, c.stop(), "receive ")
	require.ErrorIs(t, s.stop(), assert.AnError)
}

const forever = 1 << 62

// A client rejects unexpected acknowledgements and tasks.
func TestAClientRefusesWrongReplies(t *testing.T) {
	for says, reply := range map[string][]byte{
		"expected 1 acknowledgements, got 2": append([]byte{kindEnqueued}, sequencesOf(1, 2)...),
		"expected a frame of kind 'a'":       {kindTasks, 1},
		"length does not match its parts":    {kindEnqueued, 1},
	} {
		c := &clientSide{batch: 1, group: newGroup(t.Context())}
		outstanding := make(chan []call, 1)
		outstanding <- []call{{make(chan struct{}, 1)}}
		require.ErrorContains(t, c.receiveEnqueued(&oneReply{frame: reply}, outstanding), says)
		require.NoError(t, c.stop())
	}
	c := &clientSide{batch: 1, group: newGroup(t.Context())}
	require.ErrorContains(t, c.receiveTasks(&oneReply{frame: []byte{kindEnqueued, 1}}, nil), "expected a frame of kind 't'")
	require.NoError(t, c.stop())
}

// oneReply is a stream with one message from the server.
type oneReply struct {
	grpc.ClientStream
	frame []byte
}

func (o *oneReply) RecvMsg(into any) error {
	if o.frame == nil {
		return context.Canceled
	}
	into.(*frame).bytes, o.frame = o.frame, nil
	return nil
}
