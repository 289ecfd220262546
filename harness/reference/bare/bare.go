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

// BatchTasks is how many tasks a call has, unless it has one.
const BatchTasks = result.BareBatch

const (
	startMax = 30 * time.Second // to open a store and to listen, or to connect
	endMax   = 30 * time.Second // to close the store
)

// Config says what is measured.
type Config struct {
	Dir    string        // an existing folder; what is written there is removed
	Batch  int           // tasks of a call: 1 or BatchTasks
	Sync   bool          // the server acknowledges after fsync
	Warmup time.Duration // before what is counted; at least 0
	For    time.Duration // how long cycles are counted, and longer until one has completed; above 0
}

func (c Config) check() error {
	switch {
	case c.Batch != 1 && c.Batch != BatchTasks:
		return fmt.Errorf("a call of %d tasks: it must have 1 or %d", c.Batch, BatchTasks)
	case c.Warmup < 0:
		return fmt.Errorf("a warm-up of %v: it can't be negative", c.Warmup)
	case c.For <= 0:
		return fmt.Errorf("a measurement of %v: it must take some time", c.For)
	}
	return nil
}

// Measured is what both processes did in the same time.
type Measured struct {
	Cycles    uint64        `json:"cycles"` // above 0
	Wall      time.Duration `json:"wall"`
	ServerCPU time.Duration `json:"server_cpu"`
	ClientCPU time.Duration `json:"client_cpu"`
}

// Measure starts a server and a client as child processes, measures once and ends both. The binary of this process must call Main if
// IsChild reports true for its arguments. Measure ends early with ctx's error.
func Measure(ctx context.Context, c Config) (m Measured, err error) {
	if err := c.check(); err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp(c.Dir, ".prony-bare-*")
	if err != nil {
		return m, fmt.Errorf("make a folder for a store: %w", err)
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
	return m, errors.Join(err, server.End(ctx, endMax, commandFinish, nil)) // a server that failed says why
}

// start starts one of the two processes, whose log is in dir. What would change its garbage collector is set to its default.
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
