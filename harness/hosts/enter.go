package hosts

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// namespaceEnv holds the number of the network namespace that Enter made. A process in another one is not inside, whatever it inherited.
const namespaceEnv = "PRONY_HOSTS_NAMESPACE"

// ErrOutside is the error of hosts that are to be made from the network namespace of the machine.
var ErrOutside = errors.New("this process is in the network namespace of the machine, which hosts are never made from")

// Entered reports whether this process is in a network namespace that Enter made.
func Entered() bool {
	own, err := inode("/proc/self/ns/net")
	return err == nil && os.Getenv(namespaceEnv) == strconv.FormatUint(own, 10)
}

// Enter has this process be in a network namespace of its own, with nothing but a loopback device. The process begins again, with the
// same id, arguments and files: Enter returns nil only to the process that began in the new namespace, and an error if none could be made.
// It must be called before the process has begun anything.
func Enter() error {
	if Entered() {
		return upLoopback()
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	runtime.LockOSThread() // exec keeps the namespace of the thread that calls it
	original, err := os.Open(ownNamespace)
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return errors.Join(fmt.Errorf("enter a network namespace: %w", err), original.Close())
	}
	number, err := inode(ownNamespace)
	if err == nil {
		env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, namespaceEnv+"=") })
		err = unix.Exec(program, os.Args, append(env, namespaceEnv+"="+strconv.FormatUint(number, 10)))
	}
	err = errors.Join(fmt.Errorf("enter a network namespace: begin again in it: %w", err), unix.Setns(int(original.Fd()), unix.CLONE_NEWNET), original.Close())
	runtime.UnlockOSThread()
	return err
}

// upLoopback sets the loopback device of this process's namespace up.
func upLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("set up the loopback device: %w", err)
	}
	return nil
}
