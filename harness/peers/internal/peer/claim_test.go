package peer

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/pronybench/prony/harness/driver"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	claimed, over := make(chan string, 3), make(chan struct{})
	into := make([]driver.Delivery, 2)
	claim := func(ctx context.Context) (int, error) {
		return Claim(ctx, claimed, over, into, func(queue string) driver.Delivery { return driver.Delivery{Queue: queue} })
	}
	for _, queue := range []string{"a", "b", "c"} {
		claimed <- queue
	}
	n, err := claim(t.Context())
	assert.NoError(t, err)
	assert.Equal(t, 2, n)
	assert.Equal(t, []driver.Delivery{{Queue: "a"}, {Queue: "b"}}, into)
	n, err = claim(t.Context())
	assert.NoError(t, err)
	assert.Equal(t, 1, n, "it only waits for the first task")
	assert.Equal(t, "c", into[0].Queue)

	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	_, err = claim(ctx)
	assert.ErrorIs(t, err, enough)
	close(over)
	_, err = claim(t.Context())
	assert.EqualError(t, err, "the connection is closed")
}
