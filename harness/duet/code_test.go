package duet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/observe"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// A generation counts however the kernel maps the program code. Large pages cause one warning per
// duet.
func TestProgramCodeInLargePages(t *testing.T) {
	t.Parallel()
	const megabyte = 1_000_000
	pages := func(large uint64) *observe.CodePages {
		return &observe.CodePages{Resident: 12 * megabyte, Large: large * megabyte}
	}
	for _, c := range []struct {
		name         string
		base, change code
		warned       bool
	}{
		{"none", code{pages(0), pages(0)}, code{pages(0), pages(0)}, false},
		{"servers", code{pages(0), pages(0)}, code{pages(8), pages(0)}, true},
		{"generators", code{pages(0), pages(8)}, code{pages(0), pages(8)}, true},
		{"unknown", code{servers: pages(0)}, code{}, false},
	} {
		for _, points := range [][]scenario.Point{nil, {{Name: "a=1"}, {Name: "a=2"}}} {
			t.Run(c.name+" of a scenario of "+strconv.Itoa(len(points))+" points", func(t *testing.T) {
				t.Parallel()
				h := newFakeHost()
				h.code = [2]code{c.base, c.change}
				of := h.conductor(t, Options{Generations: 2})
				of.scenario.Points = points
				measured(t, of)
				for _, g := range of.duet.Generations {
					assert.Equal(t, result.Pass, g.Verdict)
					if p := c.change.servers; p != nil {
						assert.Equal(t, &result.CodePages{ResidentMB: 12, LargeMB: float64(p.Large / megabyte)}, g.Sides[Change].ServerCode)
					}
				}
				if c.warned {
					assert.Equal(t, []string{largeCodeWarning}, of.duet.Warnings)
				} else {
					assert.Empty(t, of.duet.Warnings)
				}
			})
		}
	}
}

// On a host that does not report the mapping of program code, generations count and the duet has a
// warning.
func TestProgramCodeThatCannotBeRead(t *testing.T) {
	t.Parallel()
	h := newFakeHost()
	h.uncoded = errors.New("permission denied")
	c := h.conductor(t, Options{Generations: 2})
	text := measured(t, c)
	assert.Equal(t, result.Pass, c.duet.Generations[1].Verdict)
	assert.Equal(t, []string{"how the kernel maps the program code of both sides could not be read"}, c.duet.Warnings)
	assert.Contains(t, text, "generation 2: permission denied")
}

// inPageCache brings a program into the page cache: by one write, which some kernels cache in large
// pages, or page by page.
var inPageCache = []func(t *testing.T, program []byte, path string){
	func(t *testing.T, program []byte, path string) {
		require.NoError(t, os.WriteFile(path, program, 0o700))
	},
	func(t *testing.T, program []byte, path string) {
		require.NoError(t, os.WriteFile(path, program, 0o700))
		f, err := os.Open(path)
		require.NoError(t, err)
		defer func() { require.NoError(t, f.Close()) }()
		require.NoError(t, f.Sync())
		require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED))
		require.NoError(t, unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_RANDOM))
		page := make([]byte, os.Getpagesize())
		for at := len(program) - len(page); at >= 0; at -= len(page) {
			_, err := f.ReadAt(page, int64(at))
			require.NoError(t, err)
		}
	},
}

// differentlyCached copies a program for each side and makes the kernel cache the copies
// differently.
func differentlyCached(t *testing.T, path string) (copies [2]string) {
	t.Helper()
	program, err := os.ReadFile(path)
	require.NoError(t, err)
	dir := t.TempDir()
	for side, in := range inPageCache {
		copies[side] = filepath.Join(dir, strconv.Itoa(side))
		in(t, program, copies[side])
	}
	return copies
}

// mapsCodeAsAsked reports whether the kernel applies Settings.SmallPages to files in the page
// cache.
func mapsCodeAsAsked(t *testing.T) bool {
	t.Helper()
	var name unix.Utsname
	require.NoError(t, unix.Uname(&name))
	var major, minor int
	release := unix.ByteSliceToString(name.Release[:])
	_, err := fmt.Sscanf(release, "%d.%d", &major, &minor)
	require.NoError(t, err, release)
	return major > 6 || major == 6 && minor >= 12
}
