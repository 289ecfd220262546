package disk

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
)

// Any text of the seal's file is either the seal of these files or damaged.
func FuzzSeal(f *testing.F) {
	fs := vfs.NewMem()
	require.NoError(f, fs.MkdirAll("shard", 0o700))
	require.NoError(f, writeFile(fs, "shard", "000001.log", "some text"))
	require.NoError(f, Seal(fs, "shard"))
	whole, err := readFile(fs, "shard/"+sealName)
	require.NoError(f, err)
	for _, text := range []string{whole, whole[:len(whole)-1], "", sealTitle, sealTitle + "\n00000000\n", strings.ReplaceAll(whole, "9 ", "8 "), whole + whole} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := checkSeal(fs, "shard", text); text != whole {
			require.Error(t, err)
		} else {
			require.NoError(t, err)
		}
	})
}

// No content of a manifest makes the check panic or read beyond the content.
func FuzzManifestRecords(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 3*logHeader))
	f.Add([]byte("\x00\x00\x00\x00\xff\xff\x01some text that is shorter than it says"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, damaged := damagedRecord(b); damaged {
			require.Less(t, at, len(b))
		}
	})
}
