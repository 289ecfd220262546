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

// namespaceEnv contains the inode number of the network namespace that Enter created. If a process
// in another namespace has inherited the variable, the number does not match.
const namespaceEnv = "PRONY_HOSTS_NAMESPACE"

// ErrOutside reports an attempt to create hosts in the machine's own network namespace.
var ErrOutside = errors.New("this process is in the machine's network namespace, where hosts are never created")

// Entered reports whether this process is in a network namespace that Enter created.
func Entered() bool {
	own, err := inode("/proc/self/ns/net")
	return err == nil && os.Getenv(namespaceEnv) == strconv.FormatUint(own, 10)
}

// Enter moves this process to a new network namespace that has only a loopback device. To do this,
// the process executes its program again, with the same process ID, arguments and files. Enter
// returns nil only in the new namespace. It returns an error if the namespace could not be created.
// Enter must be called before the process has started anything.
func Enter() error {
	if Entered() {
		return upLoopback()
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("enter a network namespace: %w", err)
	}
	// after exec the process is in the namespace of the thread that called it
	runtime.LockOSThread()
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
	err = errors.Join(fmt.Errorf("enter a network namespace: execute this program again: %w", err), unix.Setns(int(original.Fd()), unix.CLONE_NEWNET), original.Close())
	runtime.UnlockOSThread()
	return err
}

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
