package admin

import (
	"context"
	"fmt"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
	"github.com/pronybench/prony/engine/rpc/route"
)

// EditDead implements adminpb.AdminServiceServer.
func (a *Service) EditDead(ctx context.Context, in *adminpb.EditDeadRequest) (*adminpb.EditDeadResponse, error) {
	tenant, err := call.Tenant(ctx, access.Admin, in.GetTenant())
	var id queue.ID
	if err == nil {
		if id, err = queue.ParseID(in.GetId()); err != nil {
			err = call.IDError(err)
		}
	}
	var e queue.Edit
	if err == nil {
		e, err = a.edit(tenant, in)
	}
	if err != nil {
		return nil, a.refuse(err)
	}
	local := func(ctx context.Context, _ *adminpb.EditDeadRequest) (*adminpb.EditDeadResponse, error) {
		if err := a.shards.EditDead(ctx, tenant, id, &e); err != nil {
			return nil, a.refuse(err)
		}
		return &adminpb.EditDeadResponse{}, nil
	}
	if !a.router.Routes(ctx) {
		return local(ctx, in)
	}
	return route.Follow(ctx, a.router, int(id.Shard), true, route.ForwardMax, route.AdminCall(local, adminpb.AdminServiceClient.EditDead).Of(in))
}

// edit validates and converts the edit of a request.
func (a *Service) edit(tenant string, in *adminpb.EditDeadRequest) (queue.Edit, error) {
	e := queue.Edit{
		SetPayload: in.Payload != nil, Payload: in.GetPayload(),
		SetHeaders: len(in.GetHeaders()) > 0 || in.GetRemoveHeaders(), Headers: in.GetHeaders(),
	}
	n := len(e.Payload)
	switch {
	case !e.SetPayload && !e.SetHeaders:
		return e, &queue.FieldError{Field: "payload", Problem: "is not set, and neither are headers: set one of them"}
	case len(in.GetHeaders()) > 0 && in.GetRemoveHeaders():
		return e, &queue.FieldError{Field: "remove_headers", Problem: "is set together with headers: set one of them"}
	case n > a.limits.PayloadBytesMax:
		return e, &queue.FieldError{Field: "payload", Problem: fmt.Sprintf("has %d bytes: send at most %d", n, a.limits.PayloadBytesMax)}
	}
	if err := call.FieldErr(queue.CheckHeaders(e.Headers)); err != nil {
		return e, err
	}
	return e, a.registry.CheckPayload(tenant, n)
}
