package stat

import (
	"sync"

	"gonum.org/v1/gonum/stat/distuv"
)

// student returns Student's t distribution with the given degrees of freedom.
func student(degrees int) distuv.StudentsT {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}
}

// quantiles caches studentQuantile. The cache is useful because a quantile is computed iteratively,
// and a verdict needs the same few quantiles for each metric at each look.
var quantiles struct {
	sync.Mutex
	known map[quantile]float64
}

type quantile struct {
	degrees int
	p       float64
}

// quantilesMax bounds the memory of quantiles.
const quantilesMax = 4096

// studentQuantile returns student(degrees).Quantile(p), cached. It is safe for concurrent use.
func studentQuantile(degrees int, p float64) float64 {
	of := quantile{degrees, p}
	quantiles.Lock()
	t, known := quantiles.known[of]
	quantiles.Unlock()
	if known {
		return t
	}
	t = student(degrees).Quantile(p)
	quantiles.Lock()
	defer quantiles.Unlock()
	if quantiles.known == nil || len(quantiles.known) >= quantilesMax {
		quantiles.known = map[quantile]float64{}
	}
	quantiles.known[of] = t
	return t
}
