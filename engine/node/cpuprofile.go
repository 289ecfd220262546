package node

import (
	"bytes"
	"net/http"
	"runtime/pprof"
	"sync"
	"time"
)

// cpuProfileLongest bounds a CPU profile that is not stopped. A profile costs about 1 % of a busy
// server.
const cpuProfileLongest = 15 * time.Minute

// cpuProfile records CPU profiles that begin and end on request, so that a profile covers exactly
// the chosen period. The runtime has one profile per process.
type cpuProfile struct {
	mu      sync.Mutex
	profile *bytes.Buffer // nil when off
	end     *time.Timer   // stops the profile
}

// start begins a profile. It answers after the profile has begun.
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

// halt ends the profile and returns it to the client.
func (c *cpuProfile) halt(w http.ResponseWriter, _ *http.Request) {
	profile := c.stop()
	if profile == nil {
		http.Error(w, "no CPU profile is recorded: start one with POST /debug/cpu/start", http.StatusConflict)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(profile.Bytes()) // an error means that the client has disconnected
}

// stop ends the profile and returns it, or nil if none is being recorded.
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
