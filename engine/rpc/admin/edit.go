package admin

import (
	"context"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
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
	return atLeader(ctx, a, int(id.Shard), true, in, local, adminpb.AdminServiceClient.EditDead)
}

// edit validates and converts the edit of a request.
func (a *Service) edit(tenant string, in *adminpb.EditDeadRequest) (queue.Edit, error) {
	e := queue.Edit{
		SetPayload: in.Payload != nil, Payload: in.GetPayload(),
		SetHeaders: len(in.GetHeaders()) > 0 || in.GetRemoveHeaders(), Headers: in.GetHeaders(),
	}
	switch {
	case !e.SetPayload && !e.SetHeaders:
		return e, &queue.FieldError{Field: "payload", Problem: "is not set, and neither are headers: set one of them"}
	case len(in.GetHeaders()) > 0 && in.GetRemoveHeaders():
		return e, &queue.FieldError{Field: "remove_headers", Problem: "is set together with headers: set one of them"}
	}
	if err := call.FieldErr(a.limits.CheckPayload(e.Payload)); err != nil {
		return e, err
	}
	if err := call.FieldErr(queue.CheckHeaders(e.Headers)); err != nil {
		return e, err
	}
	return e, a.registry.CheckPayload(tenant, len(e.Payload))
}
