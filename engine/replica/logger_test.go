package replica

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/assert"
)

// Raft repeats its lines about unreachable members. They are logged at debug level; the rate of
// other lines is limited.
func TestRaftsLinesAreFolded(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	for range 100 {
		log.Error("failed to heartbeat to", "peer", "n2@127.0.0.1:7073", "backoff time", "40ms", "error", errors.New("refused"))
		log.Warn("failed to contact", "server-id", "n2", "time", "251ms")
		log.Warn("Election timeout reached, restarting election")
	}
	log.Info("entering follower state")
	for range raftLinesMax + 5 {
		log.Error("failed to take snapshot", "error", errors.New("the disk is full"))
	}
	log.Warn("skipping application of old log", "index", 7)
	levels := map[string]int{}
	for line := range strings.Lines(out.String()) {
		for _, level := range []string{"DEBUG", "INFO", "WARN"} {
			if strings.Contains(line, "level="+level) {
				levels[level]++
			}
		}
	}
	assert.Equal(t, map[string]int{"DEBUG": 300, "WARN": raftLinesMax}, levels, "Raft's own lines below a warning are dropped")
	assert.Contains(t, out.String(), `level=WARN msg="raft: failed to take snapshot: error=\"the disk is full\""`)
}

// A node that receives a store logs its progress. Raft's other lines about snapshots are dropped.
func TestALogSaysHowMuchOfAStoreHasCome(t *testing.T) {
	var out bytes.Buffer
	log := newLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	log.Info("snapshot network transfer progress", "read-bytes", int64(5<<30), "percent-complete", hclog.Fmt("%0.2f%%", 12.5))
	log.With("id", "2-9").Info("snapshot restore progress", "read-bytes", int64(0), "percent-complete", hclog.Fmt("%0.2f%%", 0.0))
	log.Info("copied to local snapshot", "bytes", 7)
	assert.Equal(t, "level=INFO msg=\"receiving the store of the leader\" bytes=5368709120 percent=12.50\n", out.String())
}
