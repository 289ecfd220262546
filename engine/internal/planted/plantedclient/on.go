//go:build planted

package plantedclient

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pronybench/prony/engine/internal/compute"
)

// Fault is the name of the client's fault.
const Fault = "client"

// StepsMax bounds the steps for one task: some 10 ms of computing.
const StepsMax = 1 << 22

// steps returns the number of steps in the environment, which is read once per process.
var steps = sync.OnceValues(func() (int, error) { return parse(os.Getenv("PRONY_PLANTED")) })

// Begin reads the fault from the environment. It fails if the fault is that of the client and its
// amount is not a number within bounds.
func Begin() error {
	_, err := steps()
	return err
}

// parse returns the steps in the variable's text, or 0 if the text names another fault.
func parse(text string) (int, error) {
	name, amount, _ := strings.Cut(text, ":")
	if name != Fault {
		return 0, nil
	}
	n, err := strconv.Atoi(amount)
	if err != nil || n <= 0 || n > StepsMax {
		return 0, fmt.Errorf("the amount %q of PRONY_PLANTED: use 1 to %d steps for each task", amount, StepsMax)
	}
	return n, nil
}

// sink stores a result, so that the compiler does not remove the computation.
var sink atomic.Uint64

// Task must be called for each task that a client writes to a stream.
func Task() {
	if n, _ := steps(); n > 0 {
		sink.Store(compute.Steps(n))
	}
}
