package admin

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queue"
)

// errStandsAlone refuses a cluster change on a standalone server.
var errStandsAlone = status.Error(codes.FailedPrecondition, "this is a standalone server: start it with --cluster-node")

// errPageToken refuses a page token that is damaged or belongs to another list.
var errPageToken = &queue.FieldError{Field: "page_token", Problem: "does not belong to this list: pass next_page_token of the previous page with otherwise unchanged fields, or none for the first page"}
