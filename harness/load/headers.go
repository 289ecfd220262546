package load

import (
	"strconv"
	"strings"

	"github.com/pronybench/prony/harness/ledger"
	"github.com/pronybench/prony/harness/scenario"
)

// headers derives the headers of a workload's tasks. They depend only on the workload's seed and the
// task's identity, so a worker knows the headers of each task that it claims.
type headers struct {
	n    int
	seed uint64
}

// headerRepeatMax bounds the length of a value, which is a number of 13 digits at most, repeated.
const headerRepeatMax = 4

func newHeaders(w scenario.Workload) headers { return headers{w.Headers, uint64(w.Seed)} }

// of returns the headers of a task: a kind, and values of different lengths.
func (h *headers) of(id ledger.Identity) map[string]string {
	if h.n == 0 {
		return nil
	}
	all := make(map[string]string, h.n)
	for i := range h.n {
		word := mixed(h.seed, uint64(lotHeaders), uint64(id.Producer), id.Sequence, uint64(i))
		key := "kind"
		if i > 0 {
			key = "header-" + strconv.Itoa(i)
		}
		all[key] = strings.Repeat(strconv.FormatUint(word, 36), int(1+word%headerRepeatMax))
	}
	return all
}

// check compares the headers of a delivery with those of its task.
func (h *headers) check(l *ledger.Ledger, id ledger.Identity, got map[string]string) {
	if h.n > 0 {
		l.HeadersBack(id, h.of(id), got)
	}
}
