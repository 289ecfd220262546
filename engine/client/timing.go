package client

import (
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
)

// timing contains the times that a client uses for waits and limits.
type timing struct {
	// The wait between two tries grows from waitMin to waitMax. A random part of up to one half is
	// subtracted.
	waitMin, waitMax time.Duration
	// keeperWaitMax limits the waits of the keeper, because they delay all calls of a session.
	keeperWaitMax time.Duration
	// calm is the duration without errors after which the next try of a session is immediate again.
	calm time.Duration
	// leaveMax is the maximum time that a session waits for answers on a link that it retires. It
	// then repeats unanswered settlements, whose outcome may be unknown.
	leaveMax time.Duration
	// openMax limits the wait for a node to accept a stream.
	openMax time.Duration
	// balanceEvery is how often a session compares the slots of its links with their
	// shares.
	balanceEvery time.Duration
	// resultWait is the time that one call of AwaitResult waits at the server; the server's maximum
	// is a minute. answerMax is the additional time that a node of a cluster has for its answer.
	resultWait, answerMax time.Duration
	// askMax limits the wait for a node's answer with the routes.
	askMax time.Duration
	// askGrace is the time that the other nodes have to answer after the first one has. The client
	// waits for them because one answer may be out of date.
	askGrace time.Duration
	// askEvery is the time after which a node answers even if its routes have not changed, while
	// sessions follow the routes. It serves to detect hanging nodes, which send no refusal.
	askEvery time.Duration
	// peersEvery is the interval of a client's searches for nodes that it does not watch yet.
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

// pace computes the pauses between the tries of one call, or of one session.
type pace struct {
	of   *timing
	wait time.Duration
}

func (p *pace) next() time.Duration {
	p.wait = min(max(2*p.wait, p.of.waitMin), p.of.waitMax)
	return p.wait - rand.N(p.wait/2)
}
