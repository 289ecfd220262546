package node

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"sync"
	"time"
)

// cpuProfileLongest is the time after which a CPU profile stops by itself. Recording costs about 1
// % of the CPU time of a busy server.
const cpuProfileLongest = 15 * time.Minute

// cpuProfile records CPU profiles that start and stop on request, so that a profile describes
// exactly the chosen period. The runtime can record one profile per process.
type cpuProfile struct {
	mu      sync.Mutex
	profile *bytes.Buffer // nil while no profile is recorded
	end     *time.Timer   // stops the profile after cpuProfileLongest
}

func (c *cpuProfile) start(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.profile != nil {
		http.Error(w, "a CPU profile is recorded: stop it first, with POST /debug/cpu/stop", http.StatusConflict)
		return
	}
	profile := &bytes.Buffer{}
	if err := pprof.StartCPUProfile(profile); err != nil {
		http.Error(w, "start the CPU profile: "+err.Error(), http.StatusConflict)
		return
	}
	c.profile = profile
	c.end = time.AfterFunc(cpuProfileLongest, func() { c.stop() })
	writeLine(w, "on")
}

func (c *cpuProfile) halt(w http.ResponseWriter, _ *http.Request) {
	profile := c.stop()
	if profile == nil {
		http.Error(w, "no CPU profile is recorded: start one with POST /debug/cpu/start", http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(profile.Bytes()) // if it fails, the client has disconnected
}

// stop stops the profile and returns it, or returns nil if none is being recorded.
func (c *cpuProfile) stop() *bytes.Buffer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.profile == nil {
		return nil
	}
	c.end.Stop()
	pprof.StopCPUProfile()
	profile := c.profile
	c.profile = nil
	return profile
}
