package linelimit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestALimitSaysHowManyLinesItLeftOut(t *testing.T) {
	l := Limit{Max: 2, Period: 10 * time.Second}
	at := time.Unix(1_000, 0)
	for _, step := range []struct {
		after   time.Duration
		ok      bool
		omitted int
	}{
		{0, true, 0},
		{time.Second, true, 0},
		{2 * time.Second, false, 0},
		{9 * time.Second, false, 0},
		{10 * time.Second, true, 2},
		{11 * time.Second, true, 0},
		{12 * time.Second, false, 0},
		{time.Hour, true, 1},
	} {
		omitted, ok := l.Allow(at.Add(step.after))
		assert.Equal(t, step.ok, ok, "%v", step.after)
		assert.Equal(t, step.omitted, omitted, "%v", step.after)
	}
}
