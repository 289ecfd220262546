package client

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
)

// timing has the waits and limits of a client.
type timing struct {
	// The waits between two tries grow from waitMin to waitMax, each less a random part of up to a half.
	waitMin, waitMax time.Duration
	// keeperWaitMax bounds the keeper's waits: there is one for all calls of a session, and they wait for it.
	keeperWaitMax time.Duration
	// calm is the time without an error after which a session's next try comes at once again.
	calm time.Duration
	// leaveMax is how long a session waits for the answers to calls on a link that it retires. The session then repeats a settlement
	// without an answer, whose outcome may be unknown.
	leaveMax time.Duration
	// openMax is how long a node has to accept a stream.
	openMax time.Duration
	// balanceEvery is how often a session compares its links' slots with their shares.
	balanceEvery time.Duration
	// resultWait is how long one call of AwaitResult waits at the server, whose own limit is a minute; answerMax is how
	// much longer a node of a cluster has to answer it.
	resultWait, answerMax time.Duration
	// askMax is how long a node has to answer with the routes.
	askMax time.Duration
	// askGrace is how long the other nodes have once one has answered: the answer of one node may be out of date.
	askGrace time.Duration
	// askEvery is how long a node may wait before it answers with routes that have not changed, while sessions follow them: a node that
	// hangs sends no refusal.
	askEvery time.Duration
	// peersEvery is how often a session looks for nodes that it does not watch yet.
	peersEvery time.Duration
}

var defaultTiming = timing{
	waitMin: 20 * time.Millisecond, waitMax: 500 * time.Millisecond, keeperWaitMax: 125 * time.Millisecond, calm: 2 * time.Second,
	leaveMax: 2 * time.Second, openMax: 3 * time.Second, balanceEvery: time.Second,
	resultWait: 30 * time.Second, answerMax: 5 * time.Second,
	askMax: time.Second, askGrace: 100 * time.Millisecond, askEvery: 500 * time.Millisecond, peersEvery: 500 * time.Millisecond,
}

// timingOption is a dial option for tests.
type timingOption struct {
	grpc.EmptyDialOption

	timing
}

// pace has the pauses between the tries of one call, or of one session.
type pace struct {
	of   *timing
	wait time.Duration
}

// next returns how long to wait before the next try.
func (p *pace) next() time.Duration {
	p.wait = min(max(2*p.wait, p.of.waitMin), p.of.waitMax)
	return p.wait - rand.N(p.wait/2)
}
