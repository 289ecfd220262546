package peer

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// What the two proofs are about, so that one is never the other.
const (
	labelDialer   = "prony peer: I dialed\x00"
	labelListener = "prony peer: I listened\x00"
)

// bindingLabel is the name of the keying material of a TLS connection that the proofs cover: so a proof holds for the TLS
// connection on which it is sent, and can't be passed on through another.
const bindingLabel = "EXPORTER-prony-peer"

func bind(s tls.ConnectionState) ([]byte, error) {
	b, err := s.ExportKeyingMaterial(bindingLabel, nil, 32)
	if err != nil {
		return nil, fmt.Errorf("bind the handshake to TLS: %w", err)
	}
	return b, nil
}

// transcript is what both sides have said before the proofs, and the TLS connection on which they did. The frames have their
// lengths in them, so no two transcripts have the same bytes.
func transcript(hello, challenge frame, binding []byte) []byte {
	h := sha256.New()
	h.Write(hello.raw)
	h.Write(challenge.raw)
	h.Write(binding)
	return h.Sum(nil)
}

// prove returns the proof that who knows the secret said what, after a transcript. An empty secret proves nothing.
func prove(secret []byte, label string, transcript []byte, what string) (p proof) {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(label))
	h.Write(transcript)
	h.Write([]byte(what))
	copy(p[:], h.Sum(nil))
	return p
}

func (v verdict) prove(secret, transcript []byte) proof {
	return prove(secret, labelListener, transcript, string(byte(v.code))+v.reason)
}

func (m *Mux) flags() byte {
	if len(m.secret) > 0 {
		return flagSecret
	}
	return 0
}

func newNonce() (n nonce) {
	_, _ = rand.Read(n[:]) // it never fails: it ends the process instead
	return n
}

// answerer is the listener's side of a handshake.
type answerer struct {
	mux      *Mux
	conn     net.Conn
	binding  []byte // of TLS; nil without it
	deadline time.Time
}

// run makes the handshake. It returns who dialed, and for which layer.
func (a answerer) run() (node string, l *layer, err error) {
	first, err := readFrame(a.conn)
	if errors.Is(err, errMalformed) {
		return "", nil, a.refuse(refuse(CodeMalformed, "%s", err), nil)
	}
	if err != nil {
		return "", nil, err
	}
	if first.version != version {
		return "", nil, a.refuse(refuse(CodeVersion, "this node speaks version %d of the handshake, the other one version %d: run releases that go together", version, first.version), nil)
	}
	h, err := parseHello(first)
	if err != nil {
		return "", nil, a.refuse(refuse(CodeMalformed, "%s", err), nil)
	}
	if h.flags != a.mux.flags() {
		return "", nil, a.refuse(refuse(CodeSecret, "one of node %s and node %s has a cluster secret, the other has none: give all the same", a.mux.node, h.from), nil)
	}
	second := challenge{flags: a.mux.flags(), nonce: newNonce(), instance: a.mux.instance, node: a.mux.node}.frame()
	if _, err := a.conn.Write(second.raw); err != nil {
		return "", nil, fmt.Errorf("send a challenge to node %s: %w", h.from, err)
	}
	third, err := readFrame(a.conn)
	if err != nil {
		return "", nil, fmt.Errorf("wait for the proof of node %s: %w", h.from, err)
	}
	said := transcript(first, second, a.binding)
	l, refused := a.judge(h, third, said)
	if refused != nil {
		return "", nil, a.refuse(refused, said)
	}
	yes := verdict{code: accepted}
	yes.proof = yes.prove(a.mux.secret, said)
	if _, err := a.conn.Write(yes.frame().raw); err != nil {
		return "", nil, fmt.Errorf("accept node %s: %w", h.from, err)
	}
	return h.from, l, nil
}

// judge decides about who proved, or did not, to be of the cluster. Nothing is told to those who are not.
func (a answerer) judge(h hello, third frame, said []byte) (*layer, *RefusedError) {
	m := a.mux
	given, err := parseProof(third)
	if err != nil {
		return nil, refuse(CodeMalformed, "%s", err)
	}
	want := prove(m.secret, labelDialer, said, "")
	if !hmac.Equal(given[:], want[:]) {
		return nil, refuse(CodeSecret, "nodes %s and %s have different cluster secrets: give all the same", m.node, h.from)
	}
	if h.to != "" && h.to != m.node {
		return nil, refuse(CodeNode, "this is node %s, and node %s means node %s: look at the addresses of the peers", m.node, h.from, h.to)
	}
	if h.from == m.node && h.instance != m.instance {
		return nil, refuse(CodeDuplicate, "two processes say that they are node %s: each needs an id of its own", m.node)
	}
	l := m.find(h.place)
	if l == nil {
		return nil, refuse(CodePlace, "node %s does not take connections for %s: it starts or stops, or its number of shards is another", m.node, h.place)
	}
	return l, nil
}

// refuse tells the dialer, so far as it listens. said is nil before the challenge.
func (a answerer) refuse(r *RefusedError, said []byte) error {
	no := verdict{code: r.Code, reason: r.Reason}
	if said != nil {
		no.proof = no.prove(a.mux.secret, said)
	}
	if _, err := a.conn.Write(no.frame().raw); err != nil {
		return r // the dialer is gone
	}
	// To close while there is something to be read would take the verdict back from a dialer that did not read it yet.
	closer, ok := a.conn.(interface{ CloseWrite() error })
	if ok && closer.CloseWrite() == nil && a.conn.SetReadDeadline(earlier(a.deadline, time.Now().Add(a.mux.bounds.linger))) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(a.conn, lingerBytes)) // the refusal counts
	}
	return r
}

// lingerBytes is how much a refused dialer may still have sent.
const lingerBytes = 512

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// asker is the dialer's side of a handshake.
type asker struct {
	mux     *Mux
	conn    net.Conn
	binding []byte // of TLS; nil without it
	to      string // "" for whoever is there
	place   place
}

// run makes the handshake. It returns who is there.
func (a asker) run() (node string, err error) {
	m := a.mux
	first := hello{flags: m.flags(), place: a.place, nonce: newNonce(), instance: m.instance, from: m.node, to: a.to}.frame()
	if _, err := a.conn.Write(first.raw); err != nil {
		return "", fmt.Errorf("begin the handshake: %w", err)
	}
	second, err := readFrame(a.conn)
	if errors.Is(err, errNothingSaid) || errors.Is(err, syscall.ECONNRESET) {
		return "", errNoAnswer
	}
	if err != nil {
		return "", err
	}
	if second.kind == kindVerdict {
		return "", a.refusal(second, nil)
	}
	c, err := parseChallenge(second)
	if err != nil {
		return "", err
	}
	if c.flags != m.flags() { // a listener of ours refuses that itself
		return "", refuse(CodeSecret, "node %s says that it has no cluster secret, and this one has, or the other way round", c.node)
	}
	said := transcript(first, second, a.binding)
	p := prove(m.secret, labelDialer, said, "")
	if _, err := a.conn.Write(makeFrame(kindProof, p[:]).raw); err != nil {
		return "", fmt.Errorf("send the proof to node %s: %w", c.node, err)
	}
	fourth, err := readFrame(a.conn)
	if err != nil {
		return "", fmt.Errorf("wait for the verdict of node %s: %w", c.node, err)
	}
	if err := a.refusal(fourth, said); err != nil {
		return "", err
	}
	if a.to != "" && c.node != a.to {
		return "", refuse(CodeNode, "node %s is there, and node %s is meant: look at the addresses of the peers", c.node, a.to)
	}
	return c.node, nil
}

// refusal returns what a verdict says against the connection, or nil. A refusal is believed without a proof: who could forge
// one could as well cut the connection.
func (a asker) refusal(f frame, said []byte) error {
	v, err := parseVerdict(f)
	if err != nil {
		return err
	}
	if v.code != accepted {
		return &RefusedError{Code: v.code, Reason: v.reason, Remote: true}
	}
	want := v.prove(a.mux.secret, said)
	if said == nil || !hmac.Equal(v.proof[:], want[:]) {
		return refuse(CodeSecret, "who answers does not know the cluster's secret")
	}
	return nil
}
