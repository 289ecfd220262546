package client

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
)

// timing has the waits and limits of a client.
type timing struct {
	// The wait between two tries grows from waitMin to waitMax; up to half of it is subtracted at
	// random.
	waitMin, waitMax time.Duration
	// keeperWaitMax bounds the keeper's waits, which delay all calls of a session.
	keeperWaitMax time.Duration
	// calm is the time without an error after which a session's next try is immediate again.
	calm time.Duration
	// leaveMax is how long a session waits for answers on a link that it retires. It then repeats
	// unanswered settlements, whose outcome may be unknown.
	leaveMax time.Duration
	// openMax bounds the time for a node to accept a stream.
	openMax time.Duration
	// balanceEvery is how often a session compares its links' slots with their shares.
	balanceEvery time.Duration
	// resultWait is how long one call of AwaitResult waits at the server, whose limit is a minute.
	// answerMax is the additional time for a node of a cluster to answer.
	resultWait, answerMax time.Duration
	// askMax bounds the time for a node to answer with the routes.
	askMax time.Duration
	// askGrace is how long the other nodes have once one has answered, since one answer may be out
	// of date.
	askGrace time.Duration
	// askEvery bounds the wait of a node before it answers with unchanged routes, while sessions
	// follow them. It detects hanging nodes, which send no refusal.
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
