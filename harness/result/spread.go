package result

import (
	"fmt"
	"strconv"

	"github.com/pronybench/prony/harness/stat"
)

// Spread says what the Low and High of a median of n values are, which noun names: their range or two of the sorted values, and with
// which probability the interval between holds the median of the distribution, if the values are independent.
func Spread(n int, noun string) string {
	low, high, confidence := stat.MedianRanks(n)
	percent := strconv.FormatFloat(float64(int(1000*confidence))/10, 'f', -1, 64) // rounded down: it is a bound
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
