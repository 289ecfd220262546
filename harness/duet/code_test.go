package duet

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// A generation counts only if the kernel maps the program code of both sides alike.
func TestProgramCodeThatIsMappedDifferently(t *testing.T) {
	t.Parallel()
	const megabyte = 1_000_000
	pages := func(large uint64) *observe.CodePages {
		return &observe.CodePages{Resident: 12 * megabyte, Large: large * megabyte}
	}
	for _, c := range []struct {
		name         string
		base, change code
		reason       string
	}{
		{"alike", code{pages(12), pages(6)}, code{pages(10), pages(8)}, ""},
		{"a quarter", code{servers: pages(12)}, code{servers: pages(9)}, ""},
		{"servers", code{pages(12), pages(6)}, code{pages(0), pages(6)}, "the program code of the servers differently, and that alone changes CPU time: 100 % of it by large pages for base, and 0 % for change"},
		{"generators", code{pages(12), pages(3)}, code{pages(12), pages(9)}, "the program code of the generators differently, and that alone changes CPU time: 25 % of it by large pages for base, and 75 % for change"},
		{"unknown", code{servers: pages(12)}, code{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newFakeHost()
			h.code = [2]code{c.base, c.change}
			of := h.conductor(t, Options{Generations: 1})
			measured(t, of)
			g := of.duet.Generations[0]
			assert.Empty(t, append(g.Sides[Base].Faults, g.Sides[Change].Faults...), "it is no side's fault")
			if c.change.servers != nil {
				assert.InDelta(t, 12, g.Sides[Change].ServerCode.ResidentMB, 1e-9)
			}
			if c.reason == "" {
				assert.Equal(t, result.Pass, g.Verdict)
				return
			}
			assert.Equal(t, result.Invalid, g.Verdict)
			require.Len(t, g.Reasons, 1)
			assert.Contains(t, g.Reasons[0], c.reason)
		})
	}
}

// A generation of a sweep is judged so as well.
func TestProgramCodeInASweep(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.code[Base].servers = &observe.CodePages{Resident: 100, Large: 100}
	h.code[Change].servers = &observe.CodePages{Resident: 100}
	c := h.conductor(t, Options{Generations: 1})
	c.scenario.Points = []scenario.Point{{Name: "a=1"}, {Name: "a=2"}}
	measured(t, c)
	g := c.duet.Generations[0]
	assert.Equal(t, result.Invalid, g.Verdict)
	assert.Contains(t, g.Reasons[0], "100 % of it by large pages for base")
}

// A host that refuses to say how it maps program code is measured all the same, and the result says that this was not judged.
func TestProgramCodeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.uncoded = errors.New("permission denied")
	c := h.conductor(t, Options{Generations: 2})
	text := measured(t, c)
	assert.Equal(t, result.Pass, c.duet.Generations[1].Verdict)
	assert.Equal(t, []string{"how the kernel maps the program code of both sides could not be read, and was not judged"}, c.duet.Warnings)
	assert.Contains(t, text, "generation 2: permission denied")
}
