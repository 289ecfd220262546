package jobs

import (
	"context"
	"errors"
	"log/slog"

	"github.com/pronybench/prony/engine/queuepb"
)

// about returns the log attributes of a task.
func about(t *queuepb.Task) []any {
	return []any{"kind", KindOf(t), "id", t.GetId(), "queue", t.GetQueue(), "attempt", t.GetAttempt()}
}

// report logs the end of an attempt and passes it to OnFinish.
func (a *attempt) report(f Finish) {
	level := slog.LevelDebug
	switch f.Outcome {
	case Failed, Dead, Lost:
		level = slog.LevelWarn
	case Released, Cancelled:
		level = slog.LevelInfo
	case Completed, Snoozed:
	}
	attributes := append(about(f.Task), "outcome", string(f.Outcome), "took", f.Took)
	if f.Err != nil {
		attributes = append(attributes, "error", f.Err)
	}
	var panicked *PanicError
	if errors.As(f.Err, &panicked) {
		level = slog.LevelError
		attributes = append(attributes, "stack", string(panicked.Stack))
	}
	a.log.Log(context.Background(), level, "jobs: an attempt ended", attributes...)
	if a.OnFinish != nil {
		a.OnFinish(f)
	}
}
