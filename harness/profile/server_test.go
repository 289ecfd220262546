package profile

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"runtime"
	runtimepprof "runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/harness/adminhttp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is the token that the process requires from callers.
const secret = "prony-secret"

// process is the admin listener of the test process, with its real profiles.
type process struct {
	admin adminhttp.Client

	mu     sync.Mutex
	rates  map[string]int64 // current rates
	asked  []string         // requested paths, in order
	broken map[string]http.HandlerFunc
}

func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{rates: map[string]int64{}, broken: map[string]http.HandlerFunc{}}
	mux := http.NewServeMux()
	var cpu bytes.Buffer
	mux.HandleFunc("POST /debug/cpu/start", func(w http.ResponseWriter, _ *http.Request) {
		if err := runtimepprof.StartCPUProfile(&cpu); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("POST /debug/cpu/stop", func(w http.ResponseWriter, _ *http.Request) {
		runtimepprof.StopCPUProfile()
		_, _ = w.Write(cpu.Bytes())
		cpu.Reset()
	})
	for _, name := range []string{"mutex", "block", "heap", "goroutine"} {
		mux.Handle("GET /debug/pprof/"+name, pprof.Handler(name))
	}
	mux.HandleFunc("PUT /debug/rates", func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.URL.Query() {
			rate, err := strconv.ParseInt(values[0], 10, 64)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			p.setRate(name, rate)
		}
		_, _ = fmt.Fprintf(w, `{"mutex":%d,"block":%d}`, p.rate("mutex"), p.rate("block"))
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		p.mu.Lock()
		p.asked = append(p.asked, r.URL.Path)
		handler := p.broken[r.URL.Path]
		p.mu.Unlock()
		if handler != nil {
			handler(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	}))
	p.admin = adminhttp.Client{Address: strings.TrimPrefix(server.URL, "http://"), Token: secret}
	t.Cleanup(func() {
		server.Close()
		p.setRate("mutex", 0)
		p.setRate("block", 0)
	})
	return p
}

func (p *process) setRate(name string, rate int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rates[name] = rate
	switch name {
	case "mutex":
		runtime.SetMutexProfileFraction(int(rate))
	case "block":
		runtime.SetBlockProfileRate(int(rate))
	}
}

func (p *process) rate(name string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rates[name]
}

func (p *process) answer(path string, handler http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken[path] = handler
}

func (p *process) askedFor(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, asked := range p.asked {
		if asked == path {
			return true
		}
	}
	return false
}

func refuse(w http.ResponseWriter, _ *http.Request) {
	http.Error(w, "out of order", http.StatusInternalServerError)
}

// waitUntilWaiting returns when a goroutine that runs function is in the given state of a stack
// dump, such as "sync.Mutex.Lock".
func waitUntilWaiting(t *testing.T, function, state string) {
	t.Helper()
	buffer := make([]byte, 1<<20)
	require.Eventually(t, func() bool {
		for _, stack := range strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n") {
			header, _, _ := strings.Cut(stack, "\n")
			if strings.Contains(header, "["+state) && strings.Contains(stack, "profile."+function+"(") {
				return true
			}
		}
		return false
	}, wait, tick, "%s never waited in %s", function, state)
}
