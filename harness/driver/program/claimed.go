package program

import (
	"fmt"
	"sync"

	"github.com/pronybench/prony/harness/driver"
)

// claimed contains the unsettled tasks of a connection, by handle. It is safe for concurrent use.
//
// The lower half of a handle is the index of a place. The upper half is the number of times that
// the place was used, so that each handle is unique.
type claimed struct {
	mu     sync.Mutex
	places []place
	free   []uint32 // places without a task
}

type place struct {
	uses     uint32
	held     bool
	delivery driver.Delivery
}

// put stores tasks and appends their handles to handles.
func (c *claimed) put(deliveries []driver.Delivery, handles []uint64) ([]uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.places)-len(c.free)+len(deliveries) > claimedMax {
		return handles, fmt.Errorf("more than %d claimed tasks are not settled", claimedMax)
	}
	for i := range deliveries {
		var at uint32
		if last := len(c.free) - 1; last >= 0 {
			at, c.free = c.free[last], c.free[:last]
		} else {
			at = uint32(len(c.places))
			c.places = append(c.places, place{})
		}
		p := &c.places[at]
		p.uses++
		p.held, p.delivery = true, deliveries[i]
		handles = append(handles, uint64(p.uses)<<32|uint64(at))
	}
	return handles, nil
}

// take removes the tasks with the given handles and appends them to into. If it returns an error,
// the tasks of all handles before the wrong one have been removed.
func (c *claimed) take(handles []uint64, into []driver.Delivery) ([]driver.Delivery, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, handle := range handles {
		at := uint32(handle)
		if int(at) >= len(c.places) || !c.places[at].held || c.places[at].uses != uint32(handle>>32) {
			return into, fmt.Errorf("handle %d does not belong to a claimed, unsettled task", handle)
		}
		p := &c.places[at]
		into = append(into, p.delivery)
		p.held, p.delivery = false, driver.Delivery{}
		c.free = append(c.free, at)
	}
	return into, nil
}
