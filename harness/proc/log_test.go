package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pronybench/prony/engine/golden"
)

func TestLastLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	read := func(count int) []string {
		lines, err := LastLines(path, count)
		require.NoError(t, err)
		return lines
	}
	write("")
	assert.Empty(t, read(3))
	write("a\nb\n\nc\n\n")
	assert.Equal(t, []string{"", "c"}, read(2))
	assert.Equal(t, []string{"a", "b", "", "c"}, read(10))
	assert.Empty(t, read(0))
	assert.Empty(t, read(-1))

	var long strings.Builder
	for i := range 100000 {
		long.WriteString(strconv.Itoa(i) + "\n")
	}
	write(long.String())
	assert.Equal(t, []string{"99998", "99999"}, read(2))
	assert.Less(t, len(read(100000)), 20000, "only the end of the file is read")

	write("before\n" + strings.Repeat("é", lineBytesMax) + "\n\xff\n")
	lines := read(3)
	assert.Equal(t, []string{"before", strings.Repeat("é", lineBytesMax/2) + " …", "�"}, lines)

	_, err := LastLines(path+".missing", 1)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The text that is shown of any log is bounded. For a log of short text lines it is the end of the
// log.
func TestLastLinesOfAnyLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.OneOf(
			rapid.SliceOfN(rapid.Byte(), 0, 3*lineBytesMax),
			rapid.Map(rapid.SliceOf(rapid.StringMatching(`[a-zé ]{0,9}`)), func(lines []string) []byte {
				return []byte(strings.Join(lines, "\n"))
			}),
		).Draw(t, "content")
		repeated := rapid.IntRange(0, 20).Draw(t, "times")
		count := rapid.IntRange(-1, 30).Draw(t, "count")
		text := strings.Repeat(string(content), repeated)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		lines, err := LastLines(path, count)
		require.NoError(t, err)
		require.LessOrEqual(t, len(lines), max(0, count))
		whole := len(text) <= tailBytesMax && utf8.ValidString(text)
		for _, line := range lines {
			require.True(t, utf8.ValidString(line))
			require.NotContains(t, line, "\n")
			require.LessOrEqual(t, len(line), lineBytesMax+len(" …"))
			whole = whole && len(line) <= lineBytesMax
		}
		if end := strings.TrimRight(text, "\n"); whole && end != "" {
			all := strings.Split(end, "\n")
			require.Len(t, lines, min(max(0, count), len(all)))
			require.True(t, strings.HasSuffix(end, strings.Join(lines, "\n")))
		}
	})
}

func TestLogText(t *testing.T) {
	s := golden.Cases(t, "testdata/log.golden")
	s.Equal(t, "empty", LogText("runs/1/log", nil))
	s.Equal(t, "two lines", LogText("runs/1/log", []string{"one", "two"}))
}
