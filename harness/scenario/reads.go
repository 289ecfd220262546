package scenario

import (
	"fmt"
	"strings"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// ReadTenantsMax is how many tenants the workloads of a scenario that read tasks may have together: the reads of each tenant go over
// connections of their own, which show an access token of that tenant.
const ReadTenantsMax = 100

// ReadsTasks reports whether the workload reads tasks.
func (w Workload) ReadsTasks() bool { return w.Reads > 0 }

// ReadsPerTask is how many reads come due with each task whose enqueue was acknowledged.
func (w Workload) ReadsPerTask() float64 { return w.Reads / (1 - w.Reads) }

// readReads reads the share of reads.
func readReads(b *hclfile.Block, w *Workload) {
	share, ok := b.Number("reads", hclfile.NumberSpec{AllowZero: true, Example: "0.2"})
	if !ok {
		return
	}
	switch {
	case share >= 1:
		b.AttrProblem("reads", fmt.Sprintf("reads is %v, which leaves no task to be enqueued and read", share), "it is a share from 0 to below 1: write reads = 0.2")
		return
	case share == 0:
		return
	case w.Driver == DriverK6:
		b.AttrProblem("reads", `a script of the driver "k6" decides itself what it reads`, `remove it, or write driver = "stream", "unary" or "rest"`)
	case w.Driver == DriverEmbedded, w.Driver == DriverNull:
		b.AttrProblem("reads", fmt.Sprintf("the driver %q can't read tasks", w.Driver), `remove it, or write driver = "stream", "unary" or "rest"`)
	case w.Arrivals.Kind == None:
		b.AttrProblem("reads", "with arrivals = none() there is no task to read", "remove it")
	}
	w.Reads = share
}

// checkReads makes sure that not too many tenants read.
func checkReads(blocks []*hclfile.Block, workloads []Workload) {
	tenants, names := 0, []string(nil)
	for i, w := range workloads {
		if !w.ReadsTasks() {
			continue
		}
		tenants += w.Tenants
		names = append(names, fmt.Sprintf("%q", w.Name))
		if tenants > ReadTenantsMax {
			blocks[i].AttrProblem("reads", fmt.Sprintf("the tenants of the workloads with reads, %s, are %d; there may be %d, since each has connections of its own for them",
				strings.Join(names, " and "), tenants, ReadTenantsMax), "lower tenants, or remove reads")
			return
		}
	}
}
