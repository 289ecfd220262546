package attack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/engine/queuepb"

	"github.com/pronybench/prony/harness/clienttls"
	"github.com/pronybench/prony/harness/result"
	"github.com/pronybench/prony/harness/scenario"
)

// Tenant is the tenant that attackers with a token use.
const Tenant = "attacker"

const (
	// callTimeout bounds each call of an attacker.
	callTimeout = 5 * time.Second
	// pause and adminPause are the times between two tries of an attacker. A try with admin calls
	// causes as much work as thousands of tasks. The longer pause leaves CPU time to the server, so
	// that these calls affect other clients only while they block them.
	pause, adminPause = 100 * time.Millisecond, time.Second
)

// Plan defines an attack.
type Plan struct {
	Address string `json:"address"` // "host:port" of the server's gRPC listener
	Admin   string `json:"admin"`   // "host:port" of the server's admin listener
	// Token is the bearer token for Tenant; "" if the server requires no token.
	Token string `json:"token"`
	// CA is the certificate authority of a server with TLS. The zero value means that the server
	// does not use TLS.
	CA      clienttls.CA `json:"ca,omitzero"`
	Kinds   []string     `json:"kinds"`   // elements are from scenario.AttackKinds
	Clients int          `json:"clients"` // number of attackers of each kind
}

type attacker struct {
	address         string
	unauthenticated *grpc.ClientConn           // sends no token
	tenant          queuepb.QueueServiceClient // sends the plan's token
	admin           *client.Admin              // sends the plan's token
	number          int
	// set when fillOnce has enqueued its tasks; used only by the attacker's own goroutine
	filled bool
	tally  *tally
}

// tally counts the tries of one kind of attack, and how they ended. It is safe for concurrent use.
type tally struct{ tries, refused, failed atomic.Uint64 }

func (t *tally) note(err error) {
	switch status.Code(err) {
	case codes.OK:
	case codes.Unauthenticated, codes.PermissionDenied, codes.ResourceExhausted, codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition:
		t.refused.Add(1)
	default:
		t.failed.Add(1)
	}
}

// attacks maps each kind of attack to the function that makes one try, and to the pause between two
// tries.
var attacks = map[string]struct {
	try   func(*attacker, context.Context) error
	pause time.Duration
}{
	scenario.AttackEmptyTasks:      {(*attacker).emptyTasks, pause},
	scenario.AttackIdleConnections: {(*attacker).idleConnections, pause},
	scenario.AttackUnreadStreams:   {(*attacker).unreadStreams, pause},
	scenario.AttackLargePayloads:   {(*attacker).largePayloads, pause},
	scenario.AttackManyQueues:      {(*attacker).manyQueues, pause},
	scenario.AttackLongErrors:      {(*attacker).longErrors, pause},
	scenario.AttackLongPolls:       {(*attacker).longPolls, pause},
	scenario.AttackMassCancels:     {(*attacker).massCancels, adminPause},
	scenario.AttackRedrives:        {(*attacker).redrives, adminPause},
	scenario.AttackPurges:          {(*attacker).purges, adminPause},
	scenario.AttackLists:           {(*attacker).lists, adminPause},
	scenario.AttackAwaits:          {(*attacker).awaits, adminPause},
}

// Run attacks until ctx is done. It returns the counts of each kind of attack, in the order of the
// plan. It returns an error immediately if the plan contains an unknown kind, or an address that is
// not on the loopback interface.
func Run(ctx context.Context, p Plan) ([]result.Attack, error) { return newTallied(p).run(ctx) }

type tallied struct {
	Plan
	tallies []*tally
	begun   sync.WaitGroup // reaches zero when each attacker has started its first try
}

func newTallied(p Plan) *tallied {
	t := &tallied{Plan: p}
	for range p.Kinds {
		t.tallies = append(t.tallies, &tally{})
	}
	t.begun.Add(len(p.Kinds) * p.Clients)
	return t
}

func (p *tallied) run(ctx context.Context) ([]result.Attack, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	encrypted, err := p.CA.Config()
	if err != nil {
		return nil, fmt.Errorf("attack %s: %w", p.Address, err)
	}
	transport := grpc.WithTransportCredentials(insecure.NewCredentials())
	var options []grpc.DialOption
	if encrypted != nil {
		transport = client.WithTLS(encrypted)
		options = append(options, transport)
	}
	unauthenticated, err := grpc.NewClient("passthrough:///"+p.Address, transport)
	if err != nil {
		return nil, fmt.Errorf("attack %s: %w", p.Address, err)
	}
	if p.Token != "" {
		// The scenario decides whether TLS is used.
		options = append(options, client.WithToken(p.Token), client.WithPlaintextToken())
	}
	tenant, err := client.Dial(p.Address, options...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attack %s: %w", p.Address, err), unauthenticated.Close())
	}
	admin, err := client.DialAdmin(p.Admin, options...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attack %s: %w", p.Admin, err), unauthenticated.Close(), tenant.Close())
	}
	var running sync.WaitGroup
	for i, kind := range p.Kinds {
		for n := range p.Clients {
			a := &attacker{address: p.Address, unauthenticated: unauthenticated, tenant: tenant.API(), admin: admin, number: n, tally: p.tallies[i]}
			running.Go(func() { a.repeat(ctx, kind, p.begun.Done) })
		}
	}
	running.Wait()
	counts := make([]result.Attack, len(p.Kinds))
	for i, kind := range p.Kinds {
		t := p.tallies[i]
		counts[i] = result.Attack{Kind: kind, Tries: t.tries.Load(), Refused: t.refused.Load(), Failed: t.failed.Load()}
	}
	return counts, errors.Join(unauthenticated.Close(), tenant.Close(), admin.Close())
}

func (p Plan) check() error {
	for _, kind := range p.Kinds {
		if attacks[kind].try == nil {
			return fmt.Errorf("attack: unknown kind %q", kind)
		}
	}
	for _, of := range []struct{ what, address string }{{"address", p.Address}, {"admin", p.Admin}} {
		host, _, err := net.SplitHostPort(of.address)
		if err != nil {
			return fmt.Errorf("attack: %s: %w", of.what, err)
		}
		if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
			return fmt.Errorf("attack: %s %q is not on the loopback interface: attack only servers on this host", of.what, of.address)
		}
	}
	return nil
}

// repeat makes tries until ctx is done, with a pause between two tries. It calls begun when the
// first try starts. If a try fails, it counts the error and continues.
func (a *attacker) repeat(ctx context.Context, kind string, begun func()) {
	for first := true; first || ctx.Err() == nil; first = false {
		a.tally.tries.Add(1)
		if first {
			begun()
		}
		err := attacks[kind].try(a, ctx)
		if ctx.Err() == nil || err == nil {
			a.tally.note(err)
		}
		wait(ctx, attacks[kind].pause)
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
