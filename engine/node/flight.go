package node

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/trace"
	"strconv"
	"sync"
	"time"
)

const (
	// flightBytesMax is the approximate maximum size of the recording in bytes. The runtime treats
	// it as a hint.
	flightBytesMax = 16 << 20
	// flightSecondsMax limits the period, in seconds, that the flight recorder keeps.
	flightSecondsMax     = 60
	flightSecondsDefault = 5
	// flightLongest is the time after which the recorder stops by itself. Recording costs a few
	// percent of the CPU time of a busy server.
	flightLongest = 15 * time.Minute
)

// flight is the node's flight recorder. While it is on, it keeps the execution trace of the last
// few seconds, so that operators can examine what happened before an incident. It is off until an
// operator starts it. The runtime has one recorder per process.
type flight struct {
	mu       sync.Mutex
	recorder *trace.FlightRecorder // nil while the recorder is off
	end      *time.Timer           // stops the recorder after flightLongest
}

// start starts the recorder, or answers why it cannot.
func (f *flight) start(w http.ResponseWriter, r *http.Request) {
	seconds, err := flightSeconds(r.URL.Query().Get("seconds"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recorder != nil {
		http.Error(w, "the flight recorder is on: stop it first, with POST /debug/trace/stop", http.StatusConflict)
		return
	}
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Duration(seconds) * time.Second, MaxBytes: flightBytesMax})
	if err := recorder.Start(); err != nil {
		http.Error(w, "start the flight recorder: "+err.Error(), http.StatusConflict)
		return
	}
	f.recorder = recorder
	f.end = time.AfterFunc(flightLongest, f.stop)
	writeJSON(w, map[string]int{"seconds": seconds, "bytes_max": flightBytesMax})
}

func flightSeconds(text string) (int, error) {
	if text == "" {
		return flightSecondsDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > flightSecondsMax {
		return 0, fmt.Errorf("seconds=%q is not a whole number from 1 to %d", text, flightSecondsMax)
	}
	return n, nil
}

// snapshot returns the trace that the recorder contains. Recording continues.
func (f *flight) snapshot(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock() // the runtime refuses concurrent snapshots
	defer f.mu.Unlock()
	if f.recorder == nil {
		http.Error(w, "the flight recorder is off: start it with POST /debug/trace/start", http.StatusConflict)
		return
	}
	var taken bytes.Buffer // WriteTo waits for its writer, and a client may be slow
	if _, err := f.recorder.WriteTo(&taken); err != nil {
		http.Error(w, "take a snapshot of the trace: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(taken.Bytes()) // if it fails, the client has disconnected
}

func (f *flight) halt(w http.ResponseWriter, _ *http.Request) {
	f.stop()
	writeLine(w, "off")
}

func (f *flight) stop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recorder == nil {
		return
	}
	f.end.Stop()
	f.recorder.Stop()
	f.recorder = nil
}
