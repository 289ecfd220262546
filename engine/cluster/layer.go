package cluster

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// admittedLayer is the stream layer of a group. Until this node is admitted, it refuses connections
// from other nodes and does not dial other nodes.
type admittedLayer struct {
	admission *admission
	group     uint16

	mu     sync.Mutex
	closed bool
	stop   chan struct{}
}

var _ raft.StreamLayer = (*admittedLayer)(nil)

func newAdmittedLayer(a *admission, group uint16) *admittedLayer {
	return &admittedLayer{admission: a, group: group, stop: make(chan struct{})}
}

// under returns the underlying layer. The first call creates it.
func (l *admittedLayer) under() (raft.StreamLayer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, net.ErrClosed
	}
	return l.admission.mux.Group(l.group), nil
}

// Accept implements net.Listener.
func (l *admittedLayer) Accept() (net.Conn, error) {
	select {
	case <-l.stop:
		return nil, net.ErrClosed
	case <-l.admission.admitted:
	}
	under, err := l.under()
	if err != nil {
		return nil, err
	}
	return under.Accept()
}

// Dial implements raft.StreamLayer.
func (l *admittedLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	if !l.admission.isAdmitted() {
		return nil, errors.New("this node does not take part in the cluster yet")
	}
	under, err := l.under()
	if err != nil {
		return nil, err
	}
	return under.Dial(address, timeout)
}

// Close implements net.Listener.
func (l *admittedLayer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	close(l.stop)
	return l.admission.mux.Group(l.group).Close()
}

// Addr implements net.Listener.
func (l *admittedLayer) Addr() net.Addr { return peerAddr(l.admission.mux.Addr()) }

type peerAddr string

func (a peerAddr) Network() string { return "tcp" }
func (a peerAddr) String() string  { return string(a) }
