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
	// readersTimeout bounds how long it takes to make the access tokens of a workload's readers, and until all servers know them.
	readersTimeout = 30 * time.Second
	// tokenTick is the time between two looks whether a server knows a token.
	tokenTick = 10 * time.Millisecond
	// noTask is an id that no task has.
	noTask = "000000000000000000000000"
)

// openReaders opens the readers of a workload's tenants, and returns none for a workload without reads. Servers that want an access token
// are shown one of the tenant alone, made for this round. It returns those that are open also beside an error.
func openReaders(ctx context.Context, cluster *topology.Cluster, w scenario.Workload) (readers load.Readers, err error) {
	if !w.ReadsTasks() {
		return readers, nil
	}
	ctx, cancel := context.WithTimeout(ctx, readersTimeout)
	defer cancel()
	target := targetOf(cluster, w)
	tokens := make([]string, w.Tenants)
	if readers.Confined = target.Token != ""; readers.Confined {
		if tokens, err = makeTokens(ctx, cluster, target, w); err != nil {
			return readers, fmt.Errorf("open the readers: %w", err)
		}
	}
	for _, target.Token = range tokens {
		reader, err := open.Reader(w.Driver, target)
		if err != nil {
			return readers, fmt.Errorf("open the readers: %w", err)
		}
		readers.Of = append(readers.Of, reader)
	}
	return readers, nil
}

// makeTokens makes an access token for each tenant of a workload, and returns their secrets once all servers know them.
func makeTokens(ctx context.Context, cluster *topology.Cluster, target driver.Target, w scenario.Workload) (secrets []string, err error) {
	admin, err := target.DialAdmin(cluster.Servers()[0].Node().Admin)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for i := range w.Tenants {
		tenant := load.TenantName(w.FirstTenant + i)
		made, err := admin.CreateToken(ctx, &adminpb.CreateTokenRequest{
			Tenant: tenant, Scopes: []adminpb.Scope{adminpb.Scope_SCOPE_PRODUCE}, Note: "reads of a benchmark",
		})
		if err != nil {
			return nil, fmt.Errorf("make an access token of %s: %w", tenant, err)
		}
		secrets = append(secrets, made.GetSecret())
	}
	// The servers of a cluster learn of tokens in the order in which they were made.
	target.Token = secrets[len(secrets)-1]
	for _, s := range cluster.Servers() {
		target.Address = s.Node().Address
		if err := waitForToken(ctx, target, load.TenantName(w.FirstTenant+w.Tenants-1)); err != nil {
			return nil, fmt.Errorf("wait until %s knows an access token that was made: %w", s.Node().Address, err)
		}
	}
	return secrets, nil
}

// waitForToken waits until a server knows the target's token, which is a tenant's.
func waitForToken(ctx context.Context, target driver.Target, tenant string) (err error) {
	reader, err := unary.DialReader(target)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	tick := time.NewTicker(tokenTick)
	defer tick.Stop()
	for {
		_, err := reader.Read(ctx, tenant, noTask)
		switch {
		case errors.Is(err, driver.ErrNotFound):
			return nil
		case err == nil:
			return fmt.Errorf("it answered with a task of the id %s, which none has", noTask)
		case status.Code(err) != codes.Unauthenticated:
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// closeReaders closes readers that nobody uses.
func closeReaders(readers load.Readers) error {
	var errs []error
	for _, r := range readers.Of {
		if err := r.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close a reader: %w", err))
		}
	}
	return errors.Join(errs...)
}
