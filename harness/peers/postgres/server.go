// Package postgres measures PostgreSQL as a task queue: FOR UPDATE SKIP LOCKED on one table.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/pronybench/prony/harness/driver"
	"github.com/pronybench/prony/harness/driver/program"
	"github.com/pronybench/prony/harness/peers/internal/child"
	"github.com/pronybench/prony/harness/peers/internal/peer"
)

// connectionsMax is the maximum number of connections in a pool. Each is a process of the server,
// and more of them make it slower.
const connectionsMax = 32

// installed is the location of the programs of each version in Debian packages.
const installed = "/usr/lib/postgresql/*/bin/"

// find returns the path of one of PostgreSQL's programs in the newest installed version.
func find(name string) (string, error) { return child.Find(name, installed+name) }

// always contains the server settings that are the same for each guarantee.
var always = []string{
	"shared_buffers=256MB", "max_connections=500", "max_wal_size=4GB", "checkpoint_timeout=15min", "jit=off",
	"autovacuum_naptime=1s", "autovacuum_vacuum_cost_delay=0", "unix_socket_directories=",
}

func of(g program.Guarantee) []string {
	switch g {
	case program.Memory:
		return []string{"synchronous_commit=off"}
	case program.OS:
		return []string{"fsync=off"}
	}
	return nil
}

// ServerSettings returns the settings of the server and of the connection pool.
func ServerSettings() []program.Setting {
	return []program.Setting{
		{Name: "synchronous_commit", Value: "off at memory", Because: "a commit then does not wait for a write"},
		{Name: "fsync", Value: "off at os", Because: "a commit then waits until the log is written to the operating system, but not for an fsync"},
		{Name: "max_wal_size, checkpoint_timeout", Value: "4GB, 15min", Because: "checkpoints write whole pages to the log again"},
		{Name: "autovacuum", Value: "each second, without a pause", Because: "a queue leaves a dead row for each change of a task"},
		{Name: "pool", Value: fmt.Sprint(connectionsMax, " connections"), Because: "each is a process of the server"},
	}
}

// Target returns the target postgresql.
func Target() program.Target { return target{} }

type target struct{}

// Describe implements program.Target.
func (target) Describe(ctx context.Context) program.Description {
	d := program.Description{
		Name: "postgresql", Product: "PostgreSQL", Client: peer.Module("github.com/jackc/pgx/v5"),
		Guarantees: []program.Guarantee{program.Memory, program.OS, program.Fsync}, Nodes: []int{1},
		Settings: append(ServerSettings(),
			program.Setting{Name: "table", Value: "unlogged at memory", Because: "it then has no log"},
			program.Setting{Name: "fillfactor", Value: "70, no index on what a claim changes", Because: "a claim then updates its row in place in the page, without the index"},
			program.Setting{Name: "autovacuum of the table", Value: "after 1,000 dead rows", Because: "each task leaves two dead rows, which claims must skip"},
			program.Setting{Name: "enqueue, complete", Value: "one INSERT, one DELETE of arrays", Because: "a batch is one statement and one commit"},
			program.Setting{Name: "claim", Value: "UPDATE of the rows that SELECT FOR UPDATE SKIP LOCKED finds. One goroutine of each worker asks, and waits 5 ms after an empty answer", Because: "NOTIFY would serialize the commits of all producers"},
		),
		Claim: "postgresql.org, SELECT: skipping locked rows \"can be used to avoid lock contention with multiple consumers accessing a queue-like table\". " +
			"It makes no statement on rates.",
	}
	path, err := find("postgres")
	if err == nil {
		d.Version, err = child.Version(ctx, `\(PostgreSQL\) (\S+)`, path, "--version")
	}
	if err == nil {
		_, err = find("initdb")
	}
	if err != nil {
		d.Missing = err.Error()
	}
	return d
}

// Launch implements program.Target.
func (target) Launch(ctx context.Context, spec program.LaunchSpec) (program.Server, error) {
	processes, address, err := Start(ctx, "postgresql", spec)
	if err != nil {
		return nil, err
	}
	s := &peer.Server{
		Processes: processes,
		Prepare:   func(ctx context.Context) error { return makeTable(ctx, address, spec) },
		Open:      func(ctx context.Context) (driver.Conn, error) { return open(ctx, address, spec) },
	}
	return s.Begin(ctx)
}

// Start makes a database cluster in the launch's folder and starts its server for a target without
// settings. If the launch has an address, Start returns the address and starts nothing.
func Start(ctx context.Context, target string, spec program.LaunchSpec) (*child.Servers, string, error) {
	if _, err := peer.Settings(target, nil, spec.Settings); err != nil {
		return nil, "", err
	}
	if len(spec.Addresses) > 0 {
		return nil, spec.Addresses[0], nil
	}
	initdb, err := find("initdb")
	if err != nil {
		return nil, "", err
	}
	postgres, err := find("postgres")
	if err != nil {
		return nil, "", err
	}
	prefix, err := unprivileged()
	if err != nil {
		return nil, "", err
	}
	data := filepath.Join(spec.Folder, "data")
	makes := append(append([]string(nil), prefix...), initdb, "--pgdata", data, "--username", "postgres", "--auth", "trust", "--no-sync", "--encoding", "UTF8", "--locale", "C")
	if out, err := exec.CommandContext(ctx, makes[0], makes[1:]...).CombinedOutput(); err != nil {
		return nil, "", fmt.Errorf("make the database cluster: %w: %s", err, out)
	}
	addresses, err := child.Addresses(1)
	if err != nil {
		return nil, "", err
	}
	command := append(append([]string(nil), prefix...), postgres, "-D", data, "-h", "127.0.0.1", "-p", child.Port(addresses[0]))
	for _, setting := range append(of(spec.Guarantee), always...) {
		command = append(command, "-c", setting)
	}
	processes, err := child.Start(ctx, spec.Folder, child.Program{
		Name: "postgres", Command: command,
		Serves: func(ctx context.Context) error {
			connection, err := pgx.Connect(ctx, url(addresses[0]))
			if err != nil {
				return err
			}
			return connection.Close(ctx)
		},
	})
	return processes, addresses[0], err
}

// unprivileged returns the command prefix under which PostgreSQL's programs run, because they
// refuse to run as root. For root, the prefix starts them in a user namespace, in which root's
// files belong to another user. The programs still end with this process.
func unprivileged() ([]string, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if other, err := user.Lookup(name); err == nil {
			return []string{"unshare", "--user", "--map-user=" + other.Uid, "--map-group=" + other.Gid, "setpriv", "--pdeathsig", "KILL"}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and neither the user postgres nor the user nobody exists: run prony as another user")
}

func url(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable"
}

func makeTable(ctx context.Context, address string, spec program.LaunchSpec) error {
	connection, err := pgx.Connect(ctx, url(address))
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	logged := ""
	if spec.Guarantee == program.Memory {
		logged = "UNLOGGED"
	}
	_, err = connection.Exec(ctx, `CREATE `+logged+` TABLE IF NOT EXISTS tasks (
		queue integer NOT NULL, id bigint GENERATED ALWAYS AS IDENTITY, until timestamptz NOT NULL DEFAULT '-infinity', attempt integer NOT NULL DEFAULT 0,
		payload bytea NOT NULL, PRIMARY KEY (queue, id)
	) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)`)
	if err != nil {
		err = fmt.Errorf("make the table: %w", err)
	}
	return errors.Join(err, connection.Close(ctx))
}

// Pool returns a pool of connections to a server.
func Pool(ctx context.Context, address string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url(address))
	if err != nil {
		return nil, err
	}
	config.MaxConns = connectionsMax
	config.ConnConfig.ConnectTimeout = 5 * time.Second
	return pgxpool.NewWithConfig(ctx, config)
}

func open(ctx context.Context, address string, spec program.LaunchSpec) (driver.Conn, error) {
	pool, err := Pool(ctx, address)
	if err != nil {
		return nil, err
	}
	c := &conn{pool: pool, lease: spec.Lease, queues: map[program.Queue]int{}}
	for i, q := range spec.Queues {
		c.queues[q] = i
	}
	return c, nil
}

// OutcomeOf converts the error of a statement to its outcome. Errors in the server's answer, and
// errors before anything was sent, are refusals. The messages of a server that shuts down leave the
// outcome unknown, as does any other error.
func OutcomeOf(err error) error {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Code[:2] != "57", pgconn.SafeToRetry(err):
		return err
	}
	return peer.Unknown(err)
}
