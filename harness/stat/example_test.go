package stat_test

import (
	"fmt"

	"github.com/pronybench/prony/harness/stat"
)

func ExampleSummarise() {
	s, err := stat.Summarise([]float64{5, 1, 4, 2, 7, 3, 6})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v, %v to %v with %.1f %%\n", s.Center, s.Low, s.High, 100*s.Confidence)

	s, err = stat.Summarise([]float64{5, 1, 4})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v, %v to %v with %.1f %%\n", s.Center, s.Low, s.High, 100*s.Confidence)
	fmt.Println(s.Warnings[0])
	// Output:
	// 4, 1 to 7 with 98.4 %
	// 4, 1 to 5 with 75.0 %
	// n = 3: a 95 % interval needs at least 6 values, low and high are the range
}

// Eight rounds of a base and a change, measured in pairs: the host's speed drifts by half, and the
// change is 10 % slower.
func ExamplePairedRatio() {
	base := []float64{1000, 1100, 1210, 1340, 1400, 1450, 1490, 1500}
	change := []float64{905, 985, 1092, 1201, 1267, 1302, 1335, 1355}
	logs, err := stat.LogRatios(change, base)
	if err != nil {
		panic(err)
	}
	ratio, err := stat.PairedRatio(logs, 0)
	if err != nil {
		panic(err)
	}
	test, err := stat.SignedRank(logs, 0.05)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f (%.3f to %.3f), p = %.4f of %d pairs\n", ratio.Center, ratio.Low, ratio.High, test.P, test.N1)
	// Output:
	// 0.900 (0.896 to 0.904), p = 0.0078 of 8 pairs
}

func ExampleDetectable() {
	for _, rounds := range []int{8, 20} {
		effect, err := stat.Detectable(rounds, 0.04, 0.05)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d rounds: %.1f %%\n", rounds, 100*effect)
	}
	_, err := stat.Detectable(5, 0.04, 0.05)
	fmt.Println(err)
	// Output:
	// 8 rounds: 4.8 %
	// 20 rounds: 2.7 %
	// 5 pairs cannot reach the significance level 0.0500: measure at least 6
}
