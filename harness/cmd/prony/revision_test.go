package main

import (
	"debug/elf"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/duet"
	"github.com/pronybench/prony/harness/observe"
)

// small writes an engine and a load generator that compile fast.
func small(t *testing.T) {
	t.Helper()
	repository(t)
	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { println(1) }\n")
	write(t, "engine/client/client.go", "package client\n\nvar Calls = 1\n")
	write(t, "harness/go.mod", "module example.org/harness\n\ngo 1.26\n\nrequire example.org/engine v0.0.0\n")
	write(t, "harness/cmd/generator/main.go", "package main\n\nimport \"example.org/engine/client\"\n\nfunc main() { println(client.Calls) }\n")
	gitDo(t, "add", ".")
	gitDo(t, "commit", "--quiet", "-m", "small programs")
}

func builderHere(t *testing.T) *builder {
	t.Helper()
	b, err := newBuilder(t.Context(), "")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.close(t.Context())) })
	return b
}

// Sides share the load generator unless their clients differ, even if other code differs.
func TestGeneratorsOfOneClientAreOneFile(t *testing.T) {
	small(t)
	generators := func() (paths [2]string) {
		b := builderHere(t)
		base, err := b.checkout(t.Context(), "base", "HEAD")
		require.NoError(t, err)
		change, err := b.checkout(t.Context(), "change", "")
		require.NoError(t, err)
		var sides [2]duet.Side
		warning, err := b.generators(t.Context(), [2]source{base, change}, &sides)
		require.NoError(t, err)
		assert.Empty(t, warning)
		for i, s := range sides {
			assert.True(t, s.OwnClient)
			paths[i] = s.Generator
		}
		return paths
	}
	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { println(2) }\n")
	same := generators()
	assert.Equal(t, same[duet.Base], same[duet.Change])

	write(t, "engine/client/client.go", "package client\n\nvar Calls = 2\n")
	own := generators()
	assert.NotEqual(t, observe.Binary(own[duet.Base]), observe.Binary(own[duet.Change]))

	gitDo(t, "checkout", "--quiet", "engine/client")
	write(t, "engine/client/other.go", "package client\n\nfunc init() { Calls = 3 }\n")
	own = generators()
	assert.NotEqual(t, observe.Binary(own[duet.Base]), observe.Binary(own[duet.Change]), "an untracked file counts")
}

// Each layout is another binary, without debug information.
func TestServersOfASide(t *testing.T) {
	small(t)
	b := builderHere(t)
	here, err := b.here(t.Context(), "change")
	require.NoError(t, err)
	side, err := b.side(t.Context(), here)
	require.NoError(t, err)
	require.Len(t, side.Servers, layouts)
	sums := map[string]bool{}
	for _, path := range side.Servers {
		sums[observe.Binary(path)] = true
		program, err := elf.Open(path)
		require.NoError(t, err)
		assert.NotNil(t, program.Section(".text"))
		assert.Nil(t, program.Section(".debug_info"))
		assert.Nil(t, program.Section(".zdebug_info"))
		require.NoError(t, program.Close())
	}
	assert.Len(t, sums, layouts)

	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { nothing() }\n")
	_, err = b.side(t.Context(), here)
	require.ErrorContains(t, err, "undefined: nothing")
}

func TestConcurrently(t *testing.T) {
	failures := map[int]error{0: errors.New("first"), 4: errors.New("last")}
	synctest.Test(t, func(t *testing.T) {
		running, most := make(chan struct{}, 10), make(chan int, 10)
		began := time.Now()
		err := concurrently(5, 2, func(i int) error {
			running <- struct{}{}
			most <- len(running)
			time.Sleep(time.Duration(10-i) * time.Second)
			<-running
			if i == 0 || i == 4 {
				return failures[i]
			}
			return nil
		})
		require.ErrorIs(t, err, failures[0])
		close(most)
		var seen []int
		for n := range most {
			seen = append(seen, n)
		}
		assert.Len(t, seen, 5)
		assert.Contains(t, seen, 2)
		assert.NotContains(t, seen, 3)
		assert.Equal(t, 23*time.Second, time.Since(began))
	})
}

// A shallow clone lacks most commits. The suggested git fetch depends on the kind of revision name.
func TestAShallowCloneSaysWhatToFetch(t *testing.T) {
	root, commit := sourceRepository(t)
	write(t, "engine/cmd/queued/main.go", "package main\n\nfunc main() { println(\"second\") }\n")
	gitIn(t, root, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--all", "--message", "second")
	gitIn(t, root, "config", "uploadpack.allowAnySHA1InWant", "true")
	gitIn(t, root, "branch", "older", commit)
	clone := filepath.Join(t.TempDir(), "clone")
	gitIn(t, root, "clone", "--quiet", "--depth", "1", "file://"+root, clone)
	t.Chdir(clone)
	b, err := newBuilder(t.Context(), "")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.close(t.Context())) })
	s := sheet(t)
	s.Replace(commit, "COMMIT")
	s.Replace(commit[:9], "COMM")
	for name, rev := range map[string]string{"a commit": commit, "a branch": "older", "an ancestor": "HEAD~1", "a short commit": commit[:9], "a flag": "--oops"} {
		_, err = b.checkout(t.Context(), "base", rev)
		s.Error(t, name, err)
	}
	gitIn(t, clone, "fetch", "--quiet", "--depth", "1", "origin", "older")
	_, err = b.checkout(t.Context(), "base", "FETCH_HEAD")
	require.NoError(t, err)
}
