package queue

import (
	"cmp"
	"strings"

	"github.com/google/btree"
)

// Name is the full name of a queue. Queues are listed in the order of their names.
type Name struct{ Tenant, Queue string }

// Compare returns the order of two names: by tenant, then by queue.
func (n Name) Compare(m Name) int {
	return cmp.Or(cmp.Compare(n.Tenant, m.Tenant), cmp.Compare(n.Queue, m.Queue))
}

// QueueList is the request for a page of the list of queues.
type QueueList struct {
	Tenant string // "" means all tenants
	Prefix string // only queues whose names begin with it
	After  *Name  // only queues after this name; nil means from the first
	Limit  int    // maximum number of queues
}

// listLookMax limits the queues that List visits in addition to those that it returns. It visits
// such queues only if the list has a prefix and no tenant.
const listLookMax = 1_000

// Has reports whether a queue is in the list, on this page or a later one.
func (l *QueueList) Has(n Name) bool {
	return (l.Tenant == "" || n.Tenant == l.Tenant) && strings.HasPrefix(n.Queue, l.Prefix) && (l.After == nil || n.Compare(*l.After) > 0)
}

// from returns a name such that no queue before it is in the list.
func (l *QueueList) from() Name {
	least := Name{l.Tenant, l.Prefix}
	if l.After != nil && l.After.Compare(least) > 0 {
		least = *l.After
	}
	return least
}

func newNames() *btree.BTreeG[*Queue] {
	return btree.NewG(32, func(p, q *Queue) bool { return p.name().Compare(q.name()) < 0 })
}

func (q *Queue) name() Name { return Name{q.record.Tenant, q.record.Name} }

// List returns the numbers of the first queues of a list in order. If the list may have more queues,
// end is the name of the last queue that List visited. A page may then have fewer queues than
// QueueList.Limit, or none.
func (qs *queues) List(l QueueList) (ids []uint32, end *Name) {
	looked := 0
	var last *Queue
	visit := func(q *Queue) bool {
		switch {
		case l.Tenant != "" && (q.record.Tenant != l.Tenant || !strings.HasPrefix(q.record.Name, l.Prefix) && q.record.Name > l.Prefix):
			return false // all later queues are outside the list
		case !l.Has(q.name()):
			looked++
		case len(ids) >= l.Limit:
			end = new(last.name())
			return false
		default:
			ids = append(ids, q.record.ID)
		}
		if last = q; looked >= listLookMax {
			end = new(q.name())
			return false
		}
		return true
	}
	first := l.from()
	qs.names.AscendGreaterOrEqual(&Queue{record: Record{Tenant: first.Tenant, Name: first.Queue}}, visit)
	return ids, end
}
