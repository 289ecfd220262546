package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pronybench/prony/engine/adminpb"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/open"
	"github.com/pronybench/prony/harness/driver/unary"
	"github.com/pronybench/prony/harness/load"
	"github.com/pronybench/prony/harness/scenario"
	"github.com/pronybench/prony/harness/topology"
)

const (
	// readersTimeout bounds the time to create the access tokens of a workload's readers and to
	// wait until all servers know them.
	readersTimeout = 30 * time.Second
	// tokenTick is the interval between two checks whether a server already knows a token.
	tokenTick = 10 * time.Millisecond
	// noTask is a task ID that no task has. noQueue is a name that no queue has.
	noTask  = "000000000000000000000000"
	noQueue = "none"
)

// openReaders opens the readers of a workload's tenants. It returns no readers if the workload has
// no reads. If the servers require access tokens, it creates a token for each reader. The token is
// valid only for the reader's tenant and only for the scope that its reads need. On an error it
// also returns the readers that are already open; the caller must close them.
func openReaders(ctx context.Context, cluster *topology.Cluster, w scenario.Workload) (readers load.Readers, err error) {
	if !w.ReadsTasks() {
		return readers, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readersTimeout)
	defer cancel()
	readers.Confined = targetOf(cluster, w).Token != ""
	if w.Reads.OfTasks() {
		err = openEach(ctx, cluster, w, adminpb.Scope_SCOPE_PRODUCE, func(_ int, target driver.Target) error {
			reader, err := open.Reader(w.Driver, target)
			if err == nil {
				readers.Of = append(readers.Of, reader)
			}
			return err
		})
	}
	if w.Reads.OfQueues() && err == nil {
		servers := cluster.Servers()
		err = openEach(ctx, cluster, w, adminpb.Scope_SCOPE_ADMIN, func(tenant int, target driver.Target) error {
			reader, err := open.QueueReader(w.Driver, target, servers[tenant%len(servers)].Node().Admin)
			if err == nil {
				readers.Queues = append(readers.Queues, reader)
			}
			return err
		})
	}
	if err != nil {
		return readers, fmt.Errorf("open the readers: %w", err)
	}
	return readers, nil
}

// openEach calls one for each tenant of a workload, to open the tenant's reader. If the servers
// require tokens, the target contains a token of that tenant with the given scope.
func openEach(ctx context.Context, cluster *topology.Cluster, w scenario.Workload, scope adminpb.Scope, one func(tenant int, target driver.Target) error) error {
	target := targetOf(cluster, w)
	tokens := make([]string, w.Tenants)
	if target.Token != "" {
		var err error
		if tokens, err = makeTokens(ctx, cluster, target, w, scope); err != nil {
			return err
		}
	}
	for i := range tokens {
		target.Token = tokens[i]
		if err := one(i, target); err != nil {
			return err
		}
	}
	return nil
}

// makeTokens creates an access token with the given scope for each tenant of a workload. It waits
// until all servers know the tokens, and returns their secrets.
func makeTokens(ctx context.Context, cluster *topology.Cluster, target driver.Target, w scenario.Workload, scope adminpb.Scope) (secrets []string, err error) {
	admin, err := target.DialAdmin(cluster.Servers()[0].Node().Admin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for i := range w.Tenants {
		tenant := load.TenantName(w.FirstTenant + i)
		made, err := admin.CreateToken(ctx, &adminpb.CreateTokenRequest{
			Tenant: tenant, Scopes: []adminpb.Scope{scope}, Note: "reads of a benchmark",
		})
		if err != nil {
			return nil, fmt.Errorf("create an access token for %s: %w", tenant, err)
		}
		secrets = append(secrets, made.GetSecret())
	}
	// The servers of a cluster learn tokens in the order of their creation, so it is enough to
	// check the last one.
	target.Token = secrets[len(secrets)-1]
	for _, s := range cluster.Servers() {
		target.Address = s.Node().Address
		if err := waitForToken(ctx, target, s.Node().Admin, scope, load.TenantName(w.FirstTenant+w.Tenants-1)); err != nil {
			return nil, fmt.Errorf("wait until %s knows a new access token: %w", s.Node().Address, err)
		}
	}
	return secrets, nil
}

// waitForToken waits until a server knows the target's token, which belongs to tenant and has the
// given scope. admin is the address of the server's admin listener.
func waitForToken(ctx context.Context, target driver.Target, admin string, scope adminpb.Scope, tenant string) (err error) {
	ask, end, err := asking(target, admin, scope, tenant)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	tick := time.NewTicker(tokenTick)
	defer tick.Stop()
	for {
		err := ask(ctx)
		switch {
		case errors.Is(err, driver.ErrNotFound):
			return nil
		case err == nil:
			return errors.New("expected not found for a task or a queue that does not exist, got an answer")
		// A server that has not caught up yet asks the caller to retry.
		case status.Code(err) != codes.Unauthenticated && status.Code(err) != codes.Unavailable:
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// asking returns two functions. ask makes a call that requires the given scope: it asks for a task
// or a queue that the tenant does not have. end closes the connection of ask.
func asking(target driver.Target, admin string, scope adminpb.Scope, tenant string) (ask func(context.Context) error, end func() error, err error) {
	if scope == adminpb.Scope_SCOPE_ADMIN {
		reader, err := unary.DialQueueReader(target, admin)
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context) error {
			_, err := reader.Stats(ctx, tenant, noQueue)
			return err
		}, reader.Close, nil
	}
	reader, err := unary.DialReader(target)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		_, err := reader.Read(ctx, tenant, noTask)
		return err
	}, reader.Close, nil
}

func closeReaders(readers load.Readers) error {
	var errs []error
	for _, r := range readers.Of {
		errs = append(errs, r.Close())
	}
	for _, r := range readers.Queues {
		errs = append(errs, r.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the readers: %w", err)
	}
	return nil
}
