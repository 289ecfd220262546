package artifact

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

type member struct {
	name, text string
	link       bool
}

// archives writes the members as a .zip and as a .tar.gz.
func archives(t *testing.T, members ...member) []string {
	t.Helper()
	var zipped, tarred bytes.Buffer
	z, g := zip.NewWriter(&zipped), gzip.NewWriter(&tarred)
	w := tar.NewWriter(g)
	for _, m := range members {
		header := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
		header.SetMode(0o600)
		typ := &tar.Header{Name: m.name, Typeflag: tar.TypeReg, Size: int64(len(m.text)), Mode: 0o600}
		if m.link {
			header.SetMode(0o600 | os.ModeSymlink)
			typ = &tar.Header{Name: m.name, Typeflag: tar.TypeSymlink, Linkname: m.text}
		}
		f, err := z.CreateHeader(header)
		require.NoError(t, err)
		_, err = f.Write([]byte(m.text))
		require.NoError(t, err)
		require.NoError(t, w.WriteHeader(typ))
		if !m.link {
			_, err = w.Write([]byte(m.text))
			require.NoError(t, err)
		}
	}
	require.NoError(t, z.Close())
	require.NoError(t, w.Close())
	require.NoError(t, g.Close())
	dir := t.TempDir()
	var paths []string
	for name, text := range map[string][]byte{"a.zip": zipped.Bytes(), "a.tar.gz": tarred.Bytes()} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		paths = append(paths, path)
	}
	return paths
}

func run(name string) []member {
	return []member{{name: name + "/result.json", text: name}, {name: name + "/histograms.json", text: "h"}}
}

func of(parts ...[]member) (all []member) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// Unpack returns the runs of an archive in the order of their names, at any depth and with any
// other files around them.
func TestUnpack(t *testing.T) {
	for _, path := range archives(t, of(
		run("runs/b"), run("runs/a"), run("."), run("runs/pair/1"),
		[]member{
			{name: "runs/pair/comparison.json", text: "{}"},
			{name: "runs/unfinished/histograms.json", text: "h"},
			{name: "runs/ci/summary.md", text: "x"},
			{name: "runs/latest/result.json", text: "/etc/passwd", link: true},
		})...) {
		dir := t.TempDir()
		runs, err := Unpack(path, dir)
		require.NoError(t, err, path)
		var texts []string
		for _, folder := range runs {
			assert.Equal(t, dir, filepath.Dir(folder))
			text, err := os.ReadFile(filepath.Join(folder, "result.json"))
			require.NoError(t, err)
			texts = append(texts, string(text))
			assert.FileExists(t, filepath.Join(folder, "histograms.json"))
		}
		assert.Equal(t, []string{".", "runs/a", "runs/b"}, texts, path)
	}
}

func TestUnpackRefuses(t *testing.T) {
	small := bounds{entries: 4, runs: 1, fileBytes: 10, bytes: 15, unpacked: 1 << 20}
	s := golden.Cases(t, "testdata/refused.golden")
	for name, members := range map[string][]member{
		"escape":         of(run("a"), []member{{name: "../b/result.json"}}),
		"deep escape":    {{name: "a/../../b/result.json"}},
		"absolute":       {{name: "/etc/result.json"}},
		"backslash":      {{name: `..\b\result.json`}},
		"no run":         {{name: "a/summary.md"}},
		"entries":        of(run("a"), []member{{name: "x"}, {name: "y"}, {name: "z"}}),
		"runs":           of(run("a"), run("b")),
		"a large file":   {{name: "a/result.json", text: "0123456789a"}},
		"large together": {{name: "a/result.json", text: "0123456789"}, {name: "a/histograms.json", text: "0123456"}},
		"twice":          of(run("a"), run("a")),
		"no histograms":  {{name: "a/result.json"}},
	} {
		for _, path := range archives(t, members...) {
			dir := t.TempDir()
			inner := filepath.Join(dir, "inner")
			require.NoError(t, os.Mkdir(inner, 0o700))
			runs, err := unpack(path, inner, small)
			require.ErrorContains(t, err, path, name)
			s.Equal(t, name+", "+strings.TrimPrefix(filepath.Base(path), "a."), strings.NewReplacer(path, "ARCHIVE", inner, "FOLDER").Replace(err.Error()))
			assert.Empty(t, runs)
			outside, err := os.ReadDir(dir)
			require.NoError(t, err)
			assert.Len(t, outside, 1, "no file is written outside of the folder")
		}
	}
}

// A few kilobytes can hold gigabytes of entries that are not even extracted.
func TestUnpackIsBoundedInWhatItPassesOver(t *testing.T) {
	for _, path := range archives(t, of([]member{{name: "core", text: string(make([]byte, 1<<20))}}, run("a"))...) {
		_, err := unpack(path, t.TempDir(), bounds{entries: 9, runs: 9, fileBytes: 9, bytes: 99, unpacked: 1 << 16})
		if isTar(path) {
			require.ErrorContains(t, err, "too large when decompressed")
		} else {
			require.NoError(t, err, "skipping an entry of a zip does not decompress it")
		}
	}
}

func TestUnpackWhatIsNoArchive(t *testing.T) {
	for _, name := range []string{"a.zip", "a.tar.gz", "a.tgz"} {
		path := filepath.Join(t.TempDir(), name)
		_, err := Unpack(path, t.TempDir())
		require.ErrorIs(t, err, os.ErrNotExist)
		require.NoError(t, os.WriteFile(path, []byte("text"), 0o600))
		_, err = Unpack(path, t.TempDir())
		require.ErrorContains(t, err, "read the archive "+path)
		assert.True(t, Is(path))
	}
	assert.False(t, Is("runs/latest"))
	assert.False(t, Is("a.tar"))
}
