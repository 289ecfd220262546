package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/render"
	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ReadTenantsMax bounds the number of tenants of all workloads with reads. The reads of each tenant
// use separate connections, which carry the tenant's access token.
const ReadTenantsMax = 100

// The kinds of reads.
const (
	ReadGet   = "get"   // of one task
	ReadList  = "list"  // of the tasks of a queue
	ReadStats = "stats" // of the statistics of a queue
	ReadAwait = "await" // waits until a task ends
)

// ReadKinds returns the kinds of reads in the order of display.
func ReadKinds() []string { return []string{ReadGet, ReadList, ReadStats, ReadAwait} }

// Reads has the share of each kind of reads in the total number of enqueued tasks and reads. The
// sum of the shares is below 1. The zero value has no reads.
type Reads struct {
	Get   float64 `json:"get,omitzero"`
	List  float64 `json:"list,omitzero"`
	Stats float64 `json:"stats,omitzero"`
	Await float64 `json:"await,omitzero"`
}

// share returns a pointer to the share of a kind, or nil if there is no such kind.
func (r *Reads) share(kind string) *float64 {
	switch kind {
	case ReadGet:
		return &r.Get
	case ReadList:
		return &r.List
	case ReadStats:
		return &r.Stats
	case ReadAwait:
		return &r.Await
	}
	return nil
}

// Kinds returns the kinds with a share above 0, in the order of ReadKinds.
func (r Reads) Kinds() (kinds []string) {
	for _, kind := range ReadKinds() {
		if *r.share(kind) > 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// All returns the sum of the shares.
func (r Reads) All() float64 { return r.Get + r.List + r.Stats + r.Await }

// PerTask returns the number of reads of a kind that become due for each acknowledged task.
func (r Reads) PerTask(kind string) float64 { return *r.share(kind) / (1 - r.All()) }

// OfTasks reports whether a kind with a share reads single tasks.
func (r Reads) OfTasks() bool { return r.Get > 0 || r.Await > 0 }

// OfQueues reports whether a kind with a share reads whole queues.
func (r Reads) OfQueues() bool { return r.List > 0 || r.Stats > 0 }

// onlyGets reports whether get is the only kind that may have a share. Such reads are written as a
// number.
func (r Reads) onlyGets() bool { return r == Reads{Get: r.Get} }

// String formats the reads in the syntax of scenarios.
func (r Reads) String() string {
	if r.onlyGets() {
		return fmt.Sprint(r.Get)
	}
	var calls []string
	for _, kind := range r.Kinds() {
		calls = append(calls, fmt.Sprintf("%s(%v)", kind, *r.share(kind)))
	}
	if len(calls) == 1 {
		return calls[0]
	}
	return "[" + strings.Join(calls, ", ") + "]"
}

// MarshalJSON writes a number if all reads are gets, which is the format of results from before the
// other kinds existed, and else the share of each kind.
func (r Reads) MarshalJSON() ([]byte, error) {
	if r.onlyGets() {
		return json.Marshal(r.Get)
	}
	type plain Reads
	return json.Marshal(plain(r))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Reads) UnmarshalJSON(data []byte) error {
	*r = Reads{}
	if json.Unmarshal(data, &r.Get) == nil {
		return nil
	}
	type plain Reads
	return json.Unmarshal(data, (*plain)(r))
}

// Check returns an error unless each share is from 0 to below 1 and the sum is below 1.
func (r Reads) Check() error {
	for _, kind := range ReadKinds() {
		if share := *r.share(kind); share < 0 || share >= 1 {
			return fmt.Errorf("the share of %s is %v; it must be from 0 to below 1", kind, share)
		}
	}
	if r.All() >= 1 {
		return errors.New("the sum of the shares is 1 or more; it must be below 1")
	}
	return nil
}

// readWords names the reads of each kind.
var readWords = map[string]string{
	ReadGet: "reads", ReadList: "lists of a queue", ReadStats: "reads of a queue's figures", ReadAwait: "waits for the end of a task",
}

// perTaskWords returns the number of reads of each kind per task, in words.
func (r Reads) perTaskWords() string {
	var kinds []string
	for _, kind := range r.Kinds() {
		kinds = append(kinds, render.Digits(r.PerTask(kind), 3)+" "+readWords[kind])
	}
	return hclfile.List(kinds)
}

// ReadsTasks reports whether the workload reads tasks or queues.
func (w Workload) ReadsTasks() bool { return w.Reads != Reads{} }

func checkReadsOf(b *hclfile.Block, w *Workload) {
	switch {
	case !w.ReadsTasks():
	case w.Driver == DriverK6:
		b.AttrProblem("reads", `the script of the driver "k6" decides what it reads`, `remove it, or write driver = "stream", "unary" or "rest"`)
	case w.Driver == DriverEmbedded, w.Driver == DriverNull:
		b.AttrProblem("reads", fmt.Sprintf("the driver %q can't read tasks", w.Driver), `remove it, or write driver = "stream", "unary" or "rest"`)
	case w.Arrivals.Kind == None:
		b.AttrProblem("reads", "with arrivals = none() there is no task to read", "remove it")
	}
}

func checkReads(blocks []*hclfile.Block, workloads []Workload) {
	tenants, names := 0, []string(nil)
	for i, w := range workloads {
		if !w.ReadsTasks() {
			continue
		}
		tenants += w.Tenants
		names = append(names, fmt.Sprintf("%q", w.Name))
		if tenants > ReadTenantsMax {
			blocks[i].AttrProblem("reads", fmt.Sprintf("the workloads with reads, %s, have %d tenants; the maximum is %d, because the reads of each tenant use separate connections",
				strings.Join(names, " and "), tenants, ReadTenantsMax), "lower tenants, or remove reads")
			return
		}
	}
}
