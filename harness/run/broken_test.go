package run

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/queuepb"
)

// Faults of the fake server. Most affect each hundredth completion.
const (
	faultNone    = "none"
	faultToken   = "token"    // none, but it requires an access token from all callers
	faultFull    = "full"     // refuses each hundredth task
	faultKeeps   = "keeps"    // acknowledges the completion, but keeps the task leased
	faultSilent  = "silent"   // never answers the frame with the completion
	faultStale   = "stale"    // refuses the completion with a stale token
	faultTwice   = "twice"    // hands the task out twice
	faultSwaps   = "swaps"    // hands a task out before the one enqueued before it
	faultStrays  = "strays"   // hands a task out under another queue
	faultHangsUp = "hangs up" // ends the stream, but stays alive
	faultNoAudit = "no audit" // does not answer audits
	// Completes the leased tasks after each audit, as if their completions had been in flight.
	faultAfter    = "after"
	faultBadEnd   = "bad end"  // exits with status 4 on SIGTERM
	faultMisreads = "misreads" // answers reads with another payload
	faultForgets  = "forgets"  // acknowledges failures, but never hands their tasks out again
	// Exits with status 3 at the third request for its metrics, after the load.
	faultDies = "dies"
)

const faultEach = 100

// broken is a queue server in memory, with one tenant, one queue and one fault. mu guards all of
// it; changed wakes the streams.
type broken struct {
	queuepb.UnimplementedQueueServiceServer
	fault string

	mu        sync.Mutex
	changed   *sync.Cond
	ready     []*queuepb.Task
	leased    map[string]*queuepb.Task
	kept      map[string]*queuepb.Task // all enqueued tasks
	offered   uint64                   // tasks of all enqueue requests
	enqueued  uint64
	completed uint64
	settled   uint64 // requested completions
	token     uint64
}

// task returns a task to hand out, with a new token. The caller holds b.mu.
func (b *broken) task(id, tenant, queue string, payload []byte) *queuepb.Task {
	b.token++
	return &queuepb.Task{
		Id: id, Tenant: tenant, Queue: queue, Payload: payload, Attempt: 1, Token: b.token, LeaseExpiresAtMs: time.Now().Add(time.Hour).UnixMilli(),
	}
}

// GetTask returns a task whatever its state is.
func (b *broken) GetTask(_ context.Context, in *queuepb.GetTaskRequest) (*queuepb.GetTaskResponse, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, found := b.kept[in.GetId()]
	if !found {
		return nil, status.Error(codes.NotFound, "no such task")
	}
	payload := slices.Clone(t.GetPayload())
	if b.fault == faultMisreads {
		payload[len(payload)-1]++
	}
	return &queuepb.GetTaskResponse{Task: &queuepb.Task{Id: t.GetId(), Tenant: "t0", Queue: t.GetQueue(), Payload: payload}}, nil
}

// AwaitResult answers that the task is completed, without a result.
func (b *broken) AwaitResult(context.Context, *queuepb.AwaitResultRequest) (*queuepb.AwaitResultResponse, error) {
	return &queuepb.AwaitResultResponse{State: queuepb.TaskState_TASK_STATE_DONE}, nil
}

func (b *broken) Produce(stream grpc.BidiStreamingServer[queuepb.ProduceRequest, queuepb.ProduceResponse]) error {
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer := &queuepb.EnqueueAnswer{Frame: in.GetFrame()}
		b.mu.Lock()
		for i, t := range in.GetTasks() {
			b.offered++
			if b.fault == faultFull && b.offered%faultEach == 0 {
				answer.Ids = append(answer.Ids, "")
				answer.Errors = append(answer.Errors, &queuepb.ItemError{
					Index: uint32(i), Code: queuepb.ErrorCode_ERROR_CODE_RESOURCE_EXHAUSTED, Message: "the queue is full",
				})
				continue
			}
			b.enqueued++
			id := strconv.FormatUint(b.enqueued, 10)
			answer.Ids = append(answer.Ids, id)
			b.ready = append(b.ready, b.task(id, in.GetTenant(), t.GetQueue(), t.GetPayload()))
			b.kept[id] = b.ready[len(b.ready)-1]
			if last := len(b.ready) - 1; b.enqueued%faultEach == 0 && last > 0 {
				switch b.fault {
				case faultSwaps:
					b.ready[last-1], b.ready[last] = b.ready[last], b.ready[last-1]
				case faultStrays:
					b.ready[last].Queue = "stray"
				}
			}
		}
		b.mu.Unlock()
		b.changed.Broadcast()
		if err := stream.Send(&queuepb.ProduceResponse{Answers: []*queuepb.EnqueueAnswer{answer}}); err != nil {
			return err
		}
	}
}

// Work sends from the handler's goroutine and receives in another one, which ends with the stream.
func (b *broken) Work(stream grpc.BidiStreamingServer[queuepb.WorkRequest, queuepb.WorkResponse]) error {
	var credits int
	var answers []*queuepb.SettleAnswer
	var ended error
	over := false
	go func() {
		for {
			in, err := stream.Recv()
			b.mu.Lock()
			if err == nil {
				credits += int(in.GetCredits())
				var answer *queuepb.SettleAnswer
				if answer, err = b.settle(in); answer != nil {
					answers = append(answers, answer)
				}
			} else if errors.Is(err, io.EOF) {
				err = nil
				over = true
			}
			over, ended = over || err != nil, err
			stop := over
			b.mu.Unlock()
			b.changed.Broadcast()
			if stop {
				return
			}
		}
	}()
	for {
		out := &queuepb.WorkResponse{}
		b.mu.Lock()
		for !over && len(answers) == 0 && (credits == 0 || len(b.ready) == 0) {
			b.changed.Wait()
		}
		if over && len(answers) == 0 {
			err := ended
			b.mu.Unlock()
			return err
		}
		n := min(credits, len(b.ready), 1000)
		out.Tasks, b.ready, credits = b.ready[:n:n], b.ready[n:], credits-n
		for _, t := range out.Tasks {
			b.leased[t.GetId()] = t
		}
		out.Answers, answers = answers, nil
		b.mu.Unlock()
		if err := stream.Send(out); err != nil {
			return err
		}
	}
}

// settle executes the completions of a frame. The caller holds b.mu. The answer is nil if there is
// none.
func (b *broken) settle(in *queuepb.WorkRequest) (*queuepb.SettleAnswer, error) {
	if len(in.GetSettlements()) == 0 {
		return nil, nil
	}
	answer := &queuepb.SettleAnswer{Frame: in.GetFrame()}
	silent := false
	for i, s := range in.GetSettlements() {
		t := b.leased[s.GetId()]
		b.settled++
		if b.settled%faultEach == 0 {
			switch b.fault {
			case faultKeeps:
				continue
			case faultSilent:
				silent = true
				continue
			case faultStale:
				answer.Errors = append(answer.Errors, &queuepb.ItemError{
					Index: uint32(i), Code: queuepb.ErrorCode_ERROR_CODE_STALE_TOKEN, Message: "the token is stale",
				})
				continue
			case faultTwice:
				b.ready = append(b.ready, b.task(t.GetId(), t.GetTenant(), t.GetQueue(), t.GetPayload()))
			case faultHangsUp:
				return nil, status.Error(codes.Internal, "lost the thread")
			}
		}
		if t != nil && s.GetAction() == queuepb.SettleAction_SETTLE_ACTION_COMPLETE {
			delete(b.leased, s.GetId())
			b.completed++
		}
	}
	if silent {
		return nil, nil
	}
	return answer, nil
}

// Complete permanently refuses the tasks of a stream that ended. Otherwise the client would
// complete them and open another stream.
func (b *broken) Complete(context.Context, *queuepb.CompleteRequest) (*queuepb.CompleteResponse, error) {
	return nil, status.Error(codes.Unimplemented, "lost the thread")
}

// audit reports the true state, whatever the streams answered. A task that was handed out twice was
// completed twice.
func (b *broken) audit(w http.ResponseWriter, _ *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fault == faultNoAudit {
		http.Error(w, "cannot count", http.StatusInternalServerError)
		return
	}
	held := len(b.ready) + len(b.leased)
	err := json.NewEncoder(w).Encode(map[string]any{"queues": []map[string]any{{
		"tenant": "t0", "queue": "q0", "enqueued": b.enqueued, "completed": b.completed,
		"ready": len(b.ready), "leased": len(b.leased), "delayed": 0, "dead": 0, "stored": held,
	}}})
	if err != nil {
		die(1, "%v", err)
	}
	if b.fault == faultAfter {
		b.completed += uint64(len(b.leased))
		clear(b.leased)
	}
}

// secret is the token of a server that requires one.
const secret = "let-me-in"

// guard refuses requests without the token, except the readiness probe.
func guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" && r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "no token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func guardStreams(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	m, _ := metadata.FromIncomingContext(stream.Context())
	if shown := m.Get("authorization"); len(shown) != 1 || shown[0] != "Bearer "+secret {
		return status.Error(codes.Unauthenticated, "no token")
	}
	return next(service, stream)
}

func die(code int, format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(code)
}

// actServer behaves like queued except for the fault.
func actServer(fault string) {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.String("data", "", "")
	listen := flags.String("listen", "", "")
	_ = flags.String("http", "", "")
	adminListen := flags.String("admin", "", "")
	flags.String("durability", "", "")
	addressFile := flags.String("address-file", "", "")
	if err := flags.Parse(os.Args[2:]); err != nil {
		die(2, "%v", err)
	}
	clients, err := net.Listen("tcp", *listen)
	if err != nil {
		die(1, "%v", err)
	}
	admin, err := net.Listen("tcp", *adminListen)
	if err != nil {
		die(1, "%v", err)
	}
	b := &broken{fault: fault, leased: map[string]*queuepb.Task{}, kept: map[string]*queuepb.Task{}}
	b.changed = sync.NewCond(&b.mu)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", func(http.ResponseWriter, *http.Request) {})
	var scrapes atomic.Int32
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		if scrapes.Add(1) == 3 && fault == faultDies {
			die(3, "panic: out of metrics")
		}
		if _, err := io.WriteString(w, "broken_up 1\n"); err != nil {
			die(1, "%v", err)
		}
	})
	mux.HandleFunc("GET /audit", b.audit)
	mux.HandleFunc("GET /debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		pprof.Index(w, r)
		fmt.Fprintln(os.Stderr, "served", r.URL.Path)
	})
	mux.HandleFunc("PUT /debug/rates", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(os.Stderr, "rates", r.URL.RawQuery)
		if _, err := fmt.Fprintf(w, `{"mutex":%s}`, r.FormValue("mutex")); err != nil {
			die(1, "%v", err)
		}
	})
	tokenFile := ""
	var guarded http.Handler = mux
	var options []grpc.ServerOption
	if fault == faultToken {
		tokenFile = filepath.Join(filepath.Dir(*addressFile), "token")
		if err := os.WriteFile(tokenFile, []byte(secret+"\n"), 0o600); err != nil {
			die(1, "%v", err)
		}
		guarded = guard(mux)
		options = append(options, grpc.StreamInterceptor(guardStreams))
	}
	go func() { die(1, "%v", (&http.Server{Handler: guarded, ReadHeaderTimeout: time.Minute}).Serve(admin)) }()
	server := grpc.NewServer(options...)
	queuepb.RegisterQueueServiceServer(server, b)
	go func() { die(1, "%v", server.Serve(clients)) }()

	text, err := json.Marshal(map[string]any{
		"pid": os.Getpid(), "listen": []string{clients.Addr().String()}, "admin": admin.Addr().String(), "token_file": tokenFile,
	})
	if err != nil {
		die(1, "%v", err)
	}
	tmp := filepath.Join(filepath.Dir(*addressFile), "tmp")
	if err := errors.Join(os.WriteFile(tmp, text, 0o600), os.Rename(tmp, *addressFile)); err != nil {
		die(1, "%v", err)
	}
	fmt.Fprintln(os.Stderr, "serving with fault", fault)
	<-term
	if fault == faultBadEnd {
		die(4, "close the store: input/output error")
	}
}
