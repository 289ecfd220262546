package jobs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"
)

// errorBytesMax is the server's default limit of an error text.
const errorBytesMax = 4 << 10

func fail(text string) *queuepb.Settlement {
	if len(text) > errorBytesMax {
		text = text[:errorBytesMax]
	}
	return &queuepb.Settlement{Action: queuepb.SettleAction_SETTLE_ACTION_FAIL, Error: strings.ToValidUTF8(text, "")}
}

func release(d time.Duration) *queuepb.Settlement {
	return &queuepb.Settlement{Action: queuepb.SettleAction_SETTLE_ACTION_RELEASE, DelayMs: uint64(max(d.Milliseconds(), 0))}
}

// settle settles or extends the lease of a task: over the session, or with a unary call if the
// session has ended.
func (r *run) settle(ctx context.Context, t *queuepb.Task, s *queuepb.Settlement) error {
	err := r.settleInSession(ctx, t, s)
	if !errors.Is(err, client.ErrClosed) {
		return err
	}
	result, err := r.settleUnary(ctx, t, s)
	if refused := result.GetError(); err == nil && refused != nil {
		return &client.Error{Code: refused.GetCode(), Field: refused.GetField(), Message: refused.GetMessage()}
	}
	return err
}

func (r *run) settleInSession(ctx context.Context, t *queuepb.Task, s *queuepb.Settlement) error {
	delay := time.Duration(s.GetDelayMs()) * time.Millisecond
	switch s.GetAction() {
	case queuepb.SettleAction_SETTLE_ACTION_COMPLETE:
		return r.session.CompleteWith(ctx, t, s.GetResult())
	case queuepb.SettleAction_SETTLE_ACTION_RELEASE:
		return r.session.Release(ctx, t, delay)
	case queuepb.SettleAction_SETTLE_ACTION_EXTEND:
		return r.session.ExtendWithNote(ctx, t, time.Duration(s.GetLeaseMs())*time.Millisecond, s.GetError())
	}
	if s.GetPermanent() {
		return r.session.FailPermanently(ctx, t, s.GetError())
	}
	return r.session.Fail(ctx, t, s.GetError(), delay)
}

func (r *run) settleUnary(ctx context.Context, t *queuepb.Task, s *queuepb.Settlement) (*queuepb.SettleResult, error) {
	api, id, token := r.Client.API(), t.GetId(), t.GetToken()
	switch s.GetAction() {
	case queuepb.SettleAction_SETTLE_ACTION_COMPLETE:
		return only(api.Complete(ctx, &queuepb.CompleteRequest{Tenant: r.Tenant, Completions: []*queuepb.Completion{{Id: id, Token: token, Result: s.GetResult()}}}))
	case queuepb.SettleAction_SETTLE_ACTION_RELEASE:
		return only(api.Release(ctx, &queuepb.ReleaseRequest{Tenant: r.Tenant, Releases: []*queuepb.Releasing{{Id: id, Token: token, DelayMs: s.GetDelayMs()}}}))
	case queuepb.SettleAction_SETTLE_ACTION_EXTEND:
		return only(api.Extend(ctx, &queuepb.ExtendRequest{Tenant: r.Tenant, Extensions: []*queuepb.Extension{{Id: id, Token: token, LeaseMs: s.GetLeaseMs(), Note: s.GetError()}}}))
	}
	return only(api.Fail(ctx, &queuepb.FailRequest{Tenant: r.Tenant, Failures: []*queuepb.Failure{
		{Id: id, Token: token, Error: s.GetError(), DelayMs: s.GetDelayMs(), Permanent: s.GetPermanent()},
	}}))
}

// only returns the result of a call with one item.
func only[A interface {
	GetResults() []*queuepb.SettleResult
}](out A, err error) (*queuepb.SettleResult, error) {
	if err != nil {
		return nil, err
	}
	if len(out.GetResults()) != 1 {
		return nil, errors.New("the server's answer has no result")
	}
	return out.GetResults()[0], nil
}
