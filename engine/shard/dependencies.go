package shard

import (
	"github.com/pronybench/prony/engine/queue"
	"github.com/pronybench/prony/engine/storage"
)

// DependencyList is the request for one page of the finished tasks that a task waited for.
type DependencyList struct {
	Tenant string
	ID     queue.ID
	After  storage.Place
	Limit  int
}

// DependencyPage is a page of a DependencyList. Next is empty for the last page. Other pages too may
// contain fewer tasks than DependencyList.Limit.
type DependencyPage struct {
	Dependencies []queue.Dependency
	Next         storage.Place
	WaitingFor   uint32 // number of tasks that the task still waits for
}

// dependenciesBytesMax approximately limits the bytes of a page.
const dependenciesBytesMax = 1 << 20

// Dependencies lists the finished tasks that a task waited for, in the order of their ids. reply is
// called as for Lookup, with ErrNotFound if the task is not stored, and with storage.ErrPlace if
// l.After is not a position of this list.
func (g *Group) Dependencies(l DependencyList, reply func(DependencyPage, error)) error {
	s, err := g.of(l.ID)
	if err != nil {
		return err
	}
	return s.Lookup(l.Tenant, l.ID.Ref, func(f Found, err error) {
		if err != nil {
			reply(DependencyPage{}, err)
			return
		}
		s.reading.Go(func() {
			page := DependencyPage{WaitingFor: f.WaitingFor}
			var err error
			page.Dependencies, page.Next, err = s.store.Dependencies(l.ID.Ref, l.After, l.Limit, dependenciesBytesMax)
			reply(page, err)
		})
	})
}
