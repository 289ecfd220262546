package main

import (
	"context"

	"github.com/pronybench/prony/harness/result"
)

// expected returns the fixed-work counters that the change declares to differ, from the trailers of
// the commits that the change has and the base does not.
func (b *builder) expected(ctx context.Context, sources [2]source) (map[string]string, error) {
	commits := sources[0].build.Commit + ".." + sources[1].build.Commit
	lines, err := git(ctx, b.root, "log", "--format=%(trailers:key="+result.ExpectedTrailer+",valueonly,unfold)", commits)
	if err != nil {
		return nil, err
	}
	return result.ParseExpected(lines)
}
