package stat

import (
	"fmt"
	"math"
)

// FisherGreater is the one-sided exact test of Fisher (1935) whether the n items of a group are
// marked more often than the others. It returns the p-value: the probability of at least this many
// marks in the group if all marks were distributed randomly over all items. It fails if there are
// more marks than items, or if a number is negative.
func FisherGreater(marked, n, othersMarked, others int) (float64, error) {
	if marked < 0 || othersMarked < 0 || marked > n || othersMarked > others {
		return 0, fmt.Errorf("%d of %d and %d of %d are not counts of marks: each must be from 0 to the number of items", marked, n, othersMarked, others)
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
