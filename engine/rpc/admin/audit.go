package admin

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// change declares what the log has of a call that changes something.
type change struct {
	// in are fields of the request. A list is logged as its length.
	in []protoreflect.Name
	// out are fields of the answer. Results are logged as the number of refused items.
	out []protoreflect.Name
}

// These fields occur in several calls.
var (
	queueNames     = []protoreflect.Name{"tenant", "queue"}
	recurringNames = []protoreflect.Name{"tenant", "queue", "name"}
	nodeName       = []protoreflect.Name{"node"}
	results        = []protoreflect.Name{"results"}
)

// changes are the calls that change something, by name. No field may contain payloads, headers,
// error texts or secrets.
var changes = map[string]change{
	"ConfigureQueue":     {in: queueNames},
	"PauseQueue":         {in: queueNames},
	"ResumeQueue":        {in: queueNames},
	"PurgeQueue":         {in: queueNames, out: []protoreflect.Name{"removed"}},
	"DeleteQueue":        {in: []protoreflect.Name{"tenant", "queue", "force"}, out: []protoreflect.Name{"removed"}},
	"CancelTasks":        {in: []protoreflect.Name{"tenant", "ids"}, out: results},
	"RescheduleTasks":    {in: []protoreflect.Name{"tenant", "ids", "due_at_ms"}, out: results},
	"PrioritizeTasks":    {in: []protoreflect.Name{"tenant", "ids", "priority"}, out: results},
	"RedriveDead":        {in: []protoreflect.Name{"tenant", "queue", "ids"}, out: []protoreflect.Name{"redriven", "results"}},
	"EditDead":           {in: []protoreflect.Name{"tenant", "id"}},
	"PurgeDead":          {in: []protoreflect.Name{"tenant", "queue", "ids"}, out: []protoreflect.Name{"removed", "results"}},
	"SetRecurring":       {in: recurringNames},
	"PauseRecurring":     {in: recurringNames},
	"ResumeRecurring":    {in: recurringNames},
	"RunRecurring":       {in: recurringNames, out: []protoreflect.Name{"id"}},
	"DeleteRecurring":    {in: recurringNames},
	"ConfigureTenant":    {in: []protoreflect.Name{"tenant"}},
	"CreateToken":        {in: []protoreflect.Name{"tenant", "expires_in_ms"}, out: []protoreflect.Name{"token"}},
	"RotateToken":        {in: []protoreflect.Name{"grace_ms"}, out: []protoreflect.Name{"token"}},
	"RevokeToken":        {in: []protoreflect.Name{"id"}},
	"Backup":             {in: []protoreflect.Name{"name"}, out: []protoreflect.Name{"path"}},
	"AddMember":          {in: []protoreflect.Name{"node", "address", "nonvoter"}},
	"RemoveMember":       {in: nodeName},
	"PromoteMember":      {in: nodeName},
	"DemoteMember":       {in: nodeName},
	"TransferLeadership": {in: []protoreflect.Name{"shard", "node"}},
	"TakeSnapshot":       {in: []protoreflect.Name{"shard"}},
}

// valueBytesMax limits each text of a line.
const valueBytesMax = 128

// audited logs the calls that change something, and passes all calls to the embedded service.
type audited struct {
	adminpb.AdminServiceServer

	log *slog.Logger
}

// Audited returns a service that logs each call that changes something, in one line: the caller, its
// address, the call, the fields that change declares, and the outcome. A refused call is logged too.
// The gRPC and REST listeners and the page for operators of a node share one audited service. Calls
// that nodes forward to each other bypass it, so each call is logged once, by the node that received
// it from the client.
func Audited(s adminpb.AdminServiceServer, log *slog.Logger) adminpb.AdminServiceServer {
	return &audited{s, log}
}

// audit makes a call and logs it.
func audit[Q, R proto.Message](ctx context.Context, a *audited, in Q, next func(context.Context, Q) (R, error)) (R, error) {
	out, err := next(ctx, in)
	if !a.log.Enabled(ctx, slog.LevelInfo) {
		return out, err
	}
	method := strings.TrimSuffix(string(in.ProtoReflect().Descriptor().Name()), "Request")
	about := append(callerOf(ctx), slog.String("method", method), slog.String("outcome", status.Code(err).String()))
	about = appendFields(about, in.ProtoReflect(), changes[method].in)
	if err == nil {
		about = appendFields(about, out.ProtoReflect(), changes[method].out)
	}
	a.log.LogAttrs(ctx, slog.LevelInfo, "an administrative call", about...)
	return out, err
}

// callerOf returns who makes a call, and from where.
func callerOf(ctx context.Context) []slog.Attr {
	by, of := "no auth", ""
	if i, err := call.Identity(ctx); err == nil && i.TokenID != "" {
		by, of = i.TokenID, i.Tenant
	}
	return appendText(appendText(appendText(nil, "by", by), "by_tenant", of), "from", call.RemoteAddress(ctx))
}

// appendFields appends fields of a message. Absent fields and empty texts are omitted.
func appendFields(about []slog.Attr, m protoreflect.Message, names []protoreflect.Name) []slog.Attr {
	for _, name := range names {
		field := m.Descriptor().Fields().ByName(name)
		if field.HasPresence() && !m.Has(field) {
			continue
		}
		switch v := m.Get(field).Interface().(type) {
		case string:
			if name == "id" && !isID(v) { // it may be a secret
				v = "(not an id)"
			}
			about = appendText(about, string(name), v)
		case protoreflect.List:
			about = appendList(about, string(name), v)
		case protoreflect.Message:
			if t, ok := v.Interface().(*adminpb.Token); ok {
				about = append(about, slog.String("token", t.GetId()), slog.String("scopes", fmt.Sprint(t.GetScopes())))
			}
		default:
			about = append(about, slog.Any(string(name), v))
		}
	}
	return about
}

func isID(text string) bool {
	_, err := queue.ParseID(text)
	return err == nil || access.IsTokenID(text)
}

// appendList appends the length of a list, or the number of refused items of a list of results.
func appendList(about []slog.Attr, key string, list protoreflect.List) []slog.Attr {
	if key != "results" {
		return append(about, slog.Int(key, list.Len()))
	}
	refused := 0
	for i := range list.Len() {
		if r, ok := list.Get(i).Message().Interface().(*queuepb.SettleResult); ok && r.GetError() != nil {
			refused++
		}
	}
	return append(about, slog.Int("refused", refused))
}

// appendText appends a text, cut to valueBytesMax.
func appendText(about []slog.Attr, key, value string) []slog.Attr {
	if value == "" {
		return about
	}
	if len(value) > valueBytesMax {
		value = strings.ToValidUTF8(value[:valueBytesMax], "") + "…"
	}
	return append(about, slog.String(key, value))
}

// ConfigureQueue implements adminpb.AdminServiceServer.
func (a *audited) ConfigureQueue(ctx context.Context, in *adminpb.ConfigureQueueRequest) (*adminpb.ConfigureQueueResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.ConfigureQueue)
}

// PauseQueue implements adminpb.AdminServiceServer.
func (a *audited) PauseQueue(ctx context.Context, in *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.PauseQueue)
}

// ResumeQueue implements adminpb.AdminServiceServer.
func (a *audited) ResumeQueue(ctx context.Context, in *adminpb.ResumeQueueRequest) (*adminpb.ResumeQueueResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.ResumeQueue)
}

// PurgeQueue implements adminpb.AdminServiceServer.
func (a *audited) PurgeQueue(ctx context.Context, in *adminpb.PurgeQueueRequest) (*adminpb.PurgeQueueResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.PurgeQueue)
}

// DeleteQueue implements adminpb.AdminServiceServer.
func (a *audited) DeleteQueue(ctx context.Context, in *adminpb.DeleteQueueRequest) (*adminpb.DeleteQueueResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.DeleteQueue)
}

// CancelTasks implements adminpb.AdminServiceServer.
func (a *audited) CancelTasks(ctx context.Context, in *adminpb.CancelTasksRequest) (*adminpb.CancelTasksResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.CancelTasks)
}

// RescheduleTasks implements adminpb.AdminServiceServer.
func (a *audited) RescheduleTasks(ctx context.Context, in *adminpb.RescheduleTasksRequest) (*adminpb.RescheduleTasksResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.RescheduleTasks)
}

// PrioritizeTasks implements adminpb.AdminServiceServer.
func (a *audited) PrioritizeTasks(ctx context.Context, in *adminpb.PrioritizeTasksRequest) (*adminpb.PrioritizeTasksResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.PrioritizeTasks)
}

// RedriveDead implements adminpb.AdminServiceServer.
func (a *audited) RedriveDead(ctx context.Context, in *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.RedriveDead)
}

// EditDead implements adminpb.AdminServiceServer.
func (a *audited) EditDead(ctx context.Context, in *adminpb.EditDeadRequest) (*adminpb.EditDeadResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.EditDead)
}

// PurgeDead implements adminpb.AdminServiceServer.
func (a *audited) PurgeDead(ctx context.Context, in *adminpb.PurgeDeadRequest) (*adminpb.PurgeDeadResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.PurgeDead)
}

// SetRecurring implements adminpb.AdminServiceServer.
func (a *audited) SetRecurring(ctx context.Context, in *adminpb.SetRecurringRequest) (*adminpb.SetRecurringResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.SetRecurring)
}

// PauseRecurring implements adminpb.AdminServiceServer.
func (a *audited) PauseRecurring(ctx context.Context, in *adminpb.PauseRecurringRequest) (*adminpb.PauseRecurringResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.PauseRecurring)
}

// ResumeRecurring implements adminpb.AdminServiceServer.
func (a *audited) ResumeRecurring(ctx context.Context, in *adminpb.ResumeRecurringRequest) (*adminpb.ResumeRecurringResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.ResumeRecurring)
}

// RunRecurring implements adminpb.AdminServiceServer.
func (a *audited) RunRecurring(ctx context.Context, in *adminpb.RunRecurringRequest) (*adminpb.RunRecurringResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.RunRecurring)
}

// DeleteRecurring implements adminpb.AdminServiceServer.
func (a *audited) DeleteRecurring(ctx context.Context, in *adminpb.DeleteRecurringRequest) (*adminpb.DeleteRecurringResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.DeleteRecurring)
}

// ConfigureTenant implements adminpb.AdminServiceServer.
func (a *audited) ConfigureTenant(ctx context.Context, in *adminpb.ConfigureTenantRequest) (*adminpb.ConfigureTenantResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.ConfigureTenant)
}

// CreateToken implements adminpb.AdminServiceServer.
func (a *audited) CreateToken(ctx context.Context, in *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.CreateToken)
}

// RotateToken implements adminpb.AdminServiceServer.
func (a *audited) RotateToken(ctx context.Context, in *adminpb.RotateTokenRequest) (*adminpb.RotateTokenResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.RotateToken)
}

// RevokeToken implements adminpb.AdminServiceServer.
func (a *audited) RevokeToken(ctx context.Context, in *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.RevokeToken)
}

// Backup implements adminpb.AdminServiceServer.
func (a *audited) Backup(ctx context.Context, in *adminpb.BackupRequest) (*adminpb.BackupResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.Backup)
}

// AddMember implements adminpb.AdminServiceServer.
func (a *audited) AddMember(ctx context.Context, in *adminpb.AddMemberRequest) (*adminpb.AddMemberResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.AddMember)
}

// RemoveMember implements adminpb.AdminServiceServer.
func (a *audited) RemoveMember(ctx context.Context, in *adminpb.RemoveMemberRequest) (*adminpb.RemoveMemberResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.RemoveMember)
}

// PromoteMember implements adminpb.AdminServiceServer.
func (a *audited) PromoteMember(ctx context.Context, in *adminpb.PromoteMemberRequest) (*adminpb.PromoteMemberResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.PromoteMember)
}

// DemoteMember implements adminpb.AdminServiceServer.
func (a *audited) DemoteMember(ctx context.Context, in *adminpb.DemoteMemberRequest) (*adminpb.DemoteMemberResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.DemoteMember)
}

// TransferLeadership implements adminpb.AdminServiceServer.
func (a *audited) TransferLeadership(ctx context.Context, in *adminpb.TransferLeadershipRequest) (*adminpb.TransferLeadershipResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.TransferLeadership)
}

// TakeSnapshot implements adminpb.AdminServiceServer.
func (a *audited) TakeSnapshot(ctx context.Context, in *adminpb.TakeSnapshotRequest) (*adminpb.TakeSnapshotResponse, error) {
	return audit(ctx, a, in, a.AdminServiceServer.TakeSnapshot)
}
