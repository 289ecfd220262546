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

// Config configures Listen. Listen copies it.
type Config struct {
	// Node is this node's ID. It must be valid according to nodeid.Check.
	Node string
	// Listen is the host:port to listen on. With port 0, the system chooses the port.
	Listen string
	// Advertise is the host:port that other nodes dial to reach this node. If it is empty, Listen
	// uses the listener's address. If its port is 0, Listen uses the listener's port.
	Advertise string
	// Peers maps node IDs to addresses. These addresses take precedence over those set with
	// SetMembers. The map may include this node.
	Peers map[string]string
	// Credentials returns this node's certificate and the CA that it trusts. It is called for each
	// handshake and must be safe for concurrent use.
	Credentials func() *certs.Credentials
	// Log receives a line for each refused connection, at most 20 lines in 10 s. nil disables
	// logging.
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
			return fmt.Errorf("peers: nodes %s and %s have the same address %s: each node needs a different one", other, node, address)
		}
		at[address] = node
	}
	return nil
}

// advertise returns the address that other nodes dial to reach a listener at address l.
func (c Config) advertise(l net.Addr) (string, error) {
	listening, ok := l.(*net.TCPAddr)
	if !ok {
		return "", fmt.Errorf("listen for peers on %s: not a TCP address", l)
	}
	if c.Advertise == "" {
		if listening.IP.IsUnspecified() {
			return "", fmt.Errorf("listen for peers on %s: this means all interfaces: set advertise to the address that the other nodes use", c.Listen)
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
