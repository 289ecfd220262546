// Package nodeid validates the ids and addresses of a cluster's nodes.
package nodeid

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Max is the maximum length of an id in bytes.
const Max = 32

// Check validates a node's id. An id has 1 to 32 characters of a-z, 0-9 and "-". The text of the
// error completes a sentence that starts with the name of the field.
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

// hostMax is the maximum length of a host name in bytes.
const hostMax = 253

// CheckAddress validates the address that other nodes use to reach a node. The address is
// host:port, with a host that is valid on other hosts and a port of at least 1. The text of the
// error has the same form as that of Check.
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
