package admin

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/shard"
	"github.com/pronybench/prony/engine/storage"
)

// taskPlace encodes a position in a list of tasks as shard:1 | position in the shard.
func taskPlace(p *shard.ListPlace) []byte { return append([]byte{byte(p.Shard)}, p.After...) }

func parseTaskPlace(at []byte) shard.ListPlace {
	if len(at) == 0 {
		return shard.ListPlace{}
	}
	return shard.ListPlace{Shard: int(at[0]), After: storage.Place(at[1:])}
}

// queuePlace encodes the position after a queue in a list of queues. The separator never occurs in
// names.
func queuePlace(n queue.Name) []byte { return []byte(n.Tenant + "\x00" + n.Queue) }

func parseQueuePlace(at []byte) (*queue.Name, error) {
	tenant, name, ok := strings.Cut(string(at), "\x00")
	if !ok {
		return nil, call.ErrPageToken
	}
	return &queue.Name{Tenant: tenant, Queue: name}, nil
}

// errStandsAlone refuses a cluster change on a standalone server.
var errStandsAlone = status.Error(codes.FailedPrecondition, "this is a standalone server: start it with --cluster-node")
