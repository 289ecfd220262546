package client

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
)

// rhythm is how long a client waits for what.
type rhythm struct {
	// The waits between two tries grow from waitMin to waitMax, each less a random part of up to a half.
	waitMin, waitMax time.Duration
	// keeperWaitMax bounds the keeper's waits: there is one for all calls of a session, and they wait for it.
	keeperWaitMax time.Duration
	// calm is after how long without trouble a session's next try comes at once again.
	calm time.Duration
	// leaveMax is how long a session waits for the answers to calls on a link that it gives up. It repeats a settlement without an
	// answer, whose outcome may then be unknown.
	leaveMax time.Duration
	// openMax is how long a node has to accept a stream.
	openMax time.Duration
	// balanceEvery is how often a session looks whether its links have what they should.
	balanceEvery time.Duration
	// resultWait is how long one call of AwaitResult waits at the server, whose own limit is a minute; answerMax is how
	// much longer a node of a cluster has to answer it.
	resultWait, answerMax time.Duration
	// askMax is how long a node has to say what the routes are.
	askMax time.Duration
	// askGrace is how long the other nodes have once one has answered: what one node says may be out of date.
	askGrace time.Duration
	// askEvery is how often the routes are asked for while sessions follow them: a node that hangs says nothing by
	// itself.
	askEvery time.Duration
}

var usual = rhythm{
	waitMin: 20 * time.Millisecond, waitMax: 500 * time.Millisecond, keeperWaitMax: 125 * time.Millisecond, calm: 2 * time.Second,
	leaveMax: 2 * time.Second, openMax: 3 * time.Second, balanceEvery: time.Second,
	resultWait: 30 * time.Second, answerMax: 5 * time.Second,
	askMax: time.Second, askGrace: 100 * time.Millisecond, askEvery: 500 * time.Millisecond,
}

// rhythmOption is a dial option for tests.
type rhythmOption struct {
	grpc.EmptyDialOption

	rhythm
}

// pace spaces out the tries of one call, or of one session.
type pace struct {
	of   *rhythm
	wait time.Duration
}

// next returns how long to wait before the next try.
func (p *pace) next() time.Duration {
	p.wait = min(max(2*p.wait, p.of.waitMin), p.of.waitMax)
	return p.wait - rand.N(p.wait/2)
}
