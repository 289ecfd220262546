package k6

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/grafana/sobek"
	"google.golang.org/grpc"

	"github.com/pronybench/prony/engine/client"
	"github.com/pronybench/prony/harness/k6/options"
	"github.com/pronybench/prony/harness/k6run"
)

// Defaults of connect.
const (
	addressDefault = "127.0.0.1:7070"
	adminDefault   = "127.0.0.1:7071"
	tenantDefault  = "default"
	timeoutDefault = 30 * time.Second
)

// Bounds of options.
const (
	connectionsMax = 64
	timeoutMax     = time.Hour
	retryMax       = 10 * time.Minute
)

// connection has the parameters of connections. VUs with equal parameters share connections.
type connection struct {
	address, admin, token string
	tls                   bool
	ca, cert, key         string
	serverName            string
	plaintextToken        bool
	retry                 time.Duration
	retries               bool // retry was given
	connections           int
	idempotent            bool // for a producer
}

// connectOptions are the options of connect.
type connectOptions struct {
	connection
	tenant  string
	timeout time.Duration
	ledger  bool
}

var connectTable = options.Table[connectOptions]{
	"address":        func(c *connectOptions, v options.Value) error { return v.TextInto(&c.address) },
	"admin":          func(c *connectOptions, v options.Value) error { return v.TextInto(&c.admin) },
	"token":          func(c *connectOptions, v options.Value) error { return v.TextInto(&c.token) },
	"tenant":         func(c *connectOptions, v options.Value) error { return v.TextInto(&c.tenant) },
	"tls":            readTLS,
	"plaintextToken": func(c *connectOptions, v options.Value) error { return v.BoolInto(&c.plaintextToken) },
	"connections":    func(c *connectOptions, v options.Value) error { return v.IntInto(&c.connections, 1, connectionsMax) },
	"timeout": func(c *connectOptions, v options.Value) error {
		return v.DurationInto(&c.timeout, time.Millisecond, timeoutMax)
	},
	"retry": func(c *connectOptions, v options.Value) error {
		c.retries = true
		return v.DurationInto(&c.retry, 0, retryMax)
	},
	"ledger": func(c *connectOptions, v options.Value) error { return v.BoolInto(&c.ledger) },
}

var tlsTable = options.Table[connectOptions]{
	"ca":         func(c *connectOptions, v options.Value) error { return v.TextInto(&c.ca) },
	"cert":       func(c *connectOptions, v options.Value) error { return v.TextInto(&c.cert) },
	"key":        func(c *connectOptions, v options.Value) error { return v.TextInto(&c.key) },
	"serverName": func(c *connectOptions, v options.Value) error { return v.TextInto(&c.serverName) },
}

func readTLS(c *connectOptions, v options.Value) error {
	if v.BoolInto(&c.tls) == nil {
		return nil
	}
	c.tls = true
	if err := tlsTable.ReadField(v, c); err != nil {
		return err
	}
	if (c.cert == "") != (c.key == "") {
		missing := "cert"
		if c.key == "" {
			missing = "key"
		}
		return v.Field(missing).Fault("pass both cert and key, or neither") // an error that shows tls would show the key
	}
	return nil
}

// connect implements the script's function: it returns a client. It opens no connection, except
// without a token: it then asks the server whether it requires one, so that a script without a
// required token ends in the init context.
func (i *instance) connect(from sobek.Value) *sobek.Object {
	const call = "connect"
	if i.failure != nil {
		i.throw(failed(call, i.failure))
	}
	c := connectOptions{
		connection: connection{
			address: i.process.env(k6run.AddressEnv, addressDefault), admin: i.process.env(k6run.AdminEnv, adminDefault),
			token: i.process.env(k6run.TokenEnv, ""), connections: 1,
			ca: i.process.env(k6run.TLSCAEnv, ""), serverName: i.process.env(k6run.TLSNameEnv, ""),
		},
		tenant: tenantDefault, timeout: timeoutDefault, ledger: true,
	}
	c.tls = c.ca != "" // the script's options may override it
	err := connectTable.Read(i.vu.Runtime(), call, from, &c)
	if err == nil && c.token == "" && i.process.plan == nil { // the harness passes the token of its servers
		c.token, err = i.process.localToken(c.address)
	}
	var shared *pool
	if err == nil {
		shared, err = i.process.pool(c.connection)
	}
	if err == nil && c.token == "" && i.inInit() {
		err = shared.needsToken(i.process.live)
	}
	if err != nil {
		i.throw(failed(call, err))
	}
	return newClient(i, c).object()
}

// env returns an environment variable, or missing if it is unset or empty.
func (p *process) env(name, missing string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if value, set := p.lookup(name); set && value != "" {
		return value
	}
	return missing
}

// pool has the connections that VUs share.
type pool struct {
	of      connection
	clients []*client.Client
	admin   *client.Admin

	asked   sync.Once // asks whether the server requires a token
	refusal error     // if not nil, the server refuses calls without a token
}

// pool returns the connections with the given parameters. They connect at their first call.
func (p *process) pool(of connection) (*pool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pool := range p.pools {
		if pool.of == of {
			return pool, nil
		}
	}
	dial, err := of.options()
	if err != nil {
		return nil, err
	}
	made := &pool{of: of}
	for range of.connections {
		c, err := client.Dial(of.address, dial...)
		if err != nil {
			return nil, errors.Join(err, made.close())
		}
		made.clients = append(made.clients, c)
	}
	if made.admin, err = client.DialAdmin(of.admin, dial...); err != nil {
		return nil, errors.Join(err, made.close())
	}
	p.pools = append(p.pools, made)
	return made, nil
}

// client returns the connection of a VU. VUs are assigned to connections in turn.
func (p *pool) client(vu uint64) *client.Client {
	return p.clients[vu%uint64(len(p.clients))]
}

func (p *pool) close() error {
	var errs []error
	for _, c := range p.clients {
		errs = append(errs, c.Close())
	}
	if p.admin != nil {
		errs = append(errs, p.admin.Close())
	}
	return errors.Join(errs...)
}

func (c *connection) options() ([]grpc.DialOption, error) {
	var dial []grpc.DialOption
	if c.token != "" {
		dial = append(dial, client.WithToken(c.token))
	}
	if c.plaintextToken {
		dial = append(dial, client.WithPlaintextToken())
	}
	if c.idempotent {
		dial = append(dial, client.WithIdempotency())
	}
	// By default, calls to a single server are not retried.
	if c.retries || !strings.Contains(c.address, ",") {
		dial = append(dial, client.WithRetryMax(c.retry))
	}
	if c.tls {
		config, err := c.config()
		if err != nil {
			return nil, err
		}
		dial = append(dial, client.WithTLS(config))
	}
	return dial, nil
}

// config returns the script's TLS configuration. Certificates are PEM text: scripts read files with
// open().
func (c *connection) config() (*tls.Config, error) {
	config := &tls.Config{ServerName: c.serverName, MinVersion: tls.VersionTLS12}
	if c.ca != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(c.ca)) {
			return nil, &options.Error{Call: "connect", Field: "tls.ca", Remedy: "pass the content of a PEM file with certificates, such as open('ca.pem')"}
		}
	}
	if c.cert != "" {
		pair, err := tls.X509KeyPair([]byte(c.cert), []byte(c.key))
		if err != nil {
			return nil, &options.Error{Call: "connect", Field: "tls.cert", Remedy: fmt.Sprintf("pass the content of the PEM files of a certificate and its key: %v", err)}
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// millis converts a duration for the wire. It rounds up, so that a positive duration never becomes
// 0.
func millis(d time.Duration) uint64 {
	return uint64(math.Ceil(float64(d) / float64(time.Millisecond)))
}
