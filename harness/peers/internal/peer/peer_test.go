package peer

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pronybench/prony/harness/driver"
)

func TestRunsAreOfConsecutiveTasks(t *testing.T) {
	tasks := []driver.Task{{Queue: "a"}, {Queue: "a"}, {Queue: "b"}, {Queue: "a"}}
	var got []string
	require.NoError(t, Runs(tasks, TaskQueue, func(queue string, first, end int) error {
		got = append(got, queue+string(rune('0'+first))+string(rune('0'+end)))
		return nil
	}))
	assert.Equal(t, []string{"a02", "b23", "a34"}, got)
	require.NoError(t, Runs(nil, TaskQueue, func(string, int, int) error { return errors.New("called") }))
	require.EqualError(t, Runs(tasks, TaskQueue, func(string, int, int) error { return errors.New("stop") }), "stop")
}

func TestSettings(t *testing.T) {
	defaults := map[string]string{"a": "1", "b": "2"}
	got, err := Settings("x", defaults, map[string]string{"b": "3"})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1", "b": "3"}, got)
	assert.Equal(t, "2", defaults["b"])
	_, err = Settings("x", defaults, map[string]string{"c": "3"})
	require.EqualError(t, err, `setting "c": x has no such setting here; it has ["a" "b"]`)
}

func TestServersThatWereNotStartedAreNotKilled(t *testing.T) {
	s := &Server{}
	assert.Nil(t, s.PIDs())
	assert.ErrorIs(t, s.Kill(t.Context()), ErrAttached)
	assert.ErrorIs(t, s.Restart(t.Context()), ErrAttached)
	assert.NoError(t, s.Stop(t.Context()))
	failed := errors.New("failed")
	s.Free = func() error { return failed }
	assert.ErrorIs(t, s.Stop(t.Context()), failed)
}

func TestOutcomes(t *testing.T) {
	assert.ErrorIs(t, Unknown(errors.New("reset")), driver.ErrUnknown)
	assert.ErrorIs(t, ErrLeaseOver, driver.ErrLeaseOver)
	assert.NotErrorIs(t, ErrLeaseOver, driver.ErrUnknown)
}
