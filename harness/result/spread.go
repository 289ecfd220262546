package result

import (
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/stat"
)

// Spread describes the interval (Low to High) of a median of n values. It states which of the
// sorted values are the ends, and the probability that the interval contains the median of the
// distribution if the values are independent. noun is the name of one value, such as "round".
func Spread(n int, noun string) string {
	low, high, confidence := stat.MedianRanks(n)
	// Rounded down, because it is a bound.
	percent := strconv.FormatFloat(float64(int(1000*confidence))/10, 'f', -1, 64)
	switch {
	case n < 1:
		return "no " + noun + "s"
	case n == 1:
		return "one " + noun + ", no interval"
	case low == 1 && high == n:
		return fmt.Sprintf("range of %d %ss, %s %% interval of the median", n, noun, percent)
	default:
		return fmt.Sprintf("%s to %s of %d %ss, %s %% interval of the median", ordinal(low), ordinal(high), n, noun, percent)
	}
}

func ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
