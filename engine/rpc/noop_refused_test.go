//go:build !serialbudget

package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

func TestAnEmptyFrameIsRefused(t *testing.T) {
	p := serve(t, nil).produce()
	p.send(&queuepb.ProduceRequest{Frame: 1})
	err := p.end()
	assert.Equal(t, codes.InvalidArgument, status.Code(err))
	assert.ErrorContains(t, err, "tasks: is empty: send at least one")
}
