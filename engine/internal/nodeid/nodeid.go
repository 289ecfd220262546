// Package nodeid checks the ids and addresses of a cluster's nodes.
package nodeid

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Max bounds the length of an id, in bytes.
const Max = 32

// Check checks a node's id: 1 to 32 characters of a-z, 0-9 and "-". The error text completes a
// sentence that begins with the field's name.
func Check(id string) error {
	if id == "" {
		return errors.New("is empty: name a node")
	}
	bad := func(r rune) bool { return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') }
	if len(id) > Max || strings.ContainsFunc(id, bad) {
		return fmt.Errorf("%.64q is not a node id: use 1 to %d characters of a-z, 0-9 and -", id, Max)
	}
	return nil
}

// hostMax bounds the length of a host name, in bytes.
const hostMax = 253

// CheckAddress checks the address of a node for other nodes: host:port, with a host that other
// hosts can use and a port of at least 1. The error text is like that of Check.
func CheckAddress(address string) error {
	if address == "" {
		return errors.New("is empty: write host:port")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || len(host) > hostMax || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("%.64q is not host:port", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%.64q has no port from 1 to 65535", address)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		return fmt.Errorf("%.64q has no host: use a host that the other nodes reach", address)
	}
	return nil
}
