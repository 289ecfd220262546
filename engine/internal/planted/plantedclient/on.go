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

// StepsMax is the most steps of computing for one task: some 10 ms.
const StepsMax = 1 << 22

// steps is what the environment asks for, read once for each process.
var steps = sync.OnceValues(func() (int, error) { return parse(os.Getenv("PRONY_PLANTED")) })

// Begin reads the fault from the environment. It fails if the fault is the client's and its amount is not a number within bounds.
func Begin() error {
	_, err := steps()
	return err
}

// parse returns the steps that the variable's text asks for; 0 if the text names another fault.
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

// sink keeps a result, so that the compiler does not leave out what makes it.
var sink atomic.Uint64

// Task is called for each task that a client writes to a stream.
func Task() {
	if n, _ := steps(); n > 0 {
		sink.Store(compute.Steps(n))
	}
}
