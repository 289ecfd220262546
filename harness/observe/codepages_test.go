package observe

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const smaps = `00400000-00402000 r--p 00000000 fe:00 9995096                            /opt/queued
Size:                  8 kB
Rss:                   8 kB
FilePmdMapped:         0 kB
VmFlags: rd mr mw me
00402000-0136d000 r-xp 00002000 fe:00 9995096                            /opt/queued
Size:              15788 kB
Rss:               15096 kB
FilePmdMapped:     12288 kB
VmFlags: rd ex mr mw me
0136d000-02449000 r--p 00f6d000 fe:00 9995096                            /opt/queued
Rss:               17100 kB
FilePmdMapped:     14336 kB
7f0000000000-7f0000001000 r-xp 00000000 fe:00 77                         /opt/a library
Rss:                   4 kB
FilePmdMapped:         0 kB
7fff6eaad000-7fff6eaaf000 r-xp 00000000 00:00 0                          [vdso]
Rss:                   4 kB
FilePmdMapped:         0 kB
`

// Only executable mappings of files count: neither a program's data nor the mappings that the
// kernel adds to each process.
func TestParseCodePages(t *testing.T) {
	t.Parallel()
	pages, err := parseCodePages([]byte(smaps))
	require.NoError(t, err)
	assert.Equal(t, &CodePages{Resident: 15_100 << 10, Large: 12_288 << 10}, pages)

	pages, err = parseCodePages([]byte("00402000-0136d000 r-xp 00002000 fe:00 9995096 /opt/queued\nRss: 15096 kB\n"))
	require.NoError(t, err)
	assert.Nil(t, pages, "the kernel does not report it")

	for _, bad := range []string{"Rss: many kB", "FilePmdMapped:"} {
		_, err = parseCodePages([]byte("00402000-0136d000 r-xp 00002000 fe:00 9995096 /opt/queued\n" + bad + "\n"))
		assert.ErrorContains(t, err, bad)
	}
}

func TestReadCodePages(t *testing.T) {
	t.Parallel()
	pages, err := ReadCodePages(os.Getpid())
	require.NoError(t, err)
	text, _ := os.ReadFile("/proc/self/smaps") // empty on a kernel without that file
	require.Equal(t, bytes.Contains(text, []byte("FilePmdMapped:")), pages != nil, "the pages are known if the kernel reports them")
	if pages != nil {
		assert.Positive(t, pages.Resident)
		assert.LessOrEqual(t, pages.Large, pages.Resident)
	}

	pages, err = ReadCodePages(1 << 30)
	require.NoError(t, err)
	assert.Nil(t, pages, "no such process")
}
