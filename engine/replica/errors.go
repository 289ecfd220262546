package replica

import "errors"

var (
	// ErrNoMember reports that a node is not a member of the group.
	ErrNoMember = errors.New("it is not a member")
	// ErrMembersChanged reports that the members changed concurrently. The requested change had no
	// effect.
	ErrMembersChanged = errors.New("the members changed at the same time")

	// errNoSuccessor reports that there is no voter to which leadership can be transferred.
	errNoSuccessor = errors.New("no other voter may lead: their clocks differ too much")
	// errSilent is the error of messages that a member does not send because it is silent.
	errSilent = errors.New("this node must not lead and is stepping down")
	// errNotFollowing reports that a member refused a heartbeat although its term is not newer.
	errNotFollowing = errors.New("the member refused a heartbeat")
	// errNoSnapshot reports that the requested snapshot is not the newest one. Older snapshots are
	// not kept.
	errNoSnapshot = errors.New("there is a newer snapshot")
	// errReplaced reports that the store was replaced between the start and the end of a snapshot.
	errReplaced = errors.New("the leader's store was installed during the snapshot")
)
