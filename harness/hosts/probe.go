package hosts

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/pronybench/prony/harness/scenario"
)

// Able reports what this machine can simulate. A nil error means that the machine can do it; any
// other error is the reason why it cannot.
type Able struct {
	Hosts     error // creation of hosts, with delay between them
	Loss      error
	Bandwidth error
}

// Probe tests all abilities. It creates a temporary namespace for this.
func Probe() Able {
	namespace, err := makeNamespace()
	if err != nil {
		err = forRoot(err)
		return Able{err, err, err}
	}
	var a Able
	if !Entered() {
		a.Hosts = ErrOutside
	}
	err = inside(namespace, func() error {
		tun, err := makeTUN(0)
		if err != nil {
			a.Hosts = errors.Join(a.Hosts, forRoot(err))
			return err
		}
		a.Loss, a.Bandwidth = forRoot(lose(1)), forRoot(limitBandwidth(1e6))
		return tun.Close()
	})
	if err = errors.Join(err, namespace.Close()); err != nil && a.Hosts == nil {
		a.Hosts = err
	}
	if a.Hosts != nil {
		a.Loss, a.Bandwidth = a.Hosts, a.Hosts
	}
	return a
}

// forRoot adds to a permission error which rights the process needs.
func forRoot(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%w: run it as root, or with CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW", err)
	}
	return err
}

// Missing returns the first ability that the hosts of a scenario need and that this machine does
// not have, with the reason. It returns "" if this machine has all of them.
func (a Able) Missing(want scenario.Hosts) string {
	switch {
	case a.Hosts != nil:
		return "hosts, and delay between them: " + a.Hosts.Error()
	case want.LossPercent > 0 && a.Loss != nil:
		return "loss: " + a.Loss.Error()
	case want.Bandwidth > 0 && a.Bandwidth != nil:
		return "bandwidth: " + a.Bandwidth.Error()
	}
	return ""
}
