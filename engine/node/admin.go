package node

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/internal/serialbudget"
	"github.com/pronybench/prony/engine/rest"
	"github.com/pronybench/prony/engine/rpc/admin"
	"github.com/pronybench/prony/engine/ui"
)

// newAdmin creates the server of the admin listener. It serves probes, metrics, profiles, the
// audit, settings, the web page for operators, and the admin service over gRPC and REST. It is separate from the clients'
// listeners, because profiles reveal internals and cost CPU time.
func (n *Node) newAdmin(service adminpb.AdminServiceServer, c Config) error {
	if n.adminAt == nil {
		return nil
	}
	service = admin.Audited(service, n.log)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { writeLine(w, "ok") })
	mux.HandleFunc("GET /readyz", n.readyz)
	operators := func(pattern string, handle http.HandlerFunc) {
		mux.Handle(pattern, n.auth.GuardOperator(handle, rest.WriteError))
	}
	if page := n.metrics.Page(); c.Metrics.Auth {
		operators("GET /metrics", page.ServeHTTP)
	} else {
		mux.Handle("GET /metrics", page)
	}
	operators("GET /audit", n.audit)
	if c.Settings != nil {
		operators("GET /settings", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, map[string]any{"settings": c.Settings}) })
	}
	operators("GET /debug/stalls", n.slowCommits)
	rates := &profileRates{}
	operators("PUT /debug/rates", rates.put)
	operators("GET /debug/pprof/", pprof.Index)
	operators("GET /debug/pprof/cmdline", pprof.Cmdline)
	operators("GET /debug/pprof/profile", pprof.Profile)
	operators("GET /debug/pprof/symbol", pprof.Symbol)
	operators("GET /debug/pprof/trace", pprof.Trace)
	operators("POST /debug/cpu/start", n.cpuProfile.start)
	operators("POST /debug/cpu/stop", n.cpuProfile.halt)
	operators("POST /debug/trace/start", n.flight.start)
	operators("GET /debug/trace/snapshot", n.flight.snapshot)
	operators("POST /debug/trace/stop", n.flight.halt)
	if serialbudget.Enabled {
		operators("PUT /debug/serial-budget", serialbudget.Put)
	}
	api, err := rest.NewAdmin(service, n.restOptions(c.Limits))
	if err != nil {
		return fmt.Errorf("serve the admin service: %w", err)
	}
	mux.Handle("/v1/", api)
	for _, path := range rest.OpenAPIPaths() {
		mux.Handle(path, api)
	}
	if c.UI {
		mux.Handle(ui.Root, n.newUI(service, c))
	}
	calls, server := admin.NewServer(service, c.Limits, n.bounds, n.health, n.auth, n.metrics.Interceptors()...)
	n.adminGRPC = server
	n.admin = n.boundedServer(n.hostsOf(c, n.adminAt).guard(grpcOrHTTP(calls, mux)), adminAnswerMax)
	n.admin.Protocols = new(http.Protocols)
	n.admin.Protocols.SetHTTP1(true)
	n.admin.Protocols.SetHTTP2(true)
	n.admin.Protocols.SetUnencryptedHTTP2(true)
	return nil
}

func grpcOrHTTP(calls, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isGRPC(r) {
			calls.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}

func (n *Node) readyz(w http.ResponseWriter, _ *http.Request) {
	if why := n.notReadyWhy(); why != "" {
		http.Error(w, why, http.StatusServiceUnavailable)
		return
	}
	writeLine(w, "ok")
	// The node is ready even if the disk is low on space: it can still read and, above the critical
	// mark, also complete tasks.
	if why := n.space.Why(); why != "" {
		writeLine(w, why)
	}
}

// notReadyWhy returns the reason why the node is not ready, or "". The node is not ready if it has
// failed or is stopping, or if a shard is stalled.
func (n *Node) notReadyWhy() string {
	if why := n.notReady.Load(); why != nil {
		return *why
	}
	if n.cluster != nil {
		if why := n.cluster.NotReady(); why != "" {
			return why
		}
		if n.tokenFile != "" && n.registry.Empty() {
			return "this node has not received the access tokens yet"
		}
	}
	if i, d := n.shards.UnderWay(); d > n.stallMax {
		return fmt.Sprintf("shard %d is stalled: a commit has been running for %v", i, d.Round(time.Millisecond))
	}
	return ""
}

func writeLine(w http.ResponseWriter, line string) {
	// The client has disconnected if writing fails.
	_, _ = fmt.Fprintln(w, line)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// profileRates sets the runtime's profiling rates on request, so that a mutex or block profile
// describes a chosen period.
type profileRates struct {
	mu    sync.Mutex
	block int // the current rate; the runtime has no function that returns it
}

func (p *profileRates) put(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mutex, err := rate(r, "mutex", -1)
	if err == nil {
		p.block, err = rate(r, "block", p.block)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	runtime.SetMutexProfileFraction(mutex) // a negative value leaves the rate unchanged
	runtime.SetBlockProfileRate(p.block)
	writeJSON(w, map[string]int{"mutex": runtime.SetMutexProfileFraction(-1), "block": p.block})
}

func rate(r *http.Request, name string, absent int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return absent, fmt.Errorf("%s=%q is not a whole number of at least 0: pass 0 to turn the profile off", name, text)
	}
	return n, nil
}

type auditedQueue struct {
	Tenant    string `json:"tenant"`
	Queue     string `json:"queue"`
	Enqueued  uint64 `json:"enqueued"`
	Completed uint64 `json:"completed"`
	Ready     uint64 `json:"ready"`
	Leased    uint64 `json:"leased"`
	Delayed   uint64 `json:"delayed"`
	Dead      uint64 `json:"dead"`
	Stored    uint64 `json:"stored"`
	// Found has the number of tasks in each state, counted from the tasks' records at the same
	// moment. If it differs from the counters above, the counters are wrong.
	Found auditedStates `json:"found"`
}

type auditedStates struct {
	Ready   uint64 `json:"ready"`
	Leased  uint64 `json:"leased"`
	Delayed uint64 `json:"delayed"`
	Dead    uint64 `json:"dead"`
}

// audit returns the queues' counters together with the numbers of stored tasks, counted from the
// stores.
func (n *Node) audit(w http.ResponseWriter, _ *http.Request) {
	n.storesInUse.RLock()
	defer n.storesInUse.RUnlock()
	if n.storesClosed {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	audited, err := n.shards.Audit()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	queues := make([]auditedQueue, len(audited))
	for i, a := range audited {
		queues[i] = auditedQueue{
			Tenant: a.Tenant, Queue: a.Name, Enqueued: a.Counts.Enqueued, Completed: a.Counts.Completed,
			Ready: a.Counted.Ready, Leased: a.Counted.Leased, Delayed: a.Counted.Delayed, Dead: a.Counted.Dead, Stored: a.Stored,
			Found: auditedStates{Ready: a.Found.Ready, Leased: a.Found.Leased, Delayed: a.Found.Delayed, Dead: a.Found.Dead},
		}
	}
	writeJSON(w, map[string]any{"queues": queues})
}
