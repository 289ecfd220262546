package scenario

import (
	"fmt"
	"sort"
	"time"

	"github.com/pronybench/prony/harness/scenario/hclfile"
)

// inOrder returns the faults by the time of their first occurrence. It notes a problem for each
// fault that overlaps another or does not fit into the window. A window of 0 is unknown.
func inOrder(faults []placedFault, window time.Duration) []Fault {
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].At < faults[j].At })
	var all []happening
	for i, f := range faults {
		if len(all)+f.Times > FaultsMax {
			f.block.Problem(fmt.Sprintf("the faults occur more than %d times in total", FaultsMax), "lower times")
			break
		}
		for k := range f.Times {
			all = append(all, happening{begins: f.Begins(k), ends: f.Begins(k) + f.For, fault: i})
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].begins < all[j].begins })
	refused := map[int]bool{} // one problem for each fault
	for i, h := range all {
		b := faults[h.fault].block
		if refused[h.fault] {
			continue
		}
		if window > 0 && h.ends+faultGapLeast > window {
			refused[h.fault] = true
			b.Problem(fmt.Sprintf("%s ends %s after the window's start and needs %s after that to recover; the window is %s", b,
				hclfile.FormatDuration(h.ends), hclfile.FormatDuration(faultGapLeast), hclfile.FormatDuration(window)),
				"lengthen the window, or begin earlier")
			continue
		}
		if i > 0 && all[i-1].fault != h.fault && h.begins < all[i-1].ends+faultGapLeast {
			refused[h.fault] = true
			b.Problem(fmt.Sprintf("%s begins %s after the window's start; the fault before it lasts until %s, and there must be %s in between", b,
				hclfile.FormatDuration(h.begins), hclfile.FormatDuration(all[i-1].ends), hclfile.FormatDuration(faultGapLeast)),
				"the other fault is at "+faults[all[i-1].fault].block.Where())
		}
	}
	var plain []Fault
	for _, f := range faults {
		plain = append(plain, f.Fault)
	}
	return plain
}

// happening is one occurrence of a fault.
type happening struct {
	begins, ends time.Duration
	fault        int
}
