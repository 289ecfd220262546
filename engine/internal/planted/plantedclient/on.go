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

// Fault is the name of the fault of the client.
const Fault = "client"

// StepsMax is the maximum number of steps for one task. They take about 10 ms.
const StepsMax = 1 << 22

// steps returns the number of steps that the environment sets. It reads the environment once per
// process.
var steps = sync.OnceValues(func() (int, error) { return parse(os.Getenv("PRONY_PLANTED")) })

// Begin reads the fault from the environment. It fails if the environment selects the client's
// fault with an amount that is not a number or is out of range.
func Begin() error {
	_, err := steps()
	return err
}

// parse returns the number of steps in the variable's text. It returns 0 if the text names another
// fault.
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
