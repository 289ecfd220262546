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

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// newAdmin returns the admin listener's server: probes, metrics, profiles, audit. It is apart from
// the clients' listeners because profiles tell what the server does, and cost it time.
func (n *Node) newAdmin() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { writeLine(w, "ok") })
	mux.HandleFunc("GET /readyz", n.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /audit", n.audit)
	rates := &profileRates{}
	mux.HandleFunc("PUT /debug/rates", rates.put)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	return &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
}

func (n *Node) readyz(w http.ResponseWriter, _ *http.Request) {
	if why := n.notReady.Load(); why != nil {
		http.Error(w, *why, http.StatusServiceUnavailable)
		return
	}
	writeLine(w, "ok")
}

func writeLine(w http.ResponseWriter, line string) {
	// An error here is the asker's connection: there is nobody left to tell.
	_, _ = fmt.Fprintln(w, line)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// profileRates sets the runtime's rates, so that a mutex or block profile covers a chosen time only.
type profileRates struct {
	mu    sync.Mutex
	block int // the runtime does not tell
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
	runtime.SetMutexProfileFraction(mutex) // a negative one changes nothing
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
		return absent, fmt.Errorf("%s=%q is not a whole number from 0: pass 0 to turn the profile off", name, text)
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
}

// audit counts what is really stored beside what the queues' own counters say.
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
			Ready: a.Counts.Fresh, Leased: a.Counts.Leased, Delayed: a.Counts.Returned, Dead: a.Counts.Dead, Stored: a.Stored,
		}
	}
	writeJSON(w, map[string]any{"queues": queues})
}
