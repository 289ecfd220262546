//go:build serialbudget

package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/engine/queuepb"
)

// The stream has more frames than the bound on unanswered frames, so answers must free their slots.
func TestNoopFramesAreAnsweredWithoutIDs(t *testing.T) {
	const frames = 1_000
	s := serve(t, nil)
	p := s.produce()
	seen := map[uint64]bool{}
	for f := range uint64(frames) {
		p.send(&queuepb.ProduceRequest{Frame: f})
	}
	for _, a := range p.answers(frames) {
		assert.Empty(t, a.GetIds())
		assert.Empty(t, a.GetErrors())
		seen[a.GetFrame()] = true
	}
	assert.Len(t, seen, frames, "each frame has one answer")
	p.send(&queuepb.ProduceRequest{Frame: frames, Tasks: []*queuepb.NewTask{{Queue: "q"}}})
	assert.Len(t, p.answers(1)[0].GetIds(), 1, "the stream takes tasks as well")
	assert.NoError(t, p.CloseSend())
	assert.NoError(t, p.end())
}
