package run

import (
	"github.com/pronybench/prony/harness/profile"
)

// profiles adds up what the profiled rounds captured.
func (r *runner) profiles() (err error) {
	if len(r.captured) == 0 {
		return nil
	}
	r.result.Profiles, r.result.Locks, err = profile.Merge(r.folder.Path(), r.captured)
	return err
}
