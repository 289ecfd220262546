package stat

import (
	"fmt"
	"math"
)

// FisherGreater is the one-sided p-value of Fisher's exact test (1935) that things of a group have a mark more often than others: the
// probability of at least as many marks in the group, if the marks that there are fell on all things by chance. It fails if there are
// more marks than things, or a number is negative.
func FisherGreater(marked, n, othersMarked, others int) (float64, error) {
	if marked < 0 || othersMarked < 0 || marked > n || othersMarked > others {
		return 0, fmt.Errorf("%d of %d and %d of %d are no counts of marks: each must be from 0 to the number of things", marked, n, othersMarked, others)
	}
	all := marked + othersMarked
	p := 0.0
	for k := marked; k <= min(n, all); k++ {
		if all-k <= others {
			p += math.Exp(logChoose(n, k) + logChoose(others, all-k) - logChoose(n+others, all))
		}
	}
	return min(p, 1), nil
}
