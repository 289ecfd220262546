package bare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pronybench/prony/harness/proc/dialogue"
	"github.com/pronybench/prony/harness/result"
)

// BatchTasks is the number of tasks in a call that is batched.
const BatchTasks = result.BareBatch

const (
	startMax = 30 * time.Second // bounds the time to open a store and listen, or to connect
	endMax   = 30 * time.Second // bounds the time to close the store
)

// Config defines a measurement.
type Config struct {
	Dir    string        // existing folder; files that are written there are removed
	Batch  int           // number of tasks in a call: 1 or BatchTasks
	Sync   bool          // whether the server acknowledges only after fsync
	Warmup time.Duration // time before the measurement; must not be negative
	// For is the length of the measurement; it must be above 0. The measurement is extended until
	// at least one cycle has completed.
	For time.Duration
}

func (c Config) check() error {
	switch {
	case c.Batch != 1 && c.Batch != BatchTasks:
		return fmt.Errorf("a call of %d tasks: it must have 1 or %d", c.Batch, BatchTasks)
	case c.Warmup < 0:
		return fmt.Errorf("a warm-up of %v: it must not be negative", c.Warmup)
	case c.For <= 0:
		return fmt.Errorf("a measurement of %v: it must be above 0", c.For)
	}
	return nil
}

// Measured is the result of a measurement. The figures of both processes are for the same interval.
type Measured struct {
	Cycles    uint64        `json:"cycles"` // always above 0
	Wall      time.Duration `json:"wall"`
	ServerCPU time.Duration `json:"server_cpu"`
	ClientCPU time.Duration `json:"client_cpu"`
}

// Measure starts a server and a client as child processes, measures once and ends both. The binary
// of this process must call Main if IsChild returns true for its arguments. If ctx is done, Measure
// ends early and returns the error of ctx.
func Measure(ctx context.Context, c Config) (m Measured, err error) {
	if err := c.check(); err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp(c.Dir, ".prony-bare-*")
	if err != nil {
		return m, fmt.Errorf("create a folder for a store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server, err := start(asServer, dir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, server.Kill()) }()
	client, err := start(asClient, dir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, client.Kill()) }()

	var at serving
	if err := server.Call(ctx, startMax, "serve", serveArguments{filepath.Join(dir, storeFolder), c.Sync}, &at); err != nil {
		return m, err
	}
	err = client.Call(ctx, startMax, "connect", connectArguments{at.Address, c.Batch}, nil)
	if err == nil {
		err = client.Call(ctx, c.Warmup+c.For, "measure", measureArguments{server.PID(), c.Warmup, c.For}, &m)
	}
	if err == nil {
		err = client.End(ctx, endMax, commandFinish, nil)
	}
	// If the server has failed, this error contains the reason.
	return m, errors.Join(err, server.End(ctx, endMax, commandFinish, nil))
}

// start starts the server or the client. Its log is in dir. Environment variables that affect the
// garbage collector are set to their defaults.
func start(as, dir string) (*dialogue.Process, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return dialogue.Start("bare "+as, dialogue.Command{
		Binary: binary, Args: []string{command}, LogPath: filepath.Join(dir, as+".log"),
		Env: []string{roleEnv + "=" + as, "GOMAXPROCS=1", "GOGC=100", "GOMEMLIMIT=off"},
	})
}
