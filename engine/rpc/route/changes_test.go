package route

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChanges(t *testing.T) {
	var c Changes
	first, changed := c.Version()
	assert.NotZero(t, first)
	again, _ := c.Version()
	assert.Equal(t, first, again)
	select {
	case <-changed:
		require.Fail(t, "nothing changed")
	default:
	}
	c.Changed()
	<-changed
	next, _ := c.Version()
	assert.NotEqual(t, first, next)
	assert.NotZero(t, next)
}

// A call that looks for a leader continues when the routes change, before the end of its pause.
func TestAPauseEndsWhenTheRoutesChange(t *testing.T) {
	c := &batchCluster{}
	r := newRouter(c, 1)
	_, changed := c.Version()
	go c.changes.Changed()
	require.True(t, r.sleep(context.Background(), time.Hour, time.Now().Add(2*time.Hour), changed))
}
