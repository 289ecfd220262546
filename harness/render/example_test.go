package render_test

import (
	"fmt"

	"github.com/pronybench/prony/harness/render"
)

func ExampleTable() {
	t := render.Table{
		Header: []string{"metric", ">value", "unit"},
		Rows: [][]string{
			{"cycles_per_s", render.Number(182345.6), "1/s"},
			{"cycle_latency_ms_p99", render.Number(1.5), "ms"},
		},
	}
	fmt.Print(t.Text(""))
	fmt.Println()
	fmt.Print(t.Markdown())
	// Output:
	// metric                  value  unit
	// cycles_per_s          182,000  1/s
	// cycle_latency_ms_p99     1.50  ms
	//
	// | metric | value | unit |
	// | --- | ---: | --- |
	// | cycles_per_s | 182,000 | 1/s |
	// | cycle_latency_ms_p99 | 1.50 | ms |
}

func ExampleDigits() {
	measured, limit := 5913.4, 5912.0
	fmt.Println(render.Number(measured), render.Digits(limit, 3))
	fmt.Println(render.Distinct(0.99996, 1, 4))
	// Output:
	// 5,910 5,912
	// 0.99996 1
}
