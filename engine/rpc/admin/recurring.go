package admin

import (
	"context"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/rpc/call"
)

type recurringRequest interface {
	queueRequest
	GetName() string
}

// ofRecurring checks the caller and the names of a call on one recurring task, and executes the
// call at the leader of the task's shard.
func ofRecurring[Q recurringRequest, R any](ctx context.Context, a *Service, in Q, repeatable bool,
	here func(ctx context.Context, tenant string, in Q) (R, error), there func(adminpb.AdminServiceClient, context.Context, Q, ...grpc.CallOption) (R, error),
) (R, error) {
	var none R
	tenant, err := target(ctx, in)
	if err == nil {
		err = call.FieldErr(queue.CheckName("name", in.GetName()))
	}
	if err != nil {
		return none, a.refuse(err)
	}
	local := func(ctx context.Context, in Q) (R, error) {
		out, err := here(ctx, tenant, in)
		if err != nil {
			return none, a.refuse(err)
		}
		return out, nil
	}
	return atLeader(ctx, a, a.shards.RecurringShard(tenant, in.GetQueue()), repeatable, in, local, there)
}

// SetRecurring implements adminpb.AdminServiceServer.
func (a *Service) SetRecurring(ctx context.Context, in *adminpb.SetRecurringRequest) (*adminpb.SetRecurringResponse, error) {
	return ofRecurring(ctx, a, in, true, func(ctx context.Context, tenant string, in *adminpb.SetRecurringRequest) (*adminpb.SetRecurringResponse, error) {
		spec, err := a.recurringSpec(in)
		if err == nil {
			err = a.registry.CheckPayload(tenant, len(spec.Template.Payload))
		}
		if err != nil {
			return nil, err
		}
		v, err := a.shards.SetRecurring(ctx, tenant, in.GetQueue(), in.GetName(), spec)
		if err != nil {
			return nil, err
		}
		return &adminpb.SetRecurringResponse{Recurring: a.recurringMessage(&v)}, nil
	}, adminpb.AdminServiceClient.SetRecurring)
}

// GetRecurring implements adminpb.AdminServiceServer.
func (a *Service) GetRecurring(ctx context.Context, in *adminpb.GetRecurringRequest) (*adminpb.GetRecurringResponse, error) {
	return ofRecurring(ctx, a, in, true, func(ctx context.Context, tenant string, in *adminpb.GetRecurringRequest) (*adminpb.GetRecurringResponse, error) {
		v, err := a.shards.Recurring(ctx, tenant, in.GetQueue(), in.GetName())
		if err != nil {
			return nil, err
		}
		return &adminpb.GetRecurringResponse{Recurring: a.recurringMessage(&v)}, nil
	}, adminpb.AdminServiceClient.GetRecurring)
}

// PauseRecurring implements adminpb.AdminServiceServer.
func (a *Service) PauseRecurring(ctx context.Context, in *adminpb.PauseRecurringRequest) (*adminpb.PauseRecurringResponse, error) {
	return ofRecurring(ctx, a, in, true, func(ctx context.Context, tenant string, in *adminpb.PauseRecurringRequest) (*adminpb.PauseRecurringResponse, error) {
		return &adminpb.PauseRecurringResponse{}, a.shards.PauseRecurring(ctx, tenant, in.GetQueue(), in.GetName(), true)
	}, adminpb.AdminServiceClient.PauseRecurring)
}

// ResumeRecurring implements adminpb.AdminServiceServer.
func (a *Service) ResumeRecurring(ctx context.Context, in *adminpb.ResumeRecurringRequest) (*adminpb.ResumeRecurringResponse, error) {
	return ofRecurring(ctx, a, in, true, func(ctx context.Context, tenant string, in *adminpb.ResumeRecurringRequest) (*adminpb.ResumeRecurringResponse, error) {
		return &adminpb.ResumeRecurringResponse{}, a.shards.PauseRecurring(ctx, tenant, in.GetQueue(), in.GetName(), false)
	}, adminpb.AdminServiceClient.ResumeRecurring)
}

// RunRecurring implements adminpb.AdminServiceServer.
func (a *Service) RunRecurring(ctx context.Context, in *adminpb.RunRecurringRequest) (*adminpb.RunRecurringResponse, error) {
	return ofRecurring(ctx, a, in, false, func(ctx context.Context, tenant string, in *adminpb.RunRecurringRequest) (*adminpb.RunRecurringResponse, error) {
		id, err := a.shards.RunRecurring(ctx, tenant, in.GetQueue(), in.GetName())
		return &adminpb.RunRecurringResponse{Id: id.String()}, err
	}, adminpb.AdminServiceClient.RunRecurring)
}

// DeleteRecurring implements adminpb.AdminServiceServer.
func (a *Service) DeleteRecurring(ctx context.Context, in *adminpb.DeleteRecurringRequest) (*adminpb.DeleteRecurringResponse, error) {
	return ofRecurring(ctx, a, in, false, func(ctx context.Context, tenant string, in *adminpb.DeleteRecurringRequest) (*adminpb.DeleteRecurringResponse, error) {
		return &adminpb.DeleteRecurringResponse{}, a.shards.DeleteRecurring(ctx, tenant, in.GetQueue(), in.GetName())
	}, adminpb.AdminServiceClient.DeleteRecurring)
}
