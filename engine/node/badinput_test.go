package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/pronybench/prony/engine/golden"
	"github.com/pronybench/prony/engine/queuepb"
)

// badInput is one bad request and its title in the golden file.
type badInput struct {
	title   string
	request string // as the golden file shows it
	send    func(b *badInputs) string
}

// badInputs sends bad requests to a node.
type badInputs struct {
	*restNode

	conn *grpc.ClientConn
	id   string // the ID of a leased task
}

// overREST returns a bad REST request. ID in its path and body stands for the leased task's ID.
func overREST(title, method, path, body string, headers ...string) badInput {
	shown := strings.TrimSpace(method + " " + path + " " + brief(body))
	for i := 0; i < len(headers); i += 2 {
		shown += "\n" + headers[i] + ": " + headers[i+1]
	}
	return badInput{title, shown, func(b *badInputs) string {
		address := b.node.HTTP()
		if path, ok := strings.CutPrefix(path, "admin "); ok {
			return b.ask(method, "http://"+b.node.Admin()+path, body, headers)
		}
		return b.ask(method, "http://"+address+path, body, headers)
	}}
}

func post(title, path, body string, headers ...string) badInput {
	return overREST(title, http.MethodPost, path, body, headers...)
}

func get(title, path string) badInput { return overREST(title, http.MethodGet, path, "") }

// ask returns the status, the headers for clients, and the body.
func (b *badInputs) ask(method, url, body string, headers []string) string {
	in, err := http.NewRequestWithContext(b.ctx, method, strings.ReplaceAll(url, "ID", b.id), strings.NewReader(strings.ReplaceAll(body, "ID", b.id)))
	require.NoError(b, err)
	in.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		in.Header.Set(headers[i], headers[i+1])
	}
	out, err := b.client.Do(in)
	require.NoError(b, err)
	text, err := io.ReadAll(out.Body)
	require.NoError(b, errors.Join(err, out.Body.Close()))
	answer := out.Status
	for _, name := range []string{"Retry-After", "Accept-Encoding", "Allow"} {
		if v := out.Header.Get(name); v != "" {
			answer += "\n" + name + ": " + v
		}
	}
	var compact bytes.Buffer
	require.NoError(b, json.Compact(&compact, text), "%s", text)
	return answer + "\n" + strings.ReplaceAll(compact.String(), b.id, "ID")
}

// encoded is a message as bytes. It may be malformed.
type encoded []byte

// rawCodec sends encoded messages unchanged.
type rawCodec struct{}

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.(encoded))}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*encoded) = data.Materialize()
	return nil
}

func (rawCodec) Name() string { return "proto" }

// invoke returns a bad gRPC call. If it succeeds, its answer is shown as JSON.
func invoke(title, rpc, shown string, message encoded, answer proto.Message) badInput {
	return badInput{title, "gRPC " + rpc + " " + shown, func(b *badInputs) string {
		var out encoded
		if err := b.conn.Invoke(b.ctx, rpc, message, &out, grpc.ForceCodecV2(rawCodec{})); err != nil {
			return refusal(err)
		}
		require.NoError(b, proto.Unmarshal(out, answer))
		return "OK\n" + jsonOf(b, answer)
	}}
}

// unary returns a bad call with a well-formed message.
func unary(title, rpc string, m, answer proto.Message) badInput {
	message, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return invoke(title, rpc, fmt.Sprintf("{%s}", strings.Join(strings.Fields(fmt.Sprint(m)), " ")), message, answer)
}

// stream returns a call that sends one message on a stream.
func stream(title, rpc, shown string, message encoded) badInput {
	return badInput{title, "gRPC " + rpc + " " + shown, func(b *badInputs) string {
		ctx, cancel := context.WithCancel(b.ctx)
		defer cancel()
		s, err := b.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, rpc, grpc.ForceCodecV2(rawCodec{}))
		require.NoError(b, err)
		if err := s.SendMsg(message); !errors.Is(err, io.EOF) {
			require.NoError(b, err)
		}
		var out encoded
		return refusal(s.RecvMsg(&out))
	}}
}

// refusal formats a status with its details.
func refusal(err error) string {
	s := status.Convert(err)
	text := s.Code().String() + ": " + s.Message()
	for _, d := range s.Details() {
		text += fmt.Sprintf("\n%T {%s}", d, strings.Join(strings.Fields(fmt.Sprint(d)), " "))
	}
	return text
}

func jsonOf(t require.TestingT, m proto.Message) string {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	require.NoError(t, err)
	var compact bytes.Buffer
	require.NoError(t, json.Compact(&compact, text))
	return compact.String()
}

// brief shortens a long text.
func brief(text string) string {
	if len(text) > 300 {
		return fmt.Sprintf("%s... (%d bytes)", text[:60], len(text))
	}
	return strings.ToValidUTF8(text, `\xff`)
}

// field encodes a length-delimited field.
func field(number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), value)
}

const (
	enqueueRPC = queuepb.QueueService_Enqueue_FullMethodName
	claimRPC   = queuepb.QueueService_Claim_FullMethodName
)

// badRequests are typical mistakes of users.
func badRequests() []badInput {
	task := func(fields string) string { return `{"tasks":[{"queue":"q",` + fields + `}]}` }
	enqueue := func(title, body string) badInput { return post(title, "/v1/tasks:enqueue", body) }
	return []badInput{
		post("a body that is not announced as JSON", "/v1/tasks:enqueue", `{}`, "Content-Type", "text/plain"),
		post("a body in gzip", "/v1/tasks:enqueue", "\x1f\x8b\x08", "Content-Encoding", "gzip"),
		post("a body in an encoding that is not known", "/v1/tasks:enqueue", "{}", "Content-Encoding", "br"),
		post("a body without an encoding, as its header says", "/v1/tasks:enqueue", "{}", "Content-Encoding", "identity"),
		post("a query beside a body", "/v1/tasks:enqueue?tenant=acme", "{}"),
		post("a body that is too large", "/v1/tasks:enqueue", `{"tasks":[{"queue":"`+strings.Repeat("q", 16<<20)+`"}]}`),
		overREST("another method", http.MethodPut, "/v1/tasks:enqueue", `{}`),
		post("another path", "/v1/tasks/enqueue:now", `{}`),

		enqueue("no JSON", `hello`),
		enqueue("an array", `[{"queue":"q"}]`),
		enqueue("names without quotes", `{tasks:[]}`),
		enqueue("JSON that ends early", `{"tasks":[{"queue":"q"`),
		enqueue("JSON with a comma too many", `{"tasks":[{"queue":"q"},]}`),
		enqueue("two documents", `{} {}`),
		enqueue("a line break in a text", "{\"tasks\":[{\"queue\":\"a\nb\"}]}"),
		enqueue("a field that does not exist", task(`"prio":1`)),
		enqueue("a field that comes twice", task(`"priority":1,"priority":2`)),
		enqueue("an object for a list", `{"tasks":{"queue":"q"}}`),
		enqueue("a text for a list", `{"tasks":"q"}`),
		enqueue("a text for an object", `{"tasks":["q"]}`),
		enqueue("null for an object of a list", `{"tasks":[null]}`),
		enqueue("a number for a text", `{"tasks":[{"queue":7}]}`),
		enqueue("no tasks", `{"tasks":[]}`),
		enqueue("the empty message", ``),

		enqueue("a payload that is plain text", task(`"payload":"hello world"`)),
		enqueue("a payload in base64 that was cut", task(`"payload":"aGVsb"`)),
		enqueue("a payload in base64 with a bad character", task(`"payload":"aGVs\u0062*8="`)),
		enqueue("a payload that is a number", task(`"payload":7`)),
		enqueue("a payload that is an object", task(`"payload":{"to":"a@b"}`)),
		enqueue("a priority above the range", task(`"priority":10`)),
		enqueue("a priority below the range", task(`"priority":-1`)),
		enqueue("a priority that is a word", task(`"priority":"high"`)),
		enqueue("a priority that is no whole number", task(`"priority":1.5`)),
		enqueue("a priority that is null", task(`"priority":null,"prio":1`)),
		enqueue("a delay that is too long", task(`"delay_ms":99999999999`)),
		enqueue("a delay of a negative time", task(`"delay_ms":-5`)),
		enqueue("a delay with a unit", task(`"delay_ms":"5s"`)),
		enqueue("a lease that is too long", task(`"lease_ms":"99999999999"`)),
		enqueue("too many attempts", task(`"max_attempts":1001`)),
		enqueue("a time and a delay", task(`"not_before_ms":1,"delay_ms":1`)),
		enqueue("a negative time", task(`"not_before_ms":-1`)),
		enqueue("a time to live that is too long", task(`"ttl_ms":99999999999`)),
		enqueue("a retention that is too long", task(`"result_retention_ms":99999999999`)),
		enqueue("a multiplier below the range", task(`"backoff":{"multiplier_percent":50}`)),
		enqueue("a jitter above the range", task(`"backoff":{"jitter_percent":101}`)),
		enqueue("a first wait above the longest", task(`"backoff":{"initial_ms":2,"max_ms":1}`)),
		enqueue("no queue", `{"tasks":[{"payload":""}]}`),
		enqueue("a queue with a space", `{"tasks":[{"queue":"my queue"}]}`),
		enqueue("a queue with a line break", `{"tasks":[{"queue":"mail\n"}]}`),
		enqueue("a queue with a letter beyond ASCII", `{"tasks":[{"queue":"grün"}]}`),
		enqueue("a queue that is not UTF-8", "{\"tasks\":[{\"queue\":\"a\xff\"}]}"),
		enqueue("a queue with a long name", `{"tasks":[{"queue":"`+strings.Repeat("q", 129)+`"}]}`),
		enqueue("a tenant with a space", `{"tenant":"my tenant","tasks":[{"queue":"q"}]}`),
		enqueue("an idempotency key with a control character", task(`"idempotency_key":"order\u0000 1"`)),
		enqueue("a long idempotency key", task(`"idempotency_key":"`+strings.Repeat("k", 129)+`"`)),
		enqueue("two tasks, one of them bad", `{"tasks":[{"queue":"q","priority":10},{"queue":"mail\n"}]}`),

		post("a claim of no queue", "/v1/tasks:claim", `{}`),
		post("a claim of a bad queue", "/v1/tasks:claim", `{"queues":["q","a b"]}`),
		post("a claim of a queue that comes twice", "/v1/tasks:claim", `{"queues":["q","q"]}`),
		post("a claim of too many tasks", "/v1/tasks:claim", `{"queues":["q"],"max_tasks":1001}`),
		post("a claim of a negative number of tasks", "/v1/tasks:claim", `{"queues":["q"],"max_tasks":-1}`),
		post("a claim that waits too long", "/v1/tasks:claim", `{"queues":["q"],"wait_ms":60001}`),
		post("a claim with a weight of 0", "/v1/tasks:claim", `{"queues":["q"],"weights":[0]}`),
		post("a claim with a weight too many", "/v1/tasks:claim", `{"queues":["q"],"weights":[1,2]}`),
		post("a claim whose completion is stale", "/v1/tasks:claim", `{"queues":["empty"],"completions":[{"id":"ID","token":"1"}]}`),

		post("a completion of no task", "/v1/tasks:complete", `{}`),
		post("a completion with a bad id", "/v1/tasks:complete", `{"completions":[{"id":"7","token":"1"}]}`),
		post("a completion without a token", "/v1/tasks:complete", `{"completions":[{"id":"ID"}]}`),
		post("a completion whose token is a word", "/v1/tasks:complete", `{"completions":[{"id":"ID","token":"abc"}]}`),
		post("a completion with a stale token", "/v1/tasks:complete", `{"completions":[{"id":"ID","token":"1"}]}`),
		post("a completion with a result that is not base64", "/v1/tasks:complete", `{"completions":[{"id":"ID","token":"1","result":"{}"}]}`),
		post("two completions with stale tokens", "/v1/tasks:complete", `{"completions":[{"id":"ID","token":"1"},{"id":"ID","token":"2"}]}`),
		post("a failure with a stale token", "/v1/tasks:fail", `{"failures":[{"id":"ID","token":"1"}]}`),
		post("a failure with a long error", "/v1/tasks:fail", `{"failures":[{"id":"ID","token":"1","error":"`+strings.Repeat("e", 4097)+`"}]}`),
		post("an extension by nothing", "/v1/tasks:extend", `{"extensions":[{"id":"ID","token":"1"}]}`),
		post("an extension that is too long", "/v1/tasks:extend", `{"extensions":[{"id":"ID","token":"1","lease_ms":86400001}]}`),
		post("a release with a delay that is too long", "/v1/tasks:release", `{"releases":[{"id":"ID","token":"1","delay_ms":99999999999}]}`),
		get("a bad id", "/v1/tasks/7"),
		get("a parameter that does not exist", "/v1/tasks/ID?verbose=1"),
		get("a wait that is a word", "/v1/tasks/ID/result?wait_ms=soon"),
		get("a wait that is too long", "/v1/tasks/ID/result?wait_ms=60001"),

		get("tasks of no queue", "admin /v1/tasks"),
		get("tasks in a state that does not exist", "admin /v1/tasks?queue=q&state=GONE"),
		get("a page that is too large", "admin /v1/tasks?queue=q&state=TASK_STATE_READY&page_size=5000"),
		get("a page of a negative size", "admin /v1/queues?page_size=-1"),
		post("a token with a negative life", "admin /v1/tokens:create", `{"tenant":"acme","scopes":["SCOPE_WORK"],"expires_in_ms":-1}`),
		get("a page of another list", "admin /v1/queues?page_token=7"),
		get("a queue that does not exist", "admin /v1/queues:get?queue=none"),
		post("a policy that is missing", "admin /v1/queues:configure", `{"queue":"q"}`),
		post("a policy with a bad field", "admin /v1/queues:configure", `{"queue":"q","policy":{"max_attempts":5000}}`),
		post("a policy with a placement that does not exist", "admin /v1/queues:configure", `{"queue":"q","policy":{"placement":"RANDOM"}}`),
		post("a purge of nothing", "admin /v1/queues:purge", `{}`),
		post("a cancellation of a bad id", "admin /v1/tasks:cancel", `{"ids":["7"]}`),
		post("a redrive of nothing", "admin /v1/dead:redrive", `{}`),
		post("a token without scopes", "admin /v1/tokens:create", `{"tenant":"acme"}`),
		post("a quota that is negative", "admin /v1/tenants:configure", `{"tenant":"acme","quotas":{"tasks_max":-1}}`),

		invoke("bytes that are no message", enqueueRPC, `"\xff\xff\xff"`, encoded("\xff\xff\xff"), &queuepb.EnqueueResponse{}),
		invoke("a message that was cut", enqueueRPC, `a task of 9 bytes, of which 1 came`, encoded("\x12\x09\x0a"), &queuepb.EnqueueResponse{}),
		invoke("a queue that is not UTF-8", enqueueRPC, `{tasks:{queue:"q"} tasks:{queue:"a\xff"}}`,
			append(field(2, field(1, []byte("q"))), field(2, field(1, []byte("a\xff")))...), &queuepb.EnqueueResponse{}),
		invoke("a message that is too large", enqueueRPC, `a message of 17 MiB`, field(2, field(3, make([]byte, 17<<20))), &queuepb.EnqueueResponse{}),
		unary("no tasks", enqueueRPC, &queuepb.EnqueueRequest{}, &queuepb.EnqueueResponse{}),
		unary("a bad task", enqueueRPC, &queuepb.EnqueueRequest{Tasks: []*queuepb.NewTask{{Queue: "q", Priority: 10}}}, &queuepb.EnqueueResponse{}),
		unary("a claim of too many tasks", claimRPC, &queuepb.ClaimRequest{Queues: []string{"q"}, MaxTasks: 1_001}, &queuepb.ClaimResponse{}),
		invoke("a method that does not exist", "/prony.queue.v1.QueueService/Peek", "", nil, &queuepb.ClaimResponse{}),
		stream("a frame that is no message", queuepb.QueueService_Produce_FullMethodName, `"\xff\xff\xff"`, encoded("\xff\xff\xff")),
		stream("a frame with a queue that is not UTF-8", queuepb.QueueService_Produce_FullMethodName, `{tasks:{queue:"a\xff"}}`,
			field(3, field(1, []byte("a\xff")))),
		stream("a frame that is too large", queuepb.QueueService_Produce_FullMethodName, `a frame of 17 MiB`, field(3, field(3, make([]byte, 17<<20)))),
		stream("a worker that opens with a bad queue", queuepb.QueueService_Work_FullMethodName, `{open:{queues:"a\xff"}}`, field(1, field(2, []byte("a\xff")))),
		stream("a worker that does not open", queuepb.QueueService_Work_FullMethodName, `{}`, nil),
		invoke("a tenant that is not UTF-8", queuepb.QueueService_GetTask_FullMethodName, `{tenant:"a\xff"}`, field(1, []byte("a\xff")), &queuepb.GetTaskResponse{}),
	}
}

// The test compares the answers to bad requests with testdata/bad_input.golden. Review a difference
// from the point of view of a new user: the answer must name the field, the value and the remedy.
func TestAnswersToBadInput(t *testing.T) {
	r := newRESTNode(t)
	conn, err := grpc.NewClient("passthrough:///"+r.node.Addresses()[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	r.post("/v1/tasks:enqueue", `{"tasks":[{"queue":"leased"}]}`, &queuepb.EnqueueResponse{})
	leased := r.claim("leased", 0)
	require.Len(t, leased, 1)
	b := &badInputs{r, conn, leased[0].GetId()}
	var answers strings.Builder
	for _, in := range badRequests() {
		fmt.Fprintf(&answers, "# %s\n%s\n-> %s\n\n", in.title, in.request, in.send(b))
	}
	golden.Text(t, "testdata/bad_input.golden", answers.String())
}
