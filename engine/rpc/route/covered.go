package route

import (
	"context"
	"math"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/shard"
)

// A node executes a call for the shards that its group has at that moment. These can be fewer than
// the shards that the node leads according to another node or to Raft: a leader serves a shard only
// after it has recovered the shard's state. Therefore the trailer of each forwarded admin call
// lists the shards that the call was executed for.

// coveredKey is the key of that trailer. The value is a coverage as a decimal number.
const coveredKey = "prony-covered"

var adminPrefix = "/" + adminpb.AdminService_ServiceDesc.ServiceName + "/"

// coverage is a set of shards: bit i is set if shard i is in the set.
type coverage uint64

// coversAll is used as the coverage of a node whose version does not report one.
const coversAll = coverage(math.MaxUint64)

func coverageOf(g *shard.Group) (c coverage) {
	for _, i := range g.Led() {
		c |= 1 << i
	}
	return c
}

func (c coverage) has(shard int) bool { return c>>shard&1 == 1 }

// SendCoverage returns an interceptor that adds the coverage to the answers of calls from other
// nodes. shards are this node's shards.
func SendCoverage(shards *shard.Group) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, in any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if !strings.HasPrefix(info.FullMethod, adminPrefix) {
			return next(ctx, in)
		}
		before := coverageOf(shards)
		out, err := next(ctx, in)
		covered := strconv.FormatUint(uint64(before&coverageOf(shards)), 10)
		if failed := grpc.SetTrailer(ctx, metadata.Pairs(coveredKey, covered)); err == nil {
			err = failed
		}
		return out, err
	}
}

func readCoverage(trailer metadata.MD) coverage {
	values := trailer.Get(coveredKey)
	if len(values) == 0 {
		return coversAll
	}
	c, err := strconv.ParseUint(values[0], 10, 64)
	if err != nil {
		return 0
	}
	return coverage(c)
}

// covering executes a call at a node, and returns the shards for which it was executed.
func (r *Router) covering(t *Target, do func() error) (coverage, error) {
	if !t.Local() {
		err := do()
		return t.forward.covered, err
	}
	before := coverageOf(r.group)
	err := do()
	return before & coverageOf(r.group), err
}
