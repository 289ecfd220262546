package storage

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pronybench/prony/engine/longtest"
	"github.com/pronybench/prony/engine/queue"
)

// faultChild is an environment variable that turns this program into a process with a failing disk.
// Its value has the folder, the durability, the number of the file-system operation that fails,
// counted from 1, and "on" if all later operations fail as well.
const faultChild = "PRONY_FAULT_CHILD"

func TestMain(m *testing.M) {
	if args := strings.Fields(os.Getenv(faultChild)); len(args) > 0 {
		os.Exit(runFaultChild(args))
	}
	goleak.VerifyTestMain(m)
}

// failingDisk fails operation number at and, if on is set, all later ones.
type failingDisk struct {
	mu  sync.Mutex
	at  int
	on  bool
	ops int
}

func (d *failingDisk) maybe(op errorfs.Op) error {
	switch op.Kind {
	// These do not affect what is stored.
	case errorfs.OpFileClose, errorfs.OpGetDiskUsage, errorfs.OpFileFlush:
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ops++; d.at > 0 && (d.ops == d.at || d.on && d.ops > d.at) {
		return fmt.Errorf("%s: %w", op.Path, errorfs.ErrInjected)
	}
	return nil
}

const faultCommits = 12

// runFaultChild acts like a server: it opens the store, commits and acknowledges, and exits with
// status 1 at the first error.
func runFaultChild(args []string) int {
	at, err := strconv.Atoi(args[2])
	disk := &failingDisk{at: at, on: args[3] == "on"}
	if err == nil {
		err = faultCommitsOn(args[0], Durability(args[1]), disk)
	}
	fmt.Println("operations", disk.ops)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func faultCommitsOn(dir string, d Durability, disk *failingDisk) error {
	s, err := Open(dir, Options{
		FS: errorfs.Wrap(vfs.Default, errorfs.InjectorFunc(disk.maybe)), Durability: d, SyncInterval: never, MemTableBytes: 128 << 10,
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	b := s.NewBatch()
	for seq := range uint64(faultCommits) {
		b.PutTask(seqRef(seq), queue.Task{Payload: make([]byte, 20_000)})
		c, err := b.Submit()
		if err == nil {
			err = c.Wait()
		}
		if err != nil {
			return err
		}
		fmt.Println("acknowledged", seq)
		if seq%4 == 3 {
			if err := s.db.Flush(); err != nil {
				return err
			}
		}
		if _, found, err := s.Task(seqRef(seq / 2)); err != nil || !found {
			return errors.Join(err, fmt.Errorf("task %d is found: %v", seq/2, found))
		}
	}
	return s.Close()
}

type faultResult struct {
	code, acked, ops int
	said             string
}

func startFaultChild(t *testing.T, dir string, d Durability, at int, then string) (r faultResult) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^$")
	c.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %s", faultChild, dir, d, at, then))
	var said strings.Builder
	c.Stderr = &said
	out, err := c.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		r.code = exit.ExitCode()
	} else {
		require.NoError(t, err)
	}
	r.said = said.String()
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "acknowledged ") {
			r.acked++
		}
		if n, ok := strings.CutPrefix(lines.Text(), "operations "); ok {
			r.ops, err = strconv.Atoi(n)
			require.NoError(t, err)
		}
	}
	return r
}

// Whichever operation of the file system fails, once or permanently: a process that cannot continue
// names the file and exits with status 1, and the next process finds everything that was
// acknowledged.
func TestFailedOperationsAreLoudAndLoseNothing(t *testing.T) {
	for i, d := range []Durability{Sync, Interval, None} {
		t.Run(string(d), func(t *testing.T) {
			t.Parallel()
			whole := startFaultChild(t, t.TempDir(), d, 0, "once")
			require.Equal(t, 0, whole.code, whole.said)
			require.Equal(t, faultCommits, whole.acked)
			r := rand.New(rand.NewPCG(1, uint64(i)))
			exits, outlived := 0, 0
			for at := 1; at <= whole.ops; at++ {
				if !longtest.Asked(t) && r.IntN(whole.ops) >= 12 {
					continue
				}
				for _, then := range []string{"once", "on"} {
					dir := t.TempDir()
					got := startFaultChild(t, dir, d, at, then)
					what := fmt.Sprintf("operation %d of %d, %s, exit %d: %s", at, whole.ops, then, got.code, got.said)
					switch got.code {
					case 0: // the process did not need the failed operation
						outlived++
						require.Equal(t, faultCommits, got.acked, what)
					default:
						exits++
						require.Equal(t, 1, got.code, what)
						require.Contains(t, got.said, dir, what)
						require.Contains(t, got.said, "injected error", what)
						require.NotContains(t, got.said, "goroutine ", what)
					}
					there := presentIn(t, dir, vfs.Default)
					for seq := range got.acked {
						require.True(t, there[seq], "task %d was acknowledged: %s", seq, what)
					}
				}
			}
			t.Logf("in all: %d operations; %d processes exited after a failed one, %d did not need it", whole.ops, exits, outlived)
		})
	}
}

func presentIn(t *testing.T, dir string, fs vfs.FS) []bool {
	t.Helper()
	s, err := Open(dir, Options{FS: fs, Durability: Sync})
	require.NoError(t, err)
	out := make([]bool, faultCommits)
	for seq := range out {
		_, out[seq], err = s.Task(seqRef(uint64(seq)))
		require.NoError(t, err)
	}
	require.NoError(t, s.Close())
	return out
}
