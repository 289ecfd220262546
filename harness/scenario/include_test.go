package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/engine/golden"
)

func plain(more string) []byte {
	return []byte(`scenario "a" {
  workload "main" { driver = "stream"  producers = 1  workers = 1 }
  phases { window = "1s" }
  ` + more + "\n}\n")
}

// Included blocks take the position of their include, even among sweeps, and share the names of the
// file.
func TestIncludedBlocksStandInTheirPlace(t *testing.T) {
	src := string(plain(`sweep "workload.main.batch" { values = [1, 2] }
  include "parts/base.hcl" {}
  sweep "workload.main.queues" { values = [1, 2] }`)) + "locals { durability = \"sync\" }\n"
	all, err := parse("dir/a.hcl", []byte(src), map[string]string{
		"dir/parts/base.hcl":  `include "../more.hcl" {}` + "\nsweep \"workload.main.producers\" { values = [var.few, 2 * var.few] }\n",
		"dir/more.hcl":        "variable \"few\" { default = 3 }\ntopology \"single\" { durability = local.durability }\n",
		"dir/parts/other.hcl": "topology \"nothing\" {}",
	})
	require.NoError(t, err)
	s := all[0]
	assert.Equal(t, "sync", s.Topology.Durability)
	assert.Equal(t, []Sweep{
		{"workload.main.batch", []string{"1", "2"}},
		{"workload.main.producers", []string{"3", "6"}},
		{"workload.main.queues", []string{"1", "2"}},
	}, s.Sweeps)
	assert.Equal(t, 6, s.Points[7].Workloads[0].Producers)
	assert.Equal(t, []Variable{{Name: "few", Value: "3"}}, s.Variables)
}

// A file that two scenarios include is read once: its names are defined once, and its problems are
// reported once.
func TestTwoScenariosIncludeOneFile(t *testing.T) {
	two := string(plain(`include "b.hcl" {}`)) + strings.Replace(string(plain(`include "b.hcl" {}`)), `"a"`, `"b"`, 1)
	all, err := parse("a.hcl", []byte(two), map[string]string{
		"b.hcl": "variable \"d\" { default = \"none\" }\ntopology \"single\" { durability = var.d }\n",
	})
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, all[0].Topology, all[1].Topology)
	_, err = parse("a.hcl", []byte(two), map[string]string{"b.hcl": "topology \"single\" { durability = \"nun\" }\n"})
	golden.Text(t, "testdata/included.golden", err.Error()+"\n")
}

func TestIncludesAreBounded(t *testing.T) {
	s := golden.Cases(t, "testdata/bounds.golden")
	files := map[string]string{}
	var many strings.Builder
	for i := range 40 {
		files[fmt.Sprintf("f%d.hcl", i)] = ""
		fmt.Fprintf(&many, "include \"f%d.hcl\" {}\n", i)
	}
	_, err := parse("a.hcl", plain(many.String()), files)
	s.Error(t, "many files", err)

	_, err = parse("a.hcl", plain(`include "big.hcl" {}`), map[string]string{"big.hcl": strings.Repeat("#\n", 40<<10)})
	s.Error(t, "a large file", err)

	// If a file could be included repeatedly, the number of reads would double with each file of
	// this chain.
	files = map[string]string{}
	for i := range 8 {
		files[fmt.Sprintf("f%d.hcl", i)] = fmt.Sprintf("include \"f%d.hcl\" {}\ninclude \"./f%d.hcl\" {}\n", i+1, i+1)
	}
	files["f8.hcl"] = `topology "single" { durability = "none" }`
	_, err = parse("a.hcl", plain(`include "f0.hcl" {}`), files)
	s.Error(t, "a chain", err)
}

// The sweeps of a zip have one point for each of their values, and a single coordinate.
func TestZippedSweeps(t *testing.T) {
	all, err := parse("a.hcl", plain(`topology "single" { durability = "none" }
  zip {
    sweep "workload.main.producers" { values = [1, 2, 4] }
    sweep "workload.main.workers"   { values = [8, 16, 32] }
  }
  sweep "workload.main.batch" { values = [1, 64] }`), nil)
	require.NoError(t, err)
	s := all[0]
	assert.Equal(t, []Sweep{
		{"workload.main.producers, workload.main.workers", []string{"1, 8", "2, 16", "4, 32"}},
		{"workload.main.batch", []string{"1", "64"}},
	}, s.Sweeps)
	require.Len(t, s.Points, 6)
	p := s.Points[3]
	assert.Equal(t, "producers=2, workers=16, batch=64", p.Name)
	assert.Equal(t, []Value{{"workload.main.producers, workload.main.workers", "2, 16"}, {"workload.main.batch", "64"}}, p.Values)
	w := p.Workloads[0]
	assert.Equal(t, []int{2, 16, 64}, []int{w.Producers, w.Workers, w.Batch})
	assert.Equal(t, "producers, workers", ShortPath(p.Values[0].Path, s.Sweeps))
	assert.Equal(t, "workload.a.batch, workers", ShortPath("workload.a.batch, workload.b.workers",
		[]Sweep{{Path: "workload.a.batch, workload.b.workers"}, {Path: "workload.b.batch"}}))
}

func TestMistakesWithNamesAndZips(t *testing.T) {
	const single = `topology "single" { durability = "none" }` + "\n"
	s := golden.Cases(t, "testdata/names.golden")
	for name, more := range map[string]string{
		"zipped sweeps of different lengths": single + `zip {
			sweep "workload.main.batch" { values = [1, 2] }
			sweep "workload.main.queues" { values = [1, 2, 3] }
		}`,
		"a file that includes itself": single + `include "self.hcl" {}`,
		"locals of each other":        single + `rounds = local.a`,
		"a number for a text":         single + `invariant "ordered" { on = 1 }`,
		"a driver without a topology": `topology "none" {}`,
	} {
		src := append(plain(more), []byte("locals {\n  a = local.b\n  b = local.a\n}\n")...)
		if !strings.Contains(more, "local.") {
			src = plain(more)
		}
		_, err := parse("a.hcl", src, map[string]string{"self.hcl": `include "self.hcl" {}`})
		s.Error(t, name, err)
	}
}

// No spelling of a path reads a file outside of the folder of the scenario's file, so messages show
// no line of such a file.
func TestIncludesStayInTheFolder(t *testing.T) {
	dir := t.TempDir()
	const secret = "the secret of another file"
	put := func(path, text string) string {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	link := func(target, path string) {
		path = filepath.Join(dir, path)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.Symlink(target, path))
	}
	put("secret.hcl", secret)
	put("in/secret.txt", secret)
	put("in/shared/deep/up.hcl", `include "../../../secret.hcl" {}`)
	put("in/shared/base.hcl", `topology "single" { durability = "none" }`)
	link("../secret.hcl", "in/link.hcl")
	link(dir, "in/outside")
	link("shared/base.hcl", "in/inner.hcl")
	s := golden.Cases(t, "testdata/outside.golden")
	s.Replace(dir, "DIR")
	for _, label := range []string{
		"../secret.hcl", "shared/../../secret.hcl", "shared/deep/up.hcl", "../none.hcl", "link.hcl", "outside/secret.hcl",
		filepath.Join(dir, "secret.hcl"), "secret.txt", "shared/../../in/../in/../none.hcl",
	} {
		_, err := Load(put("in/a.hcl", string(plain(fmt.Sprintf("include %q {}", label)))))
		s.Error(t, strings.ReplaceAll(label, dir, "DIR"), err)
		require.NotContains(t, err.Error(), secret, label)
	}
	for _, label := range []string{"shared/base.hcl", "../in/shared/base.hcl", "inner.hcl"} {
		_, err := Load(put("in/a.hcl", string(plain(fmt.Sprintf("include %q {}", label)))))
		require.NoError(t, err, label)
	}
	// The folder may be a symbolic link.
	link("in", "other")
	_, err := Load(filepath.Join(dir, "other", "a.hcl"))
	require.NoError(t, err)
}
