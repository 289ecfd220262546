package admin

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
)

// reads are the calls that change nothing.
var reads = []string{
	"ListQueues", "GetQueue", "ListTasks", "ListDead", "ListAttempts", "ListHistory", "ListFailures", "ListRecurring", "GetRecurring",
	"ListTenants", "ListTokens", "GetStatus", "GetCluster",
}

// inner answers some calls with texts that no log may have, and refuses all others.
type inner struct {
	adminpb.UnimplementedAdminServiceServer
}

func (inner) CreateToken(context.Context, *adminpb.CreateTokenRequest) (*adminpb.CreateTokenResponse, error) {
	return &adminpb.CreateTokenResponse{Token: &adminpb.Token{Id: "aaaa", Note: forbidden, Scopes: []adminpb.Scope{adminpb.Scope_SCOPE_WORK}}, Secret: forbidden}, nil
}

func (inner) RevokeToken(context.Context, *adminpb.RevokeTokenRequest) (*adminpb.RevokeTokenResponse, error) {
	return &adminpb.RevokeTokenResponse{}, nil
}

func (inner) RedriveDead(context.Context, *adminpb.RedriveDeadRequest) (*adminpb.RedriveDeadResponse, error) {
	return &adminpb.RedriveDeadResponse{Redriven: 2, Results: []*queuepb.SettleResult{{}, {}, {Error: &queuepb.ItemError{Message: forbidden}}}}, nil
}

func (inner) PauseQueue(context.Context, *adminpb.PauseQueueRequest) (*adminpb.PauseQueueResponse, error) {
	return nil, status.Error(codes.NotFound, forbidden)
}

const forbidden = "a text that no log may have"

// auditedLog calls a method of the audited service and returns the log.
func auditedLog(t *testing.T, method string, fill func(proto.Message)) string {
	t.Helper()
	var log bytes.Buffer
	s := Audited(inner{}, slog.New(slog.NewJSONHandler(&log, nil)))
	for _, m := range adminpb.AdminService_ServiceDesc.Methods {
		if m.MethodName == method {
			_, _ = m.Handler(s, t.Context(), func(in any) error { fill(in.(proto.Message)); return nil }, nil)
			return log.String()
		}
	}
	require.Fail(t, "no such method", method)
	return ""
}

// A new call must be declared, as a change in changes or as a read here.
func TestEachChangeIsLoggedInOneLineAndNoRead(t *testing.T) {
	for _, m := range adminpb.AdminService_ServiceDesc.Methods {
		lines := strings.Count(auditedLog(t, m.MethodName, func(proto.Message) {}), "\n")
		if slices.Contains(reads, m.MethodName) {
			assert.Zero(t, lines, m.MethodName)
			continue
		}
		assert.Contains(t, changes, m.MethodName, "declare it in changes or in reads")
		assert.Equal(t, 1, lines, m.MethodName)
	}
	assert.Len(t, adminpb.AdminService_ServiceDesc.Methods, len(changes)+len(reads), "a declared call does not exist")
}

// fields calls visit for each field of a message and of its messages.
func fields(m protoreflect.Message, visit func(protoreflect.Message, protoreflect.FieldDescriptor)) {
	all := m.Descriptor().Fields()
	for i := range all.Len() {
		f := all.Get(i)
		visit(m, f)
		if f.Message() != nil && !f.IsMap() && !f.IsList() {
			fields(m.Mutable(f).Message(), visit)
		}
	}
}

func TestALineIsBoundedAndHasNoPayload(t *testing.T) {
	long := strings.Repeat("\x01", 64<<10)
	for method := range changes {
		text := auditedLog(t, method, func(in proto.Message) {
			fields(in.ProtoReflect(), func(m protoreflect.Message, f protoreflect.FieldDescriptor) {
				switch {
				case f.IsMap():
					m.Mutable(f).Map().Set(protoreflect.ValueOfString(forbidden).MapKey(), protoreflect.ValueOfString(forbidden))
				case f.IsList() && f.Kind() == protoreflect.StringKind:
					for range 1_000 {
						m.Mutable(f).List().Append(protoreflect.ValueOfString(forbidden))
					}
				case f.IsList():
				case f.Kind() == protoreflect.BytesKind:
					m.Set(f, protoreflect.ValueOfBytes([]byte(forbidden)))
				case f.Kind() == protoreflect.StringKind && m == in.ProtoReflect():
					m.Set(f, protoreflect.ValueOfString(long))
				case f.Kind() == protoreflect.StringKind:
					m.Set(f, protoreflect.ValueOfString(forbidden))
				}
			})
		})
		assert.Less(t, len(text), 4<<10, method)
		assert.NotContains(t, text, forbidden, method)
		assert.Equal(t, 1, strings.Count(text, "\n"), method)
	}
}

func TestALineNamesCallerTargetAndOutcome(t *testing.T) {
	var log bytes.Buffer
	s := Audited(inner{}, slog.New(slog.NewTextHandler(&log, nil)))
	id := queue.ID{Shard: 1}.String()
	_, _ = s.PauseQueue(t.Context(), &adminpb.PauseQueueRequest{Tenant: "acme", Queue: "mail"})
	_, _ = s.RedriveDead(t.Context(), &adminpb.RedriveDeadRequest{Ids: []string{id, id, id}})
	_, _ = s.CreateToken(t.Context(), &adminpb.CreateTokenRequest{Tenant: "acme", Note: forbidden})
	_, _ = s.RevokeToken(t.Context(), &adminpb.RevokeTokenRequest{Id: forbidden})
	_, _ = s.EditDead(t.Context(), &adminpb.EditDeadRequest{Id: id, Payload: []byte(forbidden)})
	_, _ = s.PrioritizeTasks(t.Context(), &adminpb.PrioritizeTasksRequest{Ids: []string{id}})
	_, _ = s.TransferLeadership(t.Context(), &adminpb.TransferLeadershipRequest{})
	_, _ = s.TransferLeadership(t.Context(), &adminpb.TransferLeadershipRequest{Shard: proto.Uint32(0), Node: "n1"})
	var lines []string
	for line := range strings.Lines(log.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), `msg="an administrative call" `)
		lines = append(lines, line)
	}
	assert.Equal(t, []string{
		`by="no auth" method=PauseQueue outcome=NotFound tenant=acme queue=mail`,
		`by="no auth" method=RedriveDead outcome=OK ids=3 redriven=2 refused=1`,
		`by="no auth" method=CreateToken outcome=OK tenant=acme expires_in_ms=0 token=aaaa scopes=[SCOPE_WORK]`,
		`by="no auth" method=RevokeToken outcome=OK id="(not an id)"`,
		`by="no auth" method=EditDead outcome=Unimplemented id=` + id,
		`by="no auth" method=PrioritizeTasks outcome=Unimplemented ids=1 priority=0`,
		`by="no auth" method=TransferLeadership outcome=Unimplemented`,
		`by="no auth" method=TransferLeadership outcome=Unimplemented shard=0 node=n1`,
	}, lines)
	assert.True(t, isID(id))
	assert.False(t, access.IsTokenID(id), "the two kinds of ids differ")
}
