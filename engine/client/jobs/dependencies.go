package jobs

import (
	"context"
	"fmt"
	"iter"

	"github.com/pronybench/prony/engine/queuepb"
)

// Dependency is a finished task that a job waited for.
type Dependency struct {
	*queuepb.Dependency

	codec Codec
}

// Dependencies iterates over the finished tasks that the job waited for: those of After, or the members
// of its batch. It requests them from the server page by page, and ends after an error.
//
//	for d, err := range job.Dependencies(ctx) {
//		if err != nil {
//			return err
//		}
//		var thumbnail Thumbnail
//		if err := d.Result(&thumbnail); err != nil {
//			return err
//		}
//	}
//
// Without a worker, in a test that calls the handler, there are none.
func (j *Job[T]) Dependencies(ctx context.Context) iter.Seq2[Dependency, error] {
	return func(yield func(Dependency, error) bool) {
		if j.attempt == nil {
			return
		}
		worker := j.attempt.Worker
		for d, err := range worker.Client.Dependencies(ctx, worker.Tenant, j.GetId()) {
			if !yield(Dependency{d, j.codec}, err) {
				return
			}
		}
	}
}

// Done reports whether the task was completed. Otherwise it died, was cancelled or purged, or did not
// exist when the job was enqueued; see Outcome.
func (d Dependency) Done() bool {
	return d.GetOutcome() == queuepb.DependencyOutcome_DEPENDENCY_OUTCOME_DONE
}

// Result decodes the result that the handler of the dependency set with SetResult, with the codec of
// this job. It leaves result unchanged if there is none. The server keeps results of at most 4 KiB for
// the waiting job; for a longer one, Result returns an error, and Await may return it.
func (d Dependency) Result(result any) error {
	switch {
	case d.GetResultOmitted():
		return fmt.Errorf("the result of dependency %s has more than 4 KiB: retain it with ResultRetention and use Await", d.GetId())
	case len(d.GetResult()) == 0:
		return nil
	}
	if err := d.codec.Decode(d.GetResult(), result); err != nil {
		return fmt.Errorf("decode the result of dependency %s: %w", d.GetId(), err)
	}
	return nil
}
