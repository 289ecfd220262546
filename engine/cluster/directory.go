package cluster

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/adminpb"
	"github.com/pronybench/prony/engine/peerpb"
	"github.com/pronybench/prony/engine/rpc/route"
	"github.com/pronybench/prony/engine/storage/disk"
)

// directory stores what this node knows about the members. Its methods are safe for concurrent use.
type directory struct {
	mu       sync.Mutex
	members  map[string]route.Member // by ID: the members of the groups, and this node
	presence map[string]*presence    // by ID: one for each element of members
	conns    map[string]*grpc.ClientConn
	closed   bool
}

func newDirectory() directory {
	return directory{members: map[string]route.Member{}, presence: map[string]*presence{}, conns: map[string]*grpc.ClientConn{}}
}

// Member implements route.Cluster.
func (d *directory) Member(node string) (route.Member, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, ok := d.members[node]
	return m, ok
}

func (d *directory) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Keys(d.members))
}

// allMembers returns the members, in no order.
func (d *directory) allMembers() []route.Member {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.members))
}

func (d *directory) voters() []route.Member {
	return slices.DeleteFunc(d.allMembers(), func(m route.Member) bool { return !m.Voter })
}

func (d *directory) hasSpace(node string) bool {
	m, ok := d.Member(node)
	return ok && m.Reachable && m.Disk <= adminpb.DiskState_DISK_STATE_OK
}

func (d *directory) closeConns() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	var errs []error
	for _, c := range d.conns {
		errs = append(errs, c.Close())
	}
	clear(d.conns)
	return errors.Join(errs...)
}

// update replaces the members. It returns the differences between the previous members and the new
// ones.
func (d *directory) update(addresses map[string]string, voters []string, now time.Time) (changes []memberChange) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := map[string]route.Member{}
	for id, address := range addresses {
		m := d.members[id] // keep what is known of the node until it answers
		m.Node, m.PeerAddress, m.Voter = id, address, slices.Contains(voters, id)
		found[id] = m
		if d.presence[id] == nil {
			d.presence[id] = newPresence(now)
		}
	}
	changes = changesOf(d.members, found)
	d.members = found
	for id := range d.presence {
		if _, still := found[id]; !still {
			delete(d.presence, id)
		}
	}
	for id, c := range d.conns {
		if _, still := found[id]; !still {
			delete(d.conns, id)
			_ = c.Close() // the connection belongs to a removed node
		}
	}
	return changes
}

// note records a member's answer, or that the member did not answer. moved is true if the member's
// addresses for clients have changed. line is the line to log, or nil.
func (d *directory) note(id string, info *peerpb.GetInfoResponse, err error, now time.Time) (moved bool, line *presenceLine) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m, member := d.members[id]
	if !member {
		return false, nil
	}
	before := m
	m.Reachable = err == nil
	line = d.presence[id].note(err, now)
	if err == nil {
		m.LastAnswer = now
		m.Address, m.HTTP, m.Admin, m.Version, m.ClockProblem = info.GetAddress(), info.GetHttp(), info.GetAdmin(), info.GetVersion(), info.GetClockProblem()
		m.Disk, m.DiskFree = DiskState(disk.SpaceState(info.GetDiskState())), info.GetDiskFreeBytes()
	}
	d.members[id] = m
	return m.Address != before.Address || m.HTTP != before.HTTP, line
}
