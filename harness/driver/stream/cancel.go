package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/driver"
)

// cancelling cancels leased tasks of a worker session, and waits for the session's notices.
type cancelling struct {
	tenant string
	admins []*client.Admin
	calls  atomic.Uint64 // the admin listeners are used in turn

	mu      sync.Mutex
	noticed map[*queuepb.Task]chan time.Time // by task whose notice is awaited
}

// dialAdmins connects to the admin listeners of a target.
func dialAdmins(target driver.Target) (admins []*client.Admin, err error) {
	for _, address := range target.Admin {
		a, err := target.DialAdmin(address)
		if err != nil {
			return admins, fmt.Errorf("connect to the admin listener %s: %w", address, err)
		}
		admins = append(admins, a)
	}
	return admins, nil
}

// notice is the session's OnCancel.
func (c *cancelling) notice(t *queuepb.Task) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if notice := c.noticed[t]; notice != nil {
		delete(c.noticed, t)
		notice <- now
	}
}

// Cancel implements driver.Canceller.
func (w worker) Cancel(ctx context.Context, d *driver.Delivery) (took time.Duration, err error) {
	t, ok := d.Handle.(*queuepb.Task)
	if !ok {
		return 0, notClaimed(d)
	}
	c := w.cancelling
	if len(c.admins) == 0 {
		return 0, errors.New("the target has no admin listener, which cancels tasks")
	}
	notice := make(chan time.Time, 1)
	c.mu.Lock()
	c.noticed[t] = notice
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.noticed, t)
	}()
	admin := c.admins[c.calls.Add(1)%uint64(len(c.admins))]
	began := time.Now()
	answer, err := admin.CancelTasks(ctx, &adminpb.CancelTasksRequest{Tenant: c.tenant, Ids: []string{t.GetId()}})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", driver.ErrUnknown, err)
	}
	if len(answer.GetResults()) != 1 {
		return 0, fmt.Errorf("%w: the server answered %d of 1 cancellations", driver.ErrUnknown, len(answer.GetResults()))
	}
	if refused := answer.GetResults()[0].GetError(); refused != nil {
		return 0, &client.Error{Code: refused.GetCode(), Field: refused.GetField(), Message: refused.GetMessage()}
	}
	timer := time.NewTimer(driver.NoticeWait)
	defer timer.Stop()
	select {
	case at := <-notice:
		return at.Sub(began), nil
	case <-timer.C:
		return 0, driver.ErrNoNotice
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %w", driver.ErrNoNotice, ctx.Err())
	}
}
