package asynq

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/driver"
)

// The hook recognises the script that ends a task, and no other.
func TestTheEndOfATaskIsFound(t *testing.T) {
	done := []any{
		"evalsha", "sha", 5, "asynq:{q}:active", "asynq:{q}:lease", "asynq:{q}:t:7", "asynq:{q}:processed:2026-01-02", "asynq:{q}:processed", "7", 1, 2,
	}
	id, ends := endOf(done)
	assert.True(t, ends)
	assert.Equal(t, "7", id)
	for name, other := range map[string][]any{
		"ping":           {"ping"},
		"fewer keys":     {"evalsha", "sha", 4, "asynq:{q}:active", "asynq:{q}:lease", "asynq:{q}:t:7", "asynq:{q}:processed", "7", 1, 2, 3},
		"another script": {"evalsha", "sha", 5, "asynq:{q}:pending", "asynq:{q}:lease", "asynq:{q}:t:7", "x", "asynq:{q}:processed", "7", 1, 2},
	} {
		_, ends := endOf(other)
		assert.False(t, ends, name)
	}
}

func TestTheAnswerToTheEndOfATask(t *testing.T) {
	w := &worker{ends: map[string]chan error{}}
	for _, test := range []struct{ answer, want error }{
		{nil, nil}, {errors.New("NOT FOUND"), driver.ErrLeaseOver}, {errors.New("connection reset"), driver.ErrUnknown},
	} {
		end := make(chan error, 1)
		w.ends["7"] = end
		w.ended("8", nil)
		w.ended("7", test.answer)
		w.ended("7", nil) // a later answer has no receiver
		assert.ErrorIs(t, <-end, test.want)
		assert.Empty(t, w.ends)
	}
}
