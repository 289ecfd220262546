package peer

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strconv"

	"github.com/pronybench/prony/engine/internal/nodeid"
	"github.com/pronybench/prony/engine/replica/peer/certs"
)

// Config says how Listen works. Listen keeps copies.
type Config struct {
	// Node is this node's id: as nodeid.Check wants it.
	Node string
	// Listen is the host:port to listen on; the system chooses port 0.
	Listen string
	// Advertise is the host:port at which the other nodes reach this one. Empty: the listener's address. Port 0: the listener's port.
	Advertise string
	// Peers are the addresses of other nodes, by id. They take precedence over the addresses that the cluster knows. This node may be
	// among them.
	Peers map[string]string
	// Credentials returns the certificate that this node shows and the CA that it trusts. It is called for each handshake, at any time.
	Credentials func() *certs.Credentials
	// Log gets a line for each refused connection, at most 20 in 10 s. nil: nothing is logged.
	Log *slog.Logger
}

func (c Config) check() error {
	if err := nodeid.Check(c.Node); err != nil {
		return fmt.Errorf("node %w", err)
	}
	if c.Credentials == nil {
		return errors.New("the node has no certificate for its peers")
	}
	at := map[string]string{}
	for _, node := range slices.Sorted(maps.Keys(c.Peers)) {
		address := c.Peers[node]
		if err := nodeid.Check(node); err != nil {
			return fmt.Errorf("peers: node %w", err)
		}
		if err := nodeid.CheckAddress(address); err != nil {
			return fmt.Errorf("peers: node %s: address %w", node, err)
		}
		if other, ok := at[address]; ok {
			return fmt.Errorf("peers: nodes %s and %s have one address, %s: each needs its own", other, node, address)
		}
		at[address] = node
	}
	return nil
}

// advertise returns the address at which the other nodes reach a listener at l.
func (c Config) advertise(l net.Addr) (string, error) {
	listening, ok := l.(*net.TCPAddr)
	if !ok {
		return "", fmt.Errorf("listen for peers on %s: that is not a TCP address", l)
	}
	if c.Advertise == "" {
		if listening.IP.IsUnspecified() {
			return "", fmt.Errorf("listen for peers on %s: that means all interfaces: name the address at which the other nodes reach it (advertise)", c.Listen)
		}
		return listening.String(), nil
	}
	host, port, err := net.SplitHostPort(c.Advertise)
	if err == nil && port == "0" {
		return net.JoinHostPort(host, strconv.Itoa(listening.Port)), nil
	}
	if err := nodeid.CheckAddress(c.Advertise); err != nil {
		return "", fmt.Errorf("advertise: address %w", err)
	}
	return c.Advertise, nil
}
