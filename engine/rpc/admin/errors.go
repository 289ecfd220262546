package admin

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queue"
)

// errStandsAlone refuses a change of the cluster if the server is in no cluster.
var errStandsAlone = status.Error(codes.FailedPrecondition, "this server stands alone: start it with --cluster-node")

// errPageToken refuses a page token that is damaged or of another list.
var errPageToken = &queue.FieldError{Field: "page_token", Problem: "is not of this list: pass next_page_token of its page before, with all else unchanged, or none for the first page"}
