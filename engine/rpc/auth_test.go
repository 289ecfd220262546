package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/pronybench/prony/engine/access"
	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/queuepb"
	"github.com/pronybench/prony/engine/rpc/call"
)

// methodScopes has the scopes that allow each method. A method that is missing here fails the
// tests: decide who may call it.
var methodScopes = map[string]access.Scopes{
	"/prony.queue.v1.QueueService/Enqueue":          access.Produce,
	"/prony.queue.v1.QueueService/Produce":          access.Produce,
	"/prony.queue.v1.QueueService/AwaitResult":      access.Produce,
	"/prony.queue.v1.QueueService/GetTask":          access.Produce | access.Work,
	"/prony.queue.v1.QueueService/GetRoutes":        access.AllScopes,
	"/prony.queue.v1.QueueService/Claim":            access.Work,
	"/prony.queue.v1.QueueService/ListDependencies": access.Produce | access.Work,
	"/prony.queue.v1.QueueService/Complete":         access.Work,
	"/prony.queue.v1.QueueService/Fail":             access.Work,
	"/prony.queue.v1.QueueService/Extend":           access.Work,
	"/prony.queue.v1.QueueService/Release":          access.Work,
	"/prony.queue.v1.QueueService/Work":             access.Work,

	"/prony.admin.v1.AdminService/ListQueues":         access.Admin,
	"/prony.admin.v1.AdminService/GetQueue":           access.Admin,
	"/prony.admin.v1.AdminService/ConfigureQueue":     access.Admin,
	"/prony.admin.v1.AdminService/PauseQueue":         access.Admin,
	"/prony.admin.v1.AdminService/ResumeQueue":        access.Admin,
	"/prony.admin.v1.AdminService/PurgeQueue":         access.Admin,
	"/prony.admin.v1.AdminService/DeleteQueue":        access.Admin,
	"/prony.admin.v1.AdminService/ListTasks":          access.Admin,
	"/prony.admin.v1.AdminService/CancelTasks":        access.Admin,
	"/prony.admin.v1.AdminService/EditDead":           access.Admin,
	"/prony.admin.v1.AdminService/RescheduleTasks":    access.Admin,
	"/prony.admin.v1.AdminService/PrioritizeTasks":    access.Admin,
	"/prony.admin.v1.AdminService/ListDead":           access.Admin,
	"/prony.admin.v1.AdminService/RedriveDead":        access.Admin,
	"/prony.admin.v1.AdminService/PurgeDead":          access.Admin,
	"/prony.admin.v1.AdminService/ListAttempts":       access.Admin,
	"/prony.admin.v1.AdminService/ListFailures":       access.Admin,
	"/prony.admin.v1.AdminService/ListHistory":        access.Admin,
	"/prony.admin.v1.AdminService/SetRecurring":       access.Admin,
	"/prony.admin.v1.AdminService/ListRecurring":      access.Admin,
	"/prony.admin.v1.AdminService/GetRecurring":       access.Admin,
	"/prony.admin.v1.AdminService/PauseRecurring":     access.Admin,
	"/prony.admin.v1.AdminService/ResumeRecurring":    access.Admin,
	"/prony.admin.v1.AdminService/RunRecurring":       access.Admin,
	"/prony.admin.v1.AdminService/DeleteRecurring":    access.Admin,
	"/prony.admin.v1.AdminService/ListTenants":        access.Admin,
	"/prony.admin.v1.AdminService/ConfigureTenant":    access.Admin,
	"/prony.admin.v1.AdminService/CreateToken":        access.Admin,
	"/prony.admin.v1.AdminService/ListTokens":         access.Admin,
	"/prony.admin.v1.AdminService/RotateToken":        access.Admin,
	"/prony.admin.v1.AdminService/RevokeToken":        access.Admin,
	"/prony.admin.v1.AdminService/Backup":             access.Admin,
	"/prony.admin.v1.AdminService/GetStatus":          access.Admin,
	"/prony.admin.v1.AdminService/GetCluster":         access.Admin,
	"/prony.admin.v1.AdminService/AddMember":          access.Admin,
	"/prony.admin.v1.AdminService/RemoveMember":       access.Admin,
	"/prony.admin.v1.AdminService/PromoteMember":      access.Admin,
	"/prony.admin.v1.AdminService/DemoteMember":       access.Admin,
	"/prony.admin.v1.AdminService/TransferLeadership": access.Admin,
	"/prony.admin.v1.AdminService/TakeSnapshot":       access.Admin,
}

// operatorMethods are refused to a tenant's administrator.
var operatorMethods = map[string]bool{
	"/prony.admin.v1.AdminService/ListTenants":        true,
	"/prony.admin.v1.AdminService/ConfigureTenant":    true,
	"/prony.admin.v1.AdminService/Backup":             true,
	"/prony.admin.v1.AdminService/GetStatus":          true,
	"/prony.admin.v1.AdminService/GetCluster":         true,
	"/prony.admin.v1.AdminService/AddMember":          true,
	"/prony.admin.v1.AdminService/RemoveMember":       true,
	"/prony.admin.v1.AdminService/PromoteMember":      true,
	"/prony.admin.v1.AdminService/DemoteMember":       true,
	"/prony.admin.v1.AdminService/TransferLeadership": true,
	"/prony.admin.v1.AdminService/TakeSnapshot":       true,
}

// byTokenID are the methods that name a token and no tenant; TestTokensOfOthers covers them.
var byTokenID = map[string]bool{
	"/prony.admin.v1.AdminService/RotateToken": true,
	"/prony.admin.v1.AdminService/RevokeToken": true,
}

// ofNoTenant are the methods with the same answer for all tokens.
var ofNoTenant = map[string]bool{"/prony.queue.v1.QueueService/GetRoutes": true}

// method is a method of a service, from its descriptor.
type method struct {
	name     string // in gRPC's form
	request  protoreflect.MessageType
	response protoreflect.MessageType
	streams  bool
}

func methodsOf(t *testing.T, file protoreflect.FileDescriptor, service protoreflect.Name) (out []method) {
	t.Helper()
	s := file.Services().ByName(service)
	require.NotNil(t, s)
	for i := range s.Methods().Len() {
		m := s.Methods().Get(i)
		request, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
		require.NoError(t, err)
		response, err := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
		require.NoError(t, err)
		out = append(out, method{
			name:    fmt.Sprintf("/%s/%s", s.FullName(), m.Name()),
			request: request, response: response, streams: m.IsStreamingClient() || m.IsStreamingServer(),
		})
	}
	require.NotEmpty(t, out)
	return out
}

func allMethods(t *testing.T) []method {
	t.Helper()
	return append(methodsOf(t, queuepb.File_prony_queue_v1_queue_proto, "QueueService"),
		methodsOf(t, adminpb.File_prony_admin_v1_admin_proto, "AdminService")...)
}

// call calls the method with one message and returns its error.
func (m *method) call(ctx context.Context, conn *grpc.ClientConn, in proto.Message) error {
	out := m.response.New().Interface()
	if !m.streams {
		return conn.Invoke(ctx, m.name, in, out)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, m.name)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(in); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	if err = stream.RecvMsg(out); errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// tenantField returns the field of a request that names its tenant, and the message that contains
// it: the request or a nested message.
func tenantField(in protoreflect.Message) (protoreflect.Message, protoreflect.FieldDescriptor) {
	fields := in.Descriptor().Fields()
	if f := fields.ByName("tenant"); f != nil {
		return in, f
	}
	if f := fields.ByName("open"); f != nil {
		return tenantField(in.Mutable(f).Message())
	}
	return nil, nil
}

func TestEachMethodNeedsAToken(t *testing.T) {
	g := guard(t)
	id, revoked := g.token("t0", access.AllScopes)
	g.revoke(id)
	for name, secret := range map[string]string{"none": "", "nonsense": "nonsense", "revoked": revoked, "not a secret's length": revoked + "x"} {
		conn := g.dial(secret)
		for _, m := range allMethods(t) {
			err := m.call(g.ctx, conn, m.request.New().Interface())
			assert.Equal(t, codes.Unauthenticated, status.Code(err), "%s, token: %s: %v", m.name, name, err)
		}
	}
}

func TestEachMethodNeedsItsScope(t *testing.T) {
	g := guard(t)
	for _, scope := range []access.Scopes{access.Produce, access.Work, access.Admin} {
		_, secret := g.token("t0", scope)
		conn := g.dial(secret)
		for _, m := range allMethods(t) {
			allow, known := methodScopes[m.name]
			require.True(t, known, "%s: decide which scopes allow it, and add it here", m.name)
			err := m.call(g.ctx, conn, m.request.New().Interface())
			if allow.Any(scope) && !operatorMethods[m.name] {
				assert.NotContains(t, []codes.Code{codes.PermissionDenied, codes.Unauthenticated}, status.Code(err), "%s with %v", m.name, scope)
			} else {
				assert.Equal(t, codes.PermissionDenied, status.Code(err), "%s with %v: %v", m.name, scope, err)
			}
		}
	}
}

func TestEachMethodRefusesAnotherTenant(t *testing.T) {
	g := guard(t)
	_, secret := g.token("t0", access.AllScopes)
	conn := g.dial(secret)
	for _, m := range allMethods(t) {
		if operatorMethods[m.name] || byTokenID[m.name] || ofNoTenant[m.name] {
			continue
		}
		for _, tenant := range []string{"t1", call.DefaultTenant, "t00", "T0", "t0/"} {
			in := m.request.New()
			at, field := tenantField(in)
			require.NotNil(t, field, "%s names no tenant: how is it bound to the token's?", m.name)
			at.Set(field, protoreflect.ValueOfString(tenant))
			err := m.call(g.ctx, conn, in.Interface())
			assert.Equal(t, codes.PermissionDenied, status.Code(err), "%s for %s: %v", m.name, tenant, err)
			assert.NotContains(t, status.Convert(err).Message(), "t0", "the error reveals no existing names")
		}
		in := m.request.New()
		at, field := tenantField(in)
		at.Set(field, protoreflect.ValueOfString("t0"))
		assert.NotEqual(t, codes.PermissionDenied, status.Code(m.call(g.ctx, conn, in.Interface())), m.name)
	}
}

func TestHowATokenIsSent(t *testing.T) {
	g := guard(t)
	_, secret := g.token("t0", access.Produce)
	api := queuepb.NewQueueServiceClient(g.dial(""))
	enqueue := func(authorization ...string) codes.Code {
		ctx := metadata.NewOutgoingContext(g.ctx, metadata.MD{"authorization": authorization})
		_, err := api.Enqueue(ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
		return status.Code(err)
	}
	assert.Equal(t, codes.OK, enqueue("Bearer "+secret))
	assert.Equal(t, codes.OK, enqueue("bearer "+secret))
	for _, bad := range [][]string{
		{secret},
		{"Basic " + secret},
		{"Bearer" + secret},
		{"Bearer  " + secret},
		{"Bearer"},
		{"Bearer "},
		{""},
		{"Bearer " + secret, "Bearer " + secret},
		{"Bearer x", "Bearer " + secret},
		{"Bearer " + secret + ", Bearer " + secret},
	} {
		assert.Equal(t, codes.Unauthenticated, enqueue(bad...), "%q", bad)
	}
}

func TestATenantIsResolvedFromTheToken(t *testing.T) {
	g := guard(t)
	enqueue := func(api queuepb.QueueServiceClient, tenant string) string {
		out, err := api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tenant: tenant, Tasks: newTasks("q", 1)})
		require.NoError(t, err)
		return out.GetResults()[0].GetId()
	}
	operator, tenant0 := g.as(access.AllTenants, access.AllScopes), g.as("t0", access.AllScopes)
	for _, c := range []struct {
		api          queuepb.QueueServiceClient
		tenant, want string
	}{
		{tenant0, "", "t0"}, {tenant0, "t0", "t0"}, {operator, "", call.DefaultTenant}, {operator, "t0", "t0"}, {operator, "t7", "t7"},
	} {
		id := enqueue(c.api, c.tenant)
		out, err := operator.GetTask(g.ctx, &queuepb.GetTaskRequest{Tenant: c.want, Id: id})
		require.NoError(t, err)
		assert.Equal(t, c.want, out.GetTask().GetTenant())
	}
	for _, bad := range []string{"*", "a b", strings.Repeat("x", 129)} {
		_, err := operator.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tenant: bad, Tasks: newTasks("q", 1)})
		requireField(t, "tenant", err)
	}
	// The first frame determines a stream's tenant, and later frames do not change it.
	p, err := tenant0.Produce(g.ctx)
	require.NoError(t, err)
	require.NoError(t, p.Send(&queuepb.ProduceRequest{Tasks: newTasks("q", 1)}))
	require.NoError(t, p.Send(&queuepb.ProduceRequest{Tenant: "t7", Tasks: newTasks("q", 1)}))
	var ids []string
	for len(ids) < 2 {
		in, err := p.Recv()
		require.NoError(t, err)
		for _, a := range in.GetAnswers() {
			ids = append(ids, a.GetIds()...)
		}
	}
	for _, id := range ids {
		_, err := tenant0.GetTask(g.ctx, &queuepb.GetTaskRequest{Id: id})
		require.NoError(t, err)
	}
}

// TestAnotherTenantsTasksLookLikeNone uses the ids and tokens of a tenant's leased task with
// another tenant's access token, in each call with an id. The answers are those for a nonexistent
// task.
func TestAnotherTenantsTasksLookLikeNone(t *testing.T) {
	g := guard(t)
	owner, other := g.as("t0", access.AllScopes), g.as("t1", access.AllScopes)
	out, err := owner.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 2)})
	require.NoError(t, err)
	claimed, err := owner.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	require.Len(t, claimed.GetTasks(), 1)
	task := claimed.GetTasks()[0]
	// The other tenant has a queue of the same name with as many tasks, so that their ids differ
	// only in the tenant.
	_, err = other.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 2)})
	require.NoError(t, err)
	otherClaim, err := other.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	require.Len(t, otherClaim.GetTasks(), 1)
	mine := otherClaim.GetTasks()[0]
	assert.NotEqual(t, task.GetId(), mine.GetId())

	settle := map[string]func(id string, token uint64) ([]*queuepb.SettleResult, error){
		"Complete": func(id string, token uint64) ([]*queuepb.SettleResult, error) {
			out, err := other.Complete(g.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: id, Token: token}}})
			return out.GetResults(), err
		},
		"Fail": func(id string, token uint64) ([]*queuepb.SettleResult, error) {
			out, err := other.Fail(g.ctx, &queuepb.FailRequest{Failures: []*queuepb.Failure{{Id: id, Token: token}}})
			return out.GetResults(), err
		},
		"Extend": func(id string, token uint64) ([]*queuepb.SettleResult, error) {
			out, err := other.Extend(g.ctx, &queuepb.ExtendRequest{Extensions: []*queuepb.Extension{{Id: id, Token: token, LeaseMs: 1}}})
			return out.GetResults(), err
		},
		"Release": func(id string, token uint64) ([]*queuepb.SettleResult, error) {
			out, err := other.Release(g.ctx, &queuepb.ReleaseRequest{Releases: []*queuepb.Releasing{{Id: id, Token: token}}})
			return out.GetResults(), err
		},
		"Work": func(id string, token uint64) ([]*queuepb.SettleResult, error) {
			w, err := other.Work(g.ctx)
			require.NoError(t, err)
			require.NoError(t, w.Send(&queuepb.WorkRequest{
				Open:        &queuepb.WorkOpen{Queues: []string{"q"}},
				Settlements: []*queuepb.Settlement{{Id: id, Token: token, Action: queuepb.SettleAction_SETTLE_ACTION_COMPLETE}},
			}))
			in, err := w.Recv()
			if err != nil {
				return nil, err
			}
			require.NoError(t, w.CloseSend())
			return []*queuepb.SettleResult{{Error: in.GetAnswers()[0].GetErrors()[0]}}, nil
		},
	}
	missing, err := queue.ParseID(task.GetId())
	require.NoError(t, err)
	missing.Seq += 1_000
	none := missing.String()
	for name, settle := range settle {
		theirs, err := settle(task.GetId(), task.GetToken())
		require.NoError(t, err, name)
		require.NotNil(t, theirs[0].GetError(), "%s took effect on another tenant's task", name)
		missing, err := settle(none, task.GetToken())
		require.NoError(t, err, name)
		assert.Equal(t, missing[0].GetError().GetCode(), theirs[0].GetError().GetCode(), name)
		assert.Equal(t, missing[0].GetError().GetMessage(), theirs[0].GetError().GetMessage(), name)
	}
	_, secret := g.token("t1", access.AllScopes)
	admin := adminpb.NewAdminServiceClient(g.dial(secret))
	ids := []string{task.GetId(), out.GetResults()[1].GetId(), none}
	for _, id := range ids {
		_, err := other.ListDependencies(g.ctx, &queuepb.ListDependenciesRequest{Id: id})
		requireCode(t, codes.NotFound, err)
		_, err = other.GetTask(g.ctx, &queuepb.GetTaskRequest{Id: id})
		requireCode(t, codes.NotFound, err)
		_, err = other.AwaitResult(g.ctx, &queuepb.AwaitResultRequest{Id: id})
		requireCode(t, codes.NotFound, err)
	}
	cancelled, err := admin.CancelTasks(g.ctx, &adminpb.CancelTasksRequest{Ids: ids})
	require.NoError(t, err)
	redriven, err := admin.RedriveDead(g.ctx, &adminpb.RedriveDeadRequest{Ids: ids})
	require.NoError(t, err)
	purged, err := admin.PurgeDead(g.ctx, &adminpb.PurgeDeadRequest{Ids: ids})
	require.NoError(t, err)
	for _, results := range [][]*queuepb.SettleResult{cancelled.GetResults(), redriven.GetResults(), purged.GetResults()} {
		for i, r := range results {
			requireItemError(t, r.GetError(), codeNotFound, "")
			assert.Equal(t, results[2].GetError().GetMessage(), r.GetError().GetMessage(), "%d", i)
		}
	}
	listed, err := admin.ListTasks(g.ctx, &adminpb.ListTasksRequest{Queue: "q", State: stateLeased})
	require.NoError(t, err)
	require.Len(t, listed.GetTasks(), 1)
	assert.Equal(t, mine.GetId(), listed.GetTasks()[0].GetId())
	queues, err := admin.ListQueues(g.ctx, &adminpb.ListQueuesRequest{})
	require.NoError(t, err)
	require.Len(t, queues.GetQueues(), 1)
	assert.Equal(t, "t1", queues.GetQueues()[0].GetTenant())
	_, err = admin.PurgeQueue(g.ctx, &adminpb.PurgeQueueRequest{Queue: "q"})
	require.NoError(t, err, "its own")
	// Nothing has changed.
	found, err := owner.GetTask(g.ctx, &queuepb.GetTaskRequest{Id: task.GetId()})
	require.NoError(t, err)
	assert.Equal(t, queuepb.TaskState_TASK_STATE_LEASED, found.GetTask().GetState())
	done, err := owner.Complete(g.ctx, &queuepb.CompleteRequest{Completions: []*queuepb.Completion{{Id: task.GetId(), Token: task.GetToken()}}})
	require.NoError(t, err)
	assert.Nil(t, done.GetResults()[0].GetError())
}

func TestHealthNeedsNoTokenAndReflectionDoes(t *testing.T) {
	g := guard(t)
	conn := g.dial("")
	_, err := healthpb.NewHealthClient(conn).Check(g.ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	watch, err := healthpb.NewHealthClient(conn).Watch(g.ctx, &healthpb.HealthCheckRequest{})
	require.NoError(t, err)
	_, err = watch.Recv()
	require.NoError(t, err)
	reflect := func(conn *grpc.ClientConn) error {
		stream, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(g.ctx)
		require.NoError(t, err)
		_ = stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
		_, err = stream.Recv()
		return err
	}
	requireCode(t, codes.Unauthenticated, reflect(conn))
	_, secret := g.token("t0", access.Work)
	require.NoError(t, reflect(g.dial(secret)))
}

func TestStreamsEndWithTheirToken(t *testing.T) {
	ends := map[string]func(g *guarded, id string){
		"revoked": func(g *guarded, id string) { g.revoke(id) },
		"rotated": func(g *guarded, id string) {
			_, _, err := g.registry.RotateToken(g.ctx, access.Everybody(), id, 0)
			require.NoError(g, err)
		},
		"rotated with a grace": func(g *guarded, id string) {
			_, _, err := g.registry.RotateToken(g.ctx, access.Everybody(), id, 20)
			require.NoError(g, err)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			g := guard(t)
			id, secret := g.token("t0", access.AllScopes)
			conn, steady := g.dial(secret), g.as("t0", access.AllScopes)
			api := queuepb.NewQueueServiceClient(conn)
			produce, err := api.Produce(g.ctx)
			require.NoError(t, err)
			require.NoError(t, produce.Send(&queuepb.ProduceRequest{Tasks: newTasks("q", 1)}))
			_, err = produce.Recv()
			require.NoError(t, err)
			work, err := api.Work(g.ctx)
			require.NoError(t, err)
			require.NoError(t, work.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: 10}))
			_, err = work.Recv()
			require.NoError(t, err)
			silent, err := api.Produce(g.ctx)
			require.NoError(t, err)
			reflect, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(g.ctx)
			require.NoError(t, err)
			other, err := steady.Produce(g.ctx)
			require.NoError(t, err)

			end(g, id)
			for _, s := range []interface{ RecvMsg(any) error }{produce, work, silent, reflect} {
				requireCode(t, codes.Unauthenticated, s.RecvMsg(&queuepb.WorkResponse{}))
			}
			_, err = api.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
			requireCode(t, codes.Unauthenticated, err)
			require.NoError(t, other.Send(&queuepb.ProduceRequest{Tasks: newTasks("q", 1)}))
			_, err = other.Recv()
			require.NoError(t, err, "the streams of others continue")
		})
	}
}

func TestAStreamEndsWhenItsTokenExpires(t *testing.T) {
	g := guard(t)
	_, secret, err := g.registry.CreateToken(g.ctx, access.Everybody(), access.NewToken{Tenant: "t0", Scopes: access.Work, ExpiresInMs: 100})
	require.NoError(t, err)
	work, err := queuepb.NewQueueServiceClient(g.dial(secret)).Work(g.ctx)
	require.NoError(t, err)
	_, err = work.Recv()
	requireCode(t, codes.Unauthenticated, err)
	assert.Contains(t, err.Error(), "expired")
}

// TestAStreamWhoseClientDoesNotReadEndsToo fills the stream's window, so that the server blocks in
// a send.
func TestAStreamWhoseClientDoesNotReadEndsToo(t *testing.T) {
	g := guard(t)
	steady := g.as("t0", access.AllScopes)
	const n = 40
	large := strings.Repeat("x", 100_000)
	var tasks []*queuepb.NewTask
	for range n {
		tasks = append(tasks, &queuepb.NewTask{Queue: "q", Payload: []byte(large)})
	}
	_, err := steady.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: tasks})
	require.NoError(t, err)
	id, secret := g.token("t0", access.Work)
	work, err := queuepb.NewQueueServiceClient(g.dial(secret)).Work(g.ctx)
	require.NoError(t, err)
	require.NoError(t, work.Send(&queuepb.WorkRequest{Open: &queuepb.WorkOpen{Queues: []string{"q"}}, Credits: n}))
	_, err = work.Recv() // the server then sends the others
	require.NoError(t, err)
	g.revoke(id)
	for err == nil {
		_, err = work.Recv()
	}
	requireCode(t, codes.Unauthenticated, err)
}

func TestAWaitingClaimEndsWithItsToken(t *testing.T) {
	g := guard(t)
	id, secret := g.token(access.AllTenants, access.Work)
	api := queuepb.NewQueueServiceClient(g.dial(secret))
	done := make(chan error, 1)
	go func() {
		_, err := api.Claim(g.ctx, &queuepb.ClaimRequest{Tenant: "t7", Queues: []string{"q"}, WaitMs: 60_000})
		done <- err
	}()
	require.Eventually(t, func() bool { return g.group.Subscribers() > 0 }, patience, time.Millisecond, "the claim does not wait")
	g.revoke(id)
	requireCode(t, codes.Unauthenticated, <-done)
	steady := g.as("t7", access.AllScopes)
	_, err := steady.Enqueue(g.ctx, &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
	require.NoError(t, err)
	out, err := steady.Claim(g.ctx, &queuepb.ClaimRequest{Queues: []string{"q"}})
	require.NoError(t, err)
	assert.Len(t, out.GetTasks(), 1, "the ended claim leased nothing")
}

func TestOperatorsMethodsNeedAnOperator(t *testing.T) {
	g := guard(t)
	_, tenants := g.token("t0", access.AllScopes)
	_, scopeless := g.token(access.AllTenants, access.Produce|access.Work)
	for _, m := range allMethods(t) {
		if !operatorMethods[m.name] {
			continue
		}
		for _, secret := range []string{tenants, scopeless} {
			err := m.call(g.ctx, g.dial(secret), m.request.New().Interface())
			assert.Equal(t, codes.PermissionDenied, status.Code(err), "%s: %v", m.name, err)
		}
	}
}

// TestWithoutAnAuthInBetweenAllIsRefused calls the services through a listener that does not
// authenticate.
func TestWithoutAnAuthInBetweenAllIsRefused(t *testing.T) {
	g := guard(t)
	for service, methods := range map[any][]grpc.MethodDesc{
		g.service: queuepb.QueueService_ServiceDesc.Methods,
		g.admin:   adminpb.AdminService_ServiceDesc.Methods,
	} {
		for _, m := range methods {
			_, err := m.Handler(service, g.ctx, func(any) error { return nil }, nil)
			assert.Equal(t, codes.Unauthenticated, status.Code(err), "%s: %v", m.MethodName, err)
		}
	}
	for _, s := range queuepb.QueueService_ServiceDesc.Streams {
		err := s.Handler(g.service, nobodysStream{ctx: g.ctx})
		assert.Equal(t, codes.Unauthenticated, status.Code(err), s.StreamName)
	}
}

// nobodysStream is a stream without an identity; a read from it fails the test.
type nobodysStream struct {
	grpc.ServerStream

	ctx context.Context
}

func (s nobodysStream) Context() context.Context { return s.ctx }

func refuse(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), map[codes.Code]int{codes.Unauthenticated: 401, codes.PermissionDenied: 403}[status.Code(err)])
}

func TestHTTPCallsAreGuarded(t *testing.T) {
	g := guard(t)
	ask := func(h http.Handler, authorization ...string) (int, string) {
		in := httptest.NewRequestWithContext(g.ctx, http.MethodPost, "/", strings.NewReader("body"))
		for _, a := range authorization {
			in.Header.Add("Authorization", a)
		}
		out := httptest.NewRecorder()
		h.ServeHTTP(out, in)
		return out.Code, out.Body.String()
	}
	// The handler calls the service in process, like a gateway.
	inProcess := http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		_, err := g.service.Enqueue(in.Context(), &queuepb.EnqueueRequest{Tasks: newTasks("q", 1)})
		if err != nil {
			refuse(w, err)
			return
		}
		_, _ = w.Write([]byte("enqueued"))
	})
	_, produce := g.token("t0", access.Produce)
	_, work := g.token("t0", access.Work)
	_, admin := g.token("t0", access.AllScopes)
	_, operator := g.token(access.AllTenants, access.AllScopes)
	_, lowOperator := g.token(access.AllTenants, access.Produce)
	code, body := ask(inProcess, "Bearer "+produce)
	assert.Equal(t, 401, code, "without a guard all calls are refused")
	assert.Contains(t, body, "no access token")
	guarded := g.auth.Guard(inProcess, refuse)
	for want, headers := range map[int][][]string{
		200: {{"Bearer " + produce}, {"bearer " + produce}, {"Bearer " + operator}},
		401: {{}, {""}, {"Bearer"}, {"Bearer x"}, {"Basic " + produce}, {produce}, {"Bearer " + produce, "Bearer " + produce}},
		403: {{"Bearer " + work}},
	} {
		for _, h := range headers {
			code, body := ask(guarded, h...)
			assert.Equal(t, want, code, "%q: %s", h, body)
		}
	}
	operators := g.auth.GuardOperator(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("profile")) }), refuse)
	for want, headers := range map[int][][]string{
		200: {{"Bearer " + operator}},
		401: {{}, {"Bearer x"}},
		403: {{"Bearer " + produce}, {"Bearer " + admin}, {"Bearer " + lowOperator}},
	} {
		for _, h := range headers {
			code, body := ask(operators, h...)
			assert.Equal(t, want, code, "%q: %s", h, body)
			assert.Equal(t, want == 200, body == "profile")
		}
	}
	code, _ = ask(call.NoAuth().GuardOperator(inProcess, refuse))
	assert.Equal(t, 200, code, "without authentication every caller is an operator")
}
