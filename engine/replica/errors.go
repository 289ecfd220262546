package replica

import "errors"

var (
	// ErrNoMember says that a node is not a member of the group.
	ErrNoMember = errors.New("it is not a member")
	// ErrMembersChanged says that the members changed at the same time as a change was decided. Nothing was done.
	ErrMembersChanged = errors.New("the members changed at the same time")

	// errNoSuccessor says that leadership cannot be handed over.
	errNoSuccessor = errors.New("no other voter may lead: their clocks differ too much")
	// errSilent is the error of messages that a silent member does not send.
	errSilent = errors.New("this node must not lead, and steps down")
	// errNotFollowing is the error of a heartbeat that a member refused, although its term is not newer.
	errNotFollowing = errors.New("the member refused a heartbeat")
	// errNoSnapshot says that a snapshot is not the newest one, which is the only one that is kept.
	errNoSnapshot = errors.New("there is a newer snapshot")
	// errReplaced says that a snapshot was begun of a store that is not the replica's any more.
	errReplaced = errors.New("the leader's store was installed meanwhile")
)
